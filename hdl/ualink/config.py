"""One frozen configuration, validated when it is made and handed down whole.

Every number that a build may choose stands here; what firmware may choose at run time is a signal of the block it
belongs to. Uncertain readings of the standard that are build choices are here too, each named in ``docs/rulings.md``.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self, get_args, get_type_hints

from ualink.checks import ConfigError, check_integer
from ualink.wording import shown

__all__ = [
    "BUSES",
    "AddressCacheConfig",
    "CheckerConfig",
    "ConfigError",
    "ControllerConfig",
    "Credits",
    "DLConfig",
    "PhyConfig",
    "StationConfig",
    "SwitchConfig",
    "SwitchDeviceConfig",
    "TLConfig",
    "UPLIConfig",
]

BUSES = ("axi4-lite", "apb", "native")
"""Ways to the registers of a controller or a switch."""


def _check_choice(owner: str, key: str, value: Any, choices: tuple) -> None:
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ConfigError(f"{owner}.{key} is {shown(value)}; it must be one of {', '.join(map(repr, choices))}")


class _Config:
    def replace(self, **changes: Any) -> Self:
        """The same configuration with ``changes``, validated again."""
        return replace(self, **changes)  # type: ignore[type-var]


@dataclass(frozen=True, kw_only=True)
class Credits(_Config):
    """Buffers of one class that a receiver announces: usable for any VC (``pool``) and for one VC each (``vc``)."""

    pool: int = 0
    vc: tuple[int, int, int, int] = (0, 0, 0, 0)

    def __post_init__(self):
        check_integer("credits.pool", self.pool, 0, 1023)
        if not isinstance(self.vc, tuple) or len(self.vc) != 4:
            raise ConfigError(f"credits.vc is {shown(self.vc)}; it must hold four counts, one per VC")
        for n, count in enumerate(self.vc):
            check_integer(f"credits.vc[{n}]", count, 0, 1023)

    @property
    def total(self) -> int:
        """Beats or fields that the buffers hold together."""
        return self.pool + sum(self.vc)


@dataclass(frozen=True, kw_only=True)
class UPLIConfig(_Config):
    """UPLI agents of a station (UALink_200 §2.5-2.6).

    ``req`` … ``wr_rsp`` are the buffers, per port, behind the channel that this side receives;
    ``init_done_qualification`` is the number of consecutive cycles in which CreditInitDone must be seen (ruling A-09
    of UPLI), at least 2. Without ``prompt_data`` a received data beat is offered two cycles later, and its buffers have
    no way round their memory. ``lean`` builds credits and queues small, for slow clocks, where the others are built to
    be fast; nothing else changes.
    """

    req: Credits = Credits(pool=16)
    orig_data: Credits = Credits(pool=32)
    rd_rsp: Credits = Credits(pool=32)
    wr_rsp: Credits = Credits(pool=16)
    init_done_qualification: int = 2
    prompt_data: bool = True
    lean: bool = False

    def __post_init__(self):
        _check_choice("upli", "prompt_data", self.prompt_data, (False, True))
        _check_choice("upli", "lean", self.lean, (False, True))
        check_integer("upli.init_done_qualification", self.init_done_qualification, 2, 16)
        for channel, least in (("req", 1), ("orig_data", 4), ("rd_rsp", 4), ("wr_rsp", 1)):
            if getattr(self, channel).total < least:
                raise ConfigError(
                    f"upli.{channel} has {getattr(self, channel).total} credits; it needs {least} or more"
                )


@dataclass(frozen=True, kw_only=True)
class CheckerConfig(_Config):
    """A checker of one UPLI interface with ``ports`` ports.

    Up to ``tracked`` Requests are remembered for the rules on tags, 0: these are left out. A credit account counts up
    to 2 ** ``counter_bits`` - 1. ``isolate``: the Completer is that of an accelerator's TL, which alone may send
    ISOLATE (UALink_200 Table 2-12).
    """

    ports: int = 1
    tracked: int = 16
    counter_bits: int = 10
    isolate: bool = True

    def __post_init__(self):
        _check_choice("upli_checker", "ports", self.ports, (1, 2, 4))
        check_integer("upli_checker.tracked", self.tracked, 0, 2048)
        check_integer("upli_checker.counter_bits", self.counter_bits, 3, 16)
        _check_choice("upli_checker", "isolate", self.isolate, (False, True))


@dataclass(frozen=True, kw_only=True)
class AddressCacheConfig(_Config):
    """Geometry of one Address Cache (UALink_200 §5.5): ``rows`` (one per Accelerator ID, 0: no cache) of ``ways``.

    A Request whose ID is not below ``rows`` is never compressed.
    """

    rows: int = 1024
    ways: int = 4

    def __post_init__(self):
        check_integer("address cache.rows", self.rows, 0, 1024)
        check_integer("address cache.ways", self.ways, 1, 4)


LARGEST_TRANSFER = 4
"""Beats of 64 bytes."""


@dataclass(frozen=True, kw_only=True)
class TLConfig(_Config):
    """Transaction layer of one port (UALink_200 §5).

    ``req_cmd``, ``rsp_cmd`` count fields, ``req_data``, ``rsp_data`` count 64-byte buffers of the receiver. The
    defaults carry any transfer size at full rate over 100 cycles of wire each way; ``tl/credit/sizing.py`` tells what
    others need.
    ``uwm_has_byte_enables`` (D03), ``cmd_counter_bits`` and ``data_counter_bits`` are rulings of ``docs/rulings.md``.
    ``byte_enable_slots`` (D04) says where the byte enables of UPLI Write Messages and vendor commands stand in their
    half-flit: "address", at ReqAddr[7:6] + beat as those of a Write, or "beat", at the beat whatever ReqAddr is. Both
    are the same where ReqAddr[7:6] is 0; both ends of a link must read alike.

    ``device`` names the end of the link, which decides the rows of the Address Caches (UALink_200 §5.5): an
    "accelerator" sends with ReqDstPhysAccID as row and receives with ReqSrcPhysAccID, a "switch" the other way. Of
    "either" the control input ``is_switch`` decides.
    ``tx_cache`` must not be larger than the partner's ``rx_cache`` in either measure (ruling D20).
    ``authentication`` builds the path of authentication tags; firmware turns it on.
    ``shared_data_buffer`` announces Shared Data Buffer mode; the Pools of both data classes are one buffer then.
    ``credit_return_delay`` bounds the cycles that a freed buffer waits for a Control half-flit to ride on, before its
    credit gets a half-flit of its own.
    ``requests_in_sight`` and ``responses_in_sight`` are the fields that the packer chooses among, and so the most of
    each kind that it puts into one half-flit.
    ``catch_in_lines`` keeps the fields that a half-flit brought in memories, not in registers: smaller where a memory
    costs less than multiplexers, as in FPGAs; latency and limits are the same.
    ``lean`` is that of ``UPLIConfig``.
    """

    req_cmd: Credits = Credits(pool=256)
    rsp_cmd: Credits = Credits(pool=256)
    req_data: Credits = Credits(pool=320)
    rsp_data: Credits = Credits(pool=320)
    uwm_has_byte_enables: bool = True
    byte_enable_slots: str = "address"
    cmd_counter_bits: int = 10
    data_counter_bits: int = 10
    device: str = "accelerator"
    tx_cache: AddressCacheConfig = AddressCacheConfig()
    rx_cache: AddressCacheConfig = AddressCacheConfig()
    authentication: bool = True
    shared_data_buffer: bool = False
    credit_return_delay: int = 16
    requests_in_sight: int = 4
    responses_in_sight: int = 8
    catch_in_lines: bool = False
    lean: bool = False

    def __post_init__(self):
        _check_choice("tl", "device", self.device, ("accelerator", "switch", "either"))
        _check_choice("tl", "byte_enable_slots", self.byte_enable_slots, ("address", "beat"))
        _check_choice("tl", "authentication", self.authentication, (False, True))
        _check_choice("tl", "shared_data_buffer", self.shared_data_buffer, (False, True))
        _check_choice("tl", "catch_in_lines", self.catch_in_lines, (False, True))
        _check_choice("tl", "lean", self.lean, (False, True))
        check_integer("tl.requests_in_sight", self.requests_in_sight, 1, 4)
        check_integer("tl.responses_in_sight", self.responses_in_sight, 1, 8)
        check_integer("tl.credit_return_delay", self.credit_return_delay, 1, 255)
        check_integer("tl.cmd_counter_bits", self.cmd_counter_bits, 4, 16)
        check_integer("tl.data_counter_bits", self.data_counter_bits, 4, 16)
        for name, least in (("req_cmd", 1), ("rsp_cmd", 1), ("req_data", 4), ("rsp_data", 4)):
            credits = getattr(self, name)
            bits = self.cmd_counter_bits if name.endswith("cmd") else self.data_counter_bits
            if max(credits.pool, *credits.vc) >= 1 << bits:
                raise ConfigError(f"tl.{name} does not fit in counters of {bits} bits")
            if self.shared_data_buffer and name.endswith("data"):
                continue
            if max(credits.pool, *credits.vc) < least:
                raise ConfigError(f"tl.{name} needs {least} or more credits in its pool or in one VC")
        joint = self.req_data.pool + self.rsp_data.pool
        if self.shared_data_buffer and 0 < joint < 2 * LARGEST_TRANSFER:
            raise ConfigError(
                f"tl.req_data.pool and tl.rsp_data.pool are {joint} credits together; with tl.shared_data_buffer they "
                f"must be {2 * LARGEST_TRANSFER} or more, so that Requests leave some to Responses"
            )
        self._check_buckets("req_cmd", "req_data")
        self._check_buckets("rsp_cmd", "rsp_data")

    def _check_buckets(self, cmd: str, data: str) -> None:
        """A transfer takes all its credits from one bucket: the Pool, or else each VC in use, must hold the largest."""
        cmds, datas = getattr(self, cmd), getattr(self, data)
        pool = self.req_data.pool + self.rsp_data.pool if self.shared_data_buffer else datas.pool
        if cmds.pool and pool >= LARGEST_TRANSFER:
            return
        for vc, (count, beats) in enumerate(zip(cmds.vc, datas.vc)):
            if count and beats < LARGEST_TRANSFER:
                raise ConfigError(f"tl.{data}.vc[{vc}] is {beats}; with tl.{cmd}.vc[{vc}] it must be 4 or more")
        if not any(cmds.vc):
            raise ConfigError(f"tl.{cmd} and tl.{data} have no bucket in common that holds a transfer of four beats")


@dataclass(frozen=True, kw_only=True)
class DLConfig(_Config):
    """Data link layer of one port (UALink_200 §6).

    ``replay_depth`` is TxReplay in DL flits; ``explicit_cadence`` the reload of Tx_explicit_count (A-27);
    ``crc_covers_zero_field`` is A-05, ``crc_stages`` the registers in the way of the CRC, 1 to 4; with
    ``cycles_per_beat`` above 1, 2 or 4, the physical layer brings and takes a beat of 64 bytes at most every so many
    cycles, and what is done to a beat is done in as many steps (``crc_stages`` has no meaning then);
    ``idle_flit_times`` the least stay in DL Idle, above the round trip (A-23);
    ``uart_tx_dwords`` and ``uart_rx_dwords`` are the UART buffers; ``partner_replay_depth`` is the largest TxReplay of
    a partner, in DL flits, which counts only where the TL has a clock of its own, behind a FIFO.
    """

    replay_depth: int = 64
    explicit_cadence: int = 7
    crc_covers_zero_field: bool = True
    crc_stages: int = 2
    cycles_per_beat: int = 1
    idle_flit_times: int = 64
    rx_replay_limit: int = 50
    tx_ack_time_out: int = 40_000
    uart_tx_dwords: int = 128
    uart_rx_dwords: int = 128
    partner_replay_depth: int = 64

    def __post_init__(self):
        check_integer("dl.replay_depth", self.replay_depth, 2, 255)
        check_integer("dl.explicit_cadence", self.explicit_cadence, 1, 7)
        check_integer("dl.crc_stages", self.crc_stages, 1, 4)
        _check_choice("dl", "cycles_per_beat", self.cycles_per_beat, (1, 2, 4))
        check_integer("dl.idle_flit_times", self.idle_flit_times, 4, 255)
        check_integer("dl.rx_replay_limit", self.rx_replay_limit, 1, 255)
        check_integer("dl.tx_ack_time_out", self.tx_ack_time_out, 0, (1 << 24) - 1)
        check_integer("dl.uart_tx_dwords", self.uart_tx_dwords, 1, 4095)
        check_integer("dl.partner_replay_depth", self.partner_replay_depth, 0, 255)
        check_integer("dl.uart_rx_dwords", self.uart_rx_dwords, 1, 4095)


MARKERS = {100: (20, 4096), 200: (16, 4096), 400: (32, 8192), 800: (64, 16384)}
"""Blocks that an alignment marker takes, and flit slots from one to the next, by the rate of the port in Gb/s
(UALink_200 §7.2.4.6, §7.2.7)."""


@dataclass(frozen=True, kw_only=True)
class PhyConfig(_Config):
    """Reconciliation sublayer of the ports of a station (UALink_200 §7.2).

    ``rate`` of a port in Gb/s: 100, 200, 400 or 800; ``rates``, where the ports do not all run at that one, has the
    rate of each. ``marker_interval`` is flit slots from one alignment marker to the next, None for the standard's of
    the rate; a smaller one, for boards and simulation, is a multiple of ``idle_interval`` or below it, and the same for
    all rates. ``idle_interval`` is flit slots from one Idle flit for rate matching to the next;
    ``control_flit_blocks`` (P-05) the control blocks in a row that are four control flits to the DL, of which the
    PCS may have deleted some. ``blocks_per_word``, 1, 2, 4 or 8, is how many blocks a cycle go to the PCS and come from
    it: fewer than eight for one port alone, whose lanes are slow.
    """

    rate: int = 200
    rates: tuple[int, ...] = ()
    marker_interval: int | None = None
    idle_interval: int = 1024
    control_flit_blocks: int = 300
    blocks_per_word: int = 8

    def __post_init__(self):
        _check_choice("phy", "blocks_per_word", self.blocks_per_word, (1, 2, 4, 8))
        _check_choice("phy", "rate", self.rate, tuple(MARKERS))
        if not isinstance(self.rates, tuple) or len(self.rates) not in (0, 1, 2, 4):
            raise ConfigError(f"phy.rates is {shown(self.rates)}; it must hold none, or those of 1, 2 or 4 ports")
        for port, rate in enumerate(self.rates):
            _check_choice("phy", f"rates[{port}]", rate, tuple(MARKERS))
        check_integer("phy.idle_interval", self.idle_interval, 4, 1024)
        check_integer("phy.control_flit_blocks", self.control_flit_blocks, 256, 320)
        if self.control_flit_blocks % 4:
            raise ConfigError(f"phy.control_flit_blocks is {self.control_flit_blocks}; it must be a multiple of 4")
        check_integer("phy.marker_interval", self.marker_slots, 4, MARKERS[self.rate][1])
        if self.marker_slots > self.idle_interval and self.marker_slots % self.idle_interval:
            raise ConfigError(
                f"phy.marker_interval is {self.marker_slots}; it must be a multiple of phy.idle_interval, which is "
                f"{self.idle_interval}, or below it"
            )

    @property
    def marker_blocks(self) -> int:
        """Blocks at the start of an AM flit that were a marker."""
        return MARKERS[self.rate][0]

    @property
    def marker_slots(self) -> int:
        """Flit slots from one marker to the next."""
        return MARKERS[self.rate][1] if self.marker_interval is None else self.marker_interval

    def of_port(self, port: int) -> "PhyConfig":
        """What port ``port`` has by itself, at its rate."""
        return self.replace(rate=self.rates[port], rates=()) if self.rates else self

    @property
    def choosable_rates(self) -> tuple[int, ...]:
        """Rates that software may set a port to: all of ``rates`` if they differ, else none."""
        found = tuple(sorted(set(self.rates)))
        return found if len(found) > 1 else ()

    @property
    def control_interval(self) -> int:
        """Flit slots from one that is always a control flit, marker or Idle, to the next."""
        return min(self.idle_interval, self.marker_slots)


LARGEST_BANDWIDTH = 800
"""Gb/s of a station, all ports together (UALink_200 §1.1)."""


@dataclass(frozen=True, kw_only=True)
class StationConfig(_Config):
    """One station: four lanes as one x4, two x2 or four x1 links (``ports`` 1, 2 or 4; UALink_200 §2.5).

    ``separate_upli_clock`` puts UPLI and TL into a clock domain of their own, which an accelerator may run slower than
    the links (UALink_200 §6.5). With ``phy`` the station ends below its reconciliation sublayer, without above it.
    """

    ports: int = 1
    separate_upli_clock: bool = False
    upli: UPLIConfig = field(default_factory=UPLIConfig)
    tl: TLConfig = field(default_factory=TLConfig)
    dl: DLConfig = field(default_factory=DLConfig)
    phy: PhyConfig | None = None

    def __post_init__(self):
        _check_choice("station", "ports", self.ports, (1, 2, 4))
        if self.dl.replay_depth < 2 * self.ports:
            raise ConfigError(f"dl.replay_depth is {self.dl.replay_depth}; {self.ports} ports need two flits each")
        fastest = 0 if self.phy is None else max(self.phy.rates or (self.phy.rate,))
        if fastest > LARGEST_BANDWIDTH // self.ports:
            raise ConfigError(
                f"phy.rate of a port is {fastest}; a port of a station of {self.ports} carries "
                f"{LARGEST_BANDWIDTH // self.ports} Gb/s at most"
            )

    @property
    def port_dl(self) -> DLConfig:
        """The data link of each port. All ports together have the TxReplay of a x4 link: a x1 link, whose flits take
        four times as long, covers the same round trip with a quarter of it."""
        return self.dl.replace(replay_depth=self.dl.replay_depth // self.ports)


@dataclass(frozen=True, kw_only=True)
class _DeviceConfig(_Config):
    """``bus`` and ``clock_hz`` of what firmware sees as one device; ``KEY`` is where complaints say that they stand."""

    KEY: ClassVar[str]

    bus: str = "axi4-lite"
    clock_hz: int = 1_562_500_000

    def __post_init__(self):
        _check_choice(self.KEY, "bus", self.bus, BUSES)
        check_integer(f"{self.KEY}.clock_hz", self.clock_hz, 1, (1 << 32) - 1)


@dataclass(frozen=True, kw_only=True)
class ControllerConfig(_DeviceConfig):
    """A station with its registers on ``bus``: "axi4-lite", "apb" or "native", the bus of ``ualink.csr``.

    ``clock_hz`` is what firmware is told of the clock of the registers, which is that of the links.
    """

    KEY = "controller"

    station: StationConfig = field(default_factory=StationConfig)


@dataclass(frozen=True, kw_only=True)
class SwitchConfig(_Config):
    """A switch: ``stations`` stations alike, and route tables of ``route_entries`` entries each (UALink_200 §10.7)."""

    stations: int = 4
    route_entries: int = 1024
    station: StationConfig = field(default_factory=StationConfig)

    @property
    def station_of_switch(self) -> StationConfig:
        """The stations, as those of a switch."""
        if self.station.tl.device == "either":
            return self.station
        return self.station.replace(tl=self.station.tl.replace(device="switch"))

    def __post_init__(self):
        check_integer("switch.stations", self.stations, 2, 256)
        if self.station.separate_upli_clock:
            raise ConfigError("switch.station.separate_upli_clock is True; a switch has one clock, at full rate")
        check_integer("switch.route_entries", self.route_entries, 4, 1024)
        if self.route_entries < self.stations * 4:
            raise ConfigError(
                f"switch.route_entries is {self.route_entries}; it must cover the {self.stations * 4} ports that the "
                f"stations have when each is four x1"
            )


@dataclass(frozen=True, kw_only=True)
class SwitchDeviceConfig(_DeviceConfig):
    """A switch with its registers on ``bus``; both keys are as of ``ControllerConfig``."""

    KEY = "switch"

    switch: SwitchConfig = field(default_factory=SwitchConfig)


def _part_of(kind: type, key: str) -> type | None:
    """The configuration that member ``key`` of ``kind`` is, or may be; None if it is a plain value."""
    hint = get_type_hints(kind)[key]
    parts = (part for part in (hint, *get_args(hint)) if isinstance(part, type) and issubclass(part, _Config))
    return next(parts, None)


def from_dict(kind: type, values: dict, where: str) -> Any:
    """Build configuration ``kind`` from nested plain values, naming ``where`` and the key in every complaint."""
    known = {f.name: f for f in fields(kind)}
    arguments = {}
    for key, value in values.items():
        if key not in known:
            raise ConfigError(f"{where}: unknown key {shown(key)}; known are {', '.join(known)}")
        default = getattr(kind(), key)
        part = _part_of(kind, key)
        if part is not None and (default is not None or value is not None):
            if not isinstance(value, dict):
                raise ConfigError(f"{where}.{key} is {shown(value)}; it must be a table")
            value = from_dict(part, value, f"{where}.{key}")
        elif isinstance(default, tuple):
            value = tuple(value) if isinstance(value, list) else value
        elif isinstance(default, bool) and not isinstance(value, bool):
            raise ConfigError(f"{where}.{key} is {shown(value)}; it must be true or false")
        arguments[key] = value
    try:
        return kind(**arguments)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    except TypeError as error:
        raise ConfigError(f"{where}: {error}") from None
