"""The registers of a traffic engine, as firmware sees them."""

from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.traffic.config import TrafficConfig
from ualink.traffic.histogram import BIN_BITS, COUNT_BITS
from ualink.traffic.interface import TIME_BITS, Destinations, ErrorKind, Pattern, SettingsSignature
from ualink.traffic.statistics import COUNTERS, ERRORS, EXTREMES, SUMS

__all__ = ["AGENT_EVENTS", "LINE_COUNTERS", "MAP_VERSION", "traffic_registers"]

MAP_VERSION = 1
COUNTERS_AT = 0xC0

LINE_COUNTERS = {"beats_sent": "bytes_sent", "beats_received": "bytes_received"}
"""Counters of lines that registers show in bytes."""

AGENT_EVENTS = tuple(
    f"{agent}_{kind}" for agent in ("originator", "completer") for kind in ("data", "control", "protocol")
)
"""Errors that the two UPLI agents saw, from bit 1 of ``events`` on; bit 0 is the register block's own."""

_DOCS = {
    "requests": "Requests accepted by the Originator.",
    "responses": "Requests that ended with a Response.",
    "bytes_sent": "Bytes of OrigData, whole beats.",
    "bytes_received": "Bytes of RdRsp to Requests that waited, whole beats.",
    "wrong_bytes": "Bytes read that were not what they had to be.",
    "cycles": "Cycles of runs, from start to the end of the last Request.",
    "read_latency_sum": "Sum of the latencies of Reads and AtomicRs.",
    "write_latency_sum": "Sum of the latencies of Writes and WriteFulls.",
    "read_latency_min": "Least latency of a Read or AtomicR.",
    "read_latency_max": "Greatest latency of a Read or AtomicR.",
    "write_latency_min": "Least latency of a Write or WriteFull.",
    "write_latency_max": "Greatest latency of a Write or WriteFull.",
    "unexpected_tags": "Beats of Responses with a tag that no Request has had since the last clear.",
    "duplicate_responses": "Beats of Responses with a tag whose Request is answered already.",
    "late_responses": "Beats of Responses to a Request that was given up.",
    "wrong_channels": "Beats of Responses on the channel that is not their Request's.",
    "misrouted_responses": "Beats of Responses for another accelerator.",
    "beat_errors": "Beats of Read Responses too many, missing, twice, or with wrong NumBeats, Last or Status.",
    "status_errors": "Responses with a Status other than OKAY.",
    "poisoned_beats": "Beats of RdRsp that are poisoned.",
    "time_outs": "Requests given up for want of a Response.",
    "served_requests": "Requests that the responder has done.",
    "refused_requests": "Requests that it answered with a Status other than OKAY.",
    "foreign_requests": "Requests for another accelerator, which it has answered all the same.",
}


def traffic_registers(config: TrafficConfig) -> RegisterMap:
    """Registers of a traffic engine built with ``config``."""
    return RegisterMap(
        "traffic",
        (*_control(config), *_requests(config), *_addresses(), *_limits(), *_results(), *_counters()),
        "Traffic engine (docs/traffic-engine.md). Lines are 64 bytes, blocks 256 bytes, times in cycles.",
    )


def _control(config: TrafficConfig) -> tuple[Register, ...]:
    waiting = config.tags.bit_length()
    return (
        Register(
            "capabilities",
            0x00,
            (
                Field("map_version", "7:0", Access.CONSTANT, MAP_VERSION, "Version of this register map."),
                Field("tags", "19:8", Access.CONSTANT, config.tags, "Requests that may be outstanding."),
                Field(
                    "memory_lines",
                    "28:24",
                    Access.CONSTANT,
                    config.memory_lines.bit_length() - 1,
                    "Lines of the responder's memory, as a power of two.",
                ),
            ),
            "What was built.",
        ),
        Register(
            "run",
            0x04,
            (Field("start", "0", Access.GO, 0, "Begin a run; done when its last Request has ended; 0 stops it."),),
            "Settings stay as they are during a run.",
        ),
        Register(
            "clear",
            0x08,
            (Field("start", "0", Access.GO, 0, "Forget counters, histogram, first error and tags."),),
            "Waits for the end of a run that is not stopped; one that is stopped it ends at once.",
        ),
        Register(
            "snapshot",
            0x0C,
            (Field("start", "0", Access.GO, 0, "Copy all counters as they are in this cycle; done at once."),),
            "The counters below read as they were at the last snapshot, 0 before.",
        ),
        Register(
            "status",
            0x10,
            (
                Field("busy", "0", Access.RO, 1, "A run or a clear is going on; so it is after reset."),
                Field("originator_connected", "1", Access.RO, 0, "The source's UPLI is open in both directions."),
                Field("completer_connected", "2", Access.RO, 0, "The responder's UPLI is open in both directions."),
                Field("outstanding", f"{3 + waiting}:4", Access.RO, 0, "Requests that wait for their Response."),
                Field("lost", f"{15 + waiting}:16", Access.RO, 0, "Tags that a time-out has cost, until clear."),
            ),
            "The engine now.",
        ),
        Register(
            "events",
            0x14,
            (
                Field("config_error", "0", Access.W1C, 0, "A write had a value that is not allowed."),
                *(
                    Field(name, str(bit), Access.W1C, 0, f"The {agent.capitalize()} saw a UPLI {kind} error (§3.1.2).")
                    for bit, name in enumerate(AGENT_EVENTS, start=1)
                    for agent, kind in [name.split("_")]
                ),
            ),
            "What has happened since it was last cleared.",
        ),
    )


def _requests(config: TrafficConfig) -> tuple[Register, ...]:
    return (
        Register(
            "mode",
            0x18,
            (
                _setting("pattern", "1:0", "Address pattern.", values=_codes(Pattern)),
                _setting("destinations", "5:4", "Sequence of destinations.", range(3), values=_codes(Destinations)),
                _setting("skip_own", "6", "Leave the own ID out of the destinations."),
                _setting("verify", "8", "Read in place of each Write, and accept new data only."),
                _setting("check", "9", "Compare the data of Reads."),
                _setting("sparse", "10", "Writes enable some bytes only."),
                _setting("size", "13:12", "Lines of each Request minus one; of an Atomic always one line."),
                _setting("random_size", "14", "One to four lines at random instead."),
            ),
            "Which Requests.",
        ),
        Register(
            "identity",
            0x1C,
            (
                _setting("own", "9:0", "ReqSrcPhysAccID, and the ID that the responder takes for its own."),
                _setting("vc", "13:12", "ReqVC."),
                _setting("port", "17:16", "Port of the station.", range(config.ports)),
            ),
            "Who asks.",
        ),
        Register(
            "mix",
            0x20,
            (
                _setting("read", "8:0", "Reads.", range(257)),
                _setting("write", "18:10", "Writes.", range(257)),
                _setting("atomic", "28:20", "AtomicRs that swap a line.", range(257)),
            ),
            "Shares in 256ths; what is left is WriteFulls.",
        ),
        Register(
            "destination",
            0x24,
            (
                _setting("first", "9:0", "First ReqDstPhysAccID."),
                _setting(
                    "count", "26:16", "IDs from there on; without the own one, if that is skipped.", range(1, 1025)
                ),
            ),
            "Whom to ask.",
        ),
    )


def _addresses() -> tuple[Register, ...]:
    return (
        Register("base_low", 0x28, (Field("address", "31:8", Access.RW, 0, "Bits 31 to 8."),), "Region: ReqAddr."),
        Register("base_high", 0x2C, (Field("address", "24:0", Access.RW, 0, "Bits 56 to 32."),), "Region: ReqAddr."),
        Register(
            "region",
            0x30,
            (
                _setting("region", "4:0", "Blocks of the region, as a power of two."),
                _setting("hot_region", "12:8", "Blocks of the hot spot, as a power of two."),
                _setting("hot_share", "24:16", "Requests to the hot spot, in 256ths.", range(257)),
            ),
            "Address bits below the size of the region are chosen, those above are of the base.",
        ),
        Register("stride", 0x34, (_setting("stride", "31:0", "Lines."),), "From one Request to the next."),
        Register(
            "seed_low",
            0x38,
            (Field("seed", "31:0", Access.RW, 0x7F4A_7C15, "Bits 31 to 0.", allowed=range(1, 1 << 32)),),
            "Seed of the random choices.",
        ),
        Register("seed_high", 0x3C, (Field("seed", "31:0", Access.RW, 0x9E37_79B9, "Bits 63 to 32."),), "As seed_low."),
        Register("new_seed", 0x40, (_setting("new_seed", "31:0", "Seed of the data."),), "Of what Requests write."),
        Register("old_seed", 0x44, (_setting("old_seed", "31:0", "Seed of the data."),), "Of what stood there before."),
    )


def _limits() -> tuple[Register, ...]:
    return (
        Register("requests", 0x48, (_setting("requests", "31:0", "Requests; 0: until stopped."),), "Length of a run."),
        Register(
            "rate",
            0x4C,
            (_setting("rate", "16:0", "Requests per cycle, in 65,536ths.", range(1, (1 << 16) + 1)),),
            "Most Requests.",
        ),
        Register("outstanding", 0x50, (_setting("outstanding", "11:0", "Requests.", range(1, 2049)),), "Most of them."),
        Register("time_out", 0x54, (_setting("time_out", "22:0", "Cycles; 0: never."),), "When a Request is given up."),
        Register(
            "responder",
            0x58,
            (_setting("decode", "0", "Refuse addresses beyond the memory with DECODE_ERROR; else they wrap."),),
            "The memory.",
        ),
    )


def _results() -> tuple[Register, ...]:
    word = "31:0"
    return (
        Register(
            "first_error",
            0x60,
            (
                Field("kind", "3:0", Access.RO, 0, "What it was.", values=_codes(ErrorKind)),
                Field("offset", "5:4", Access.RO, 0, "Beat."),
                Field("word", "10:8", Access.RO, 0, "Of wrong data: the first wrong word of eight bytes."),
                Field("status", "15:12", Access.RO, 0, "Status of the Response."),
                Field("tag", "26:16", Access.RO, 0, "Tag."),
            ),
            "The first error since the last clear.",
        ),
        Register("first_error_line_low", 0x64, (Field("line", word, Access.RO),), "Line asked for, bits 31 to 0."),
        Register("first_error_line_high", 0x68, (Field("line", "18:0", Access.RO),), "Line asked for, bits 50 to 32."),
        *(
            Register(
                f"first_error_{name}_{half}", at, (Field("data", word, Access.RO),), f"The word {what}, {half} half."
            )
            for name, half, at, what in (
                ("expected", "low", 0x6C, "that was to be read"),
                ("expected", "high", 0x70, "that was to be read"),
                ("found", "low", 0x74, "that was read"),
                ("found", "high", 0x78, "that was read"),
            )
        ),
        Register(
            "histogram_index",
            0x80,
            (Field("index", f"{BIN_BITS}:0", Access.RW, 0, "Class; Writes and WriteFulls begin at 128."),),
            "Which count histogram_count shows.",
        ),
        Register(
            "histogram_count",
            0x84,
            (Field("count", f"{COUNT_BITS - 1}:0", Access.RO, 0, "Requests."),),
            "Requests of the class of latency that histogram_index names.",
        ),
        *(
            Register(
                name,
                0x90 + 4 * number,
                (Field("cycles", f"{TIME_BITS - 1}:0", Access.RO, 0, "Cycles."),),
                _DOCS[name] + (" All ones when there was none." if name.endswith("min") else ""),
                snapshot="snapshot",
            )
            for number, name in enumerate(EXTREMES)
        ),
    )


def _counters() -> tuple[Register, ...]:
    registers = []
    at = COUNTERS_AT
    for counter in (*COUNTERS, *SUMS):
        name = LINE_COUNTERS.get(counter, counter)
        for half in ("low", "high"):
            doc = f"{_DOCS[name].rstrip('.')}, {half} half. Wraps around."
            registers.append(
                Register(f"{name}_{half}", at, (Field("count", "31:0", Access.RO),), doc, snapshot="snapshot")
            )
            at += 4
    for name in ERRORS:
        doc = f"{_DOCS[name]} Wraps around."
        registers.append(Register(name, at, (Field("count", "31:0", Access.RO),), doc, snapshot="snapshot"))
        at += 4
    return tuple(registers)


_MEMBERS = SettingsSignature().members


def _setting(name: str, bits: str, doc: str, allowed=None, values=()) -> Field:
    """A field of ``SettingsSignature``, with its reset value."""
    reset = _MEMBERS[name].init or 0
    return Field(name, bits, Access.RW, reset, doc, allowed, values)


def _codes(kind) -> tuple[tuple[str, int], ...]:
    return tuple((member.name.lower(), member.value) for member in kind)
