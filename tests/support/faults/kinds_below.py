"""Faults of links, data links, firmware and accelerators (UALink_200 §3.1.4.3, §6.6, §6.7)."""

from support.faults.outcome import CLEAR, NOTHING, OTHERS, Kind, Outcome
from support.faults.strikes import THERE, TIME_OUT, Act, Forgery, HeaderStrike, Injection, Level, WireStrike

__all__ = ["DATA_LINK", "DOWN", "FIRMWARE", "PORT_DOWN", "TL", "WIRE"]

REPLAYS = {f"count.{name}" for name in ("replays_requested", "replays_accepted", "dropped_flits", "commands_ignored")}
"""Flits behind a bad one are dropped until the replay, and Replay Requests are sent three times (§6.6.6.2); a flit
without payload need not come again."""


def replayed(name: str, section: str, requirements, strike, *counted: str) -> Kind:
    """What is lost comes again, and nobody above the data link hears of it (§6.6)."""
    ends = (Outcome.of(counted, REPLAYS), Outcome.of((), REPLAYS))
    return Kind(name, section, requirements, strike, *ends, NOTHING)


PORT_DOWN = {"tl.drop_mode", "drop.link_down", "count.link_downs"}
"""A TL's port whose link went down."""
DOWN = PORT_DOWN | {"isolation.isolate", "tl.drop_mode" + OTHERS, "drop.link_down" + OTHERS}
"""That at an accelerator: all ports drop, and ISOLATE isolates."""
TIMED_OUT = {"ask.time_out", "ask.time_out" + OTHERS}
SHAKEN = {
    "count.crc_errors",
    "count.lost_flits",
    *REPLAYS,
}
"""Requests that were out, and what data links count on their way down."""
LINK_DOWN = ("RAS-094", "RAS-096", "RAS-097", "RAS-099", "RAS-100")


def down(name: str, section: str, requirements, strike, *words) -> Kind:
    """Between accelerators: both TLs drop on all ports, ISOLATE isolates both Originators (§3.1.4.3).

    ``words`` : what this end must show besides, what it may, and what its partner may.
    """
    here, may, there_may = (set(given) for given in (*words, (), (), ())[:3])
    ends = (Outcome.of(DOWN | here, SHAKEN | TIMED_OUT | may), Outcome.of(DOWN, SHAKEN | TIMED_OUT | there_may))
    return Kind(name, section, (*requirements, *LINK_DOWN), strike, *ends, CLEAR)


def port_down(name: str, strike) -> Kind:
    """At a switch: that port's TL alone drops, and other ports lose nothing (§3.1.4)."""
    outcome = Outcome.of(PORT_DOWN, SHAKEN | {"ask.time_out", "isolation.command"})
    marks = ("RAS-048", "RAS-095", "RAS-101", "RAS-102", "RAS-103")
    return Kind(name, "§3.1.4", marks, strike, outcome, outcome, CLEAR, switch=True, ports=(4,), of_ports=True)


WRONG_NUMBERS = tuple(1 << bit for bit in range(8, 17))
"""Bits of flitSeqNo in a header (Table 6-14)."""

TIMED = ("dl.forward_progress_time_out", "count.forward_progress_time_outs", "isolation.time_out")
AGAIN = ("count.replays_requested",)
"""Of a flit that is known to have payload."""
RESERVED = ("count.protocol_errors", "count.crc_errors", *AGAIN)

WIRE = (
    replayed("flipped_bits", "§6.6.6.2", ("DL-123", "DL-146"), WireStrike((1, 8)), "count.crc_errors"),
    replayed("burst", "§6.6.6.2", ("DL-123", "DL-146"), WireStrike((2, 32), burst=True), "count.crc_errors"),
    replayed("flit_lost", "§6.6.6.2", ("DL-126",), Level("lose", (1, 1)), "count.lost_flits"),
    replayed("flits_lost", "§6.6.6.2", ("DL-126",), Level("lose", (2, 12)), "count.lost_flits"),
    replayed("control_for_data", "§6.7.1", ("DL-177",), Level("turn", (1, 3))),
    down("four_control_flits", "§6.7.1", ("DL-177",), Level("turn", (4, 12))),
    # Nothing comes through, so no Ack comes for what is sent the other way either.
    down("no_flit_comes", "§6.6.6.8", ("DL-165",), Level("lose", (TIME_OUT, TIME_OUT + 20)), (), TIMED, TIMED),
    down("cable_pulled", "§3.1.4.3", ("RAS-041",), Level("cut", (2, 60))),
    down("cable_flaps", "§3.1.4.3", ("RAS-041",), Level("cut", (1, 2))),
    replayed("wrong_number", "§6.6.6.4", ("DL-154",), HeaderStrike(0xF << 20, 1 << 20, WRONG_NUMBERS), *AGAIN),
    # It counts as a bad CRC, too (ruling A-29 of the data link).
    replayed("reserved_op", "§6.6.2", (), HeaderStrike(0xF << 20, 1 << 20, (4 << 21,)), *RESERVED),
    down("cable_pulled_one_way", "§3.1.4.3", ("DL-170",), Level("deaf", (2, 60))),
    port_down("cable_pulled_at_a_switch", Level("cut", (2, 60))),
    port_down("cable_pulled_one_way_at_a_switch", Level("deaf", (2, 60))),
)

FATAL = ("ftype", "footprint", "compressed_cmd", "address_cache", "req_cmd_credit", "rsp_cmd_credit")
FATAL += ("mandatory_nop", "poison_slot")
TL = (
    *(
        down(f"tl_{name}", "§5.3, §5.9", ("TL-087", "TL-220"), Forgery(name), {"tl.receive_error", f"error.{name}"})
        for name in FATAL
    ),
    down("tl_credits_made_up", "§5.8", (), Forgery("transmit_error"), {"tl.transmit_error"}),
)

EGRESS = ("DL-179", "DL-182")
INGRESS = ("DL-179", "DL-181")
FLAGGED = {"tl.receive_error", "error.flit_corrupt"}
"""What the TL says of a flit that the data link gives it as corrupt."""
CONTAINED_EGRESS = {"dl.containment_egress", "count.egress_containments"}
CONTAINED_INGRESS = {"dl.containment_ingress", "count.ingress_containments"}
DATA_LINK = (
    replayed("sent_crc", "§6.7.2", ("DL-146",), Injection(0, THERE), "count.crc_errors"),
    replayed("sent_bit", "§6.7.2", ("DL-146",), Injection(1, THERE), "count.crc_errors"),
    replayed("received_crc", "§6.7.2", ("DL-146",), Injection(4), "count.crc_errors"),
    down("egress_data", "§6.7.4.2", EGRESS, Injection(2), CONTAINED_EGRESS),
    down("egress_control", "§6.7.4.2", EGRESS, Injection(3), CONTAINED_EGRESS),
    # The bad flit may be flagged to the TL, or dropped.
    down("ingress_data", "§6.7.4.2", INGRESS, Injection(5), CONTAINED_INGRESS, FLAGGED),
    down("ingress_control", "§6.7.4.2", INGRESS, Injection(6), CONTAINED_INGRESS, FLAGGED),
    Kind(
        "replay_for_nothing",
        "§6.6.6.3",
        (),
        Injection(7),
        Outcome.of({"count.replays_requested"}, REPLAYS),
        Outcome.of((), REPLAYS),
        NOTHING,
    ),
)

PENDING = TIMED_OUT | {"isolation.time_out"}
FIRMWARE = (
    Kind(
        "drop_on_command",
        "§3.1.4.2",
        ("RAS-087", "RAS-115"),
        Act("drop"),
        Outcome.of({"tl.drop_mode", "drop.command"}, PENDING),
        Outcome.of((), PENDING),
    ),
    Kind(
        "isolation_on_command",
        "§3.1.3",
        ("RAS-062", "RAS-068", "RAS-070"),
        Act("isolate"),
        Outcome.of({"isolation.command"}, TIMED_OUT),
        Outcome.of(),
    ),
    Kind(
        "completer_stalls",
        "§3.1.3",
        ("RAS-063", "RAS-065", "RAS-067", "RAS-070"),
        Act("stall"),
        Outcome.of(),
        Outcome.of({"isolation.time_out", "ask.time_out"}, {"ask.time_out" + OTHERS}),
    ),
    # What is reset has nothing to tell; its partner sees its links go down.
    Kind(
        "end_reset",
        "§3.1.4.3",
        ("RAS-094", "RAS-096", "RAS-097", "RAS-100"),
        Act("reset"),
        Outcome.of(),
        Outcome.of(DOWN | {"count.link_downs" + OTHERS}, SHAKEN | TIMED_OUT),
    ),
    # Without channel 0 there is no link for TL flits: to the TL it is down (§6.4.3.2).
    down("channel_offline", "§6.4.3.2", (), Act("offline")),
)
