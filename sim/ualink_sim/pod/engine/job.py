"""A job as the engine reads it: 64-bit numbers, and bytes behind their number, in the order of its constructors."""

import math
import random
import struct
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path

from ...bfm.upli.channel import FIELDS, PARITY
from ...bfm.upli.options import CompleterOptions, OriginatorOptions
from ...model.upli.transactions import Status
from ...request import Request
from ..job import LOOK_CYCLES, Job
from ..topology import Topology
from .ports import Place, Ports

__all__ = ["encode", "engine_can_do"]

CODES = {
    name: number
    for number, name in enumerate(
        (
            *("port_id", "pool", "auth_tag", "src_phys_acc_id", "dst_phys_acc_id", "tag", "asi", "num_beats", "addr"),
            *("cmd", "len", "attr", "meta_data", "vc", "byte_en", "offset", "last", "error", "status", "data_error"),
        )
    )
}
"""``Field`` of ``signals.h``."""
ADD_32 = 0
"""ReqAttr of the atomics that an engine knows."""
NOWHERE = Place(0, 0, False)


def engine_can_do(job: Job) -> bool:
    """Whether an engine can do ``job``: named patterns over cables that nobody cuts, in virtual
    pods that stay as they are, of stations whose ports are not chosen and that have no reconciliation sublayer."""
    scenario = job.scenario
    if scenario.run.bus_models or scenario.cuts or scenario.vpod_changes or scenario.pod.choosable_ports:
        return False
    if scenario.port_phy is not None or any(workload.trace for workload in scenario.workloads):
        return False
    return all(
        not request.at
        and request.byte_en == (1 << request.len) - 1
        and (request.attr == ADD_32 or not request.is_atomic)
        for request in job.requests
    )


class _Writer:
    """Gathers what is written."""

    def __init__(self):
        self.parts: list[bytes] = []

    def numbers(self, *values: int) -> None:
        self.parts.append(struct.pack(f"<{len(values)}Q", *values))

    def real(self, value: float) -> None:
        self.parts.append(struct.pack("<d", value))

    def bytes(self, value: bytes) -> None:
        self.numbers(len(value))
        self.parts.append(value)

    def place(self, place: Place) -> None:
        self.numbers(place.at, place.words)

    def random(self, seed: str) -> None:
        """The state of Python's generator with ``seed``."""
        self.numbers(*random.Random(seed).getstate()[1])

    def gaps(self, rate: float, seed: str) -> None:
        """As of ``_Gaps`` in ``ualink_sim.pod.wire``."""
        self.real(1 / math.log1p(-rate) if rate else 0.0)
        self.random(seed)


def encode(job: Job, ports: Ports, results: Path) -> bytes:
    """``job`` for the engine of a pod with ``ports``, which leaves what it finds in ``results``."""
    scenario, topology = job.scenario, job.scenario.pod.topology
    out = _Writer()
    out.bytes(str(results).encode())
    out.numbers(topology.ports, scenario.run.max_cycles, LOOK_CYCLES)
    period = Fraction(10**6) / Fraction(str(scenario.pod.clock_mhz))
    out.bytes(str(job.capture or "").encode())
    out.numbers(period.numerator, period.denominator, ports.parts, ports.shown, ports.driven)
    _directions(out, job, topology)
    _stations(out, ports.places, topology)
    out.numbers(topology.accelerators)
    for number in range(topology.accelerators):
        for interface in ("upli_completer", "upli_originator"):
            _interface(out, ports.places, f"acc__{number}__{interface}")
        _agents(out)
        out.numbers(int(scenario.authentication))
        out.random(f"{scenario.link.seed}/tags of {number}")
    _requests(out, job.requests)
    return b"".join(out.parts)


def _directions(out: _Writer, job: Job, topology: Topology) -> None:
    link = job.scenario.link
    names = [name for acc, switch in topology.links() for name in (f"{acc}>{switch}", f"{switch}>{acc}")]
    out.numbers(len(names))
    for name in names:
        out.numbers(max(1, link.latency_cycles // topology.ports), link.burst)
        out.gaps(link.bit_error_rate, f"{link.seed}/{name}/bits")
        out.gaps(link.drop_rate, f"{link.seed}/{name}/slots")


def _stations(out: _Writer, places: Mapping[str, Place], topology: Topology) -> None:
    """Each with the directions that its ports send on and receive from; a number that none has where no link is."""
    ends = {}
    for number, (acc, switch) in enumerate(topology.links()):
        ends["acc", acc.device, acc.port] = 2 * number, 2 * number + 1
        ends["sw", switch.device, switch.port] = 2 * number + 1, 2 * number
    none = 2 * len(topology.links())
    stations = [("acc", n) for n in range(topology.accelerators)] + [("sw", n) for n in range(topology.stations)]
    out.numbers(len(stations))
    for kind, number in stations:
        below = f"acc__{number}__rs" if kind == "acc" else f"sw__rs__{number}"
        out.place(places[f"acc__{number}__slot" if kind == "acc" else f"sw__slot__{number}"])
        for member in ("tx__valid", "tx__payload", "rx__valid", "rx__payload", "remote_fault"):
            out.place(places[f"{below}__{member}"])
        for port in range(topology.ports):
            out.numbers(*ends.get((kind, number, port), (none, none)))


def _interface(out: _Writer, places: Mapping[str, Place], prefix: str) -> None:
    for channel, fields in FIELDS.items():
        here = f"{prefix}__{channel}__"
        out.bytes(channel.encode())
        out.place(places[here + "vld"])
        out.place(places[here + "vld_parity"])
        credit = ("init_done", "vld", "pool", "vld_parity", "parity")
        for name in (*credit, *(f"{of}__{port}" for of in ("port_vc", "port_num") for port in range(4))):
            out.place(places[f"{here}credit__{name}"])
        out.numbers(len(fields) - ("data" in fields))
        for name in fields:
            if name != "data":
                out.numbers(CODES[name])
                out.place(places[here + name])
        for name in ("data", "data_parity"):
            out.place(places[here + name] if "data" in fields else NOWHERE)
        out.numbers(len(PARITY[channel]))
        for name, covered in PARITY[channel].items():
            out.place(places[here + name])
            out.numbers(len(covered), *(CODES[field] for field in covered))
    for name in ("orig_clk_req", "orig_clk_ack", "comp_clk_req", "comp_clk_ack"):
        out.place(places[f"{prefix}__{name}"])


def _agents(out: _Writer) -> None:
    """What the bus models of a pod do by default."""
    originator, completer = OriginatorOptions(), CompleterOptions()
    assert isinstance(completer.latency, int), "an engine waits as long for each Response"
    statuses = sum(1 << status for status in Status if status != Status.ISOLATE)
    out.numbers(originator.rd_rsp_pool, originator.wr_rsp_pool, statuses, originator.outstanding)
    out.numbers(completer.req_pool, completer.orig_data_pool, completer.latency)


def _requests(out: _Writer, requests: Iterable[Request]) -> None:
    every = list(requests)
    ways: dict[tuple[str | None, int], int] = {}
    out.numbers(len(every))
    for request in every:
        way = ways.setdefault((request.vpod, request.dst), len(ways))
        out.numbers(request.line, request.src, request.dst, request.cmd, request.addr, request.len, request.attr)
        out.numbers(request.window, way)
        out.bytes(request.data)
        out.numbers(len(request.after), *request.after)
