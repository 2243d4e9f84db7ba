"""Rows that say how long a Request takes through a switch, pin to pin (UALink_200 §10.9.2)."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ualink.dl.flit.format import BEAT_BYTES, BEATS_PER_FLIT, FLIT_HEADER_OFFSET

from ..capture.decode_cli import interface_decoder
from ..capture.pcapng import read_capture
from ..model.tl.reassembly import ReceivedRequest
from ..pod.job import Job
from ..pod.run import build_pod, run_pod
from ..pod.scenario import Scenario, load_scenario
from ..pod.workload import build_requests
from ..simulator import SimulatorError
from .rows import Bench, Options, Row, Told, Unavailable

__all__ = ["PERIOD_NS", "benches", "crossings"]

TRIES = 40
GAP = 307
"""Cycles from one Request to the next: long enough for the answer, and in another phase of the flit slots each time."""
START = 4_000
GOAL_NS = 200
CLOCK_MHZ = 1562.5
PERIOD_NS = 1_000 / CLOCK_MHZ
SCENARIO = """
[pod]
accelerators = 4
[link]
latency_cycles = 20
[[workload]]
kind = "trace"
trace = "hop.jsonl"
"""
_HOW = (
    f"mean of {TRIES} WriteFull of 64 bytes through an idle switch of four x4 stations, first beat that comes in to "
    "first beat that goes out, between transceivers and reconciliation sublayers"
)


def benches(_: Options) -> list[Bench]:
    """The hop in cycles and in nanoseconds; the model of a pod takes minutes to compile."""
    cycles = Row(name="hop.latency_cycles", unit="cycles", how=_HOW)
    time = Row(
        name="hop.latency_ns",
        unit="ns",
        limit=GOAL_NS,
        how=f"the same at {CLOCK_MHZ:,} MHz; limit: the goal for 128 lanes, pin to pin with FEC, which come to it with "
        "the transceivers",
    )
    return [Bench((cycles, time), lambda: _measure(cycles.name, time.name), slow=True)]


def _measure(cycles: str, time: str) -> dict[str, float | Told]:
    with tempfile.TemporaryDirectory(prefix="ualink-") as folder:
        scenario = _scenario(Path(folder))
        capture = Path(folder, "capture.pcapng")
        try:
            model = build_pod(scenario.pod.accelerators, scenario.switch)
            run_pod(model, Job(scenario, build_requests(scenario), capture))
        except SimulatorError as error:
            raise Unavailable(str(error)) from None
        found = crossings(capture, "acc0.0>sw0.0/rx", "sw1.0>acc1.0/tx")
    if len(found) != TRIES:
        raise Unavailable(f"{len(found)} of {TRIES} Requests were seen before and behind the switch")
    in_cycles = [nanoseconds / PERIOD_NS for nanoseconds in found]
    return {
        cycles: Told(sum(in_cycles) / TRIES, f"from {min(in_cycles):.0f} to {max(in_cycles):.0f}"),
        time: Told(sum(found) / TRIES, f"from {min(found):.1f} to {max(found):.1f}"),
    }


def _scenario(folder: Path) -> Scenario:
    """Single writes of accelerator 0 to accelerator 1, far apart."""
    lines = [
        {"src": 0, "dst": 1, "op": "write_full", "addr": hex(64 * n), "len": 64, "data": f"{n + 1:02x}" * 64}
        | {"at": START + GAP * n}
        for n in range(TRIES)
    ]
    Path(folder, "hop.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    Path(folder, "hop.toml").write_text(SCENARIO)
    return load_scenario(Path(folder, "hop.toml"))


def crossings(capture: Path, before: str, behind: str) -> list[float]:
    """Nanoseconds of each Request from tap ``before`` to tap ``behind``."""
    came, left = (dict(_requests(capture, tap)) for tap in (before, behind))
    return [left[address] - came[address] for address in came if address in left]


def _requests(capture: Path, tap: str) -> Iterator[tuple[int, float]]:
    """Address of each Request at ``tap``, and the time in nanoseconds of the first of the beats in a row that bring it.

    What else the tap has seen must stand apart from them.
    """
    decoder = None
    start, busy = 0.0, False
    for packet in read_capture(capture):
        if packet.interface != tap:
            continue
        decoder = decoder or interface_decoder(packet)
        content = packet.flit[:FLIT_HEADER_OFFSET]
        for beat in range(BEATS_PER_FLIT):
            was_busy, busy = busy, any(content[BEAT_BYTES * beat : BEAT_BYTES * (beat + 1)])
            if busy and not was_busy:
                start = packet.time_ps / 1_000 + beat * PERIOD_NS
        for item in (item for flit in decoder.feed(packet.flit, packet.lost).tl_flits for item in flit.received):
            if isinstance(item, ReceivedRequest):
                yield item.request.addr, start
