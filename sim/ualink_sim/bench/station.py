"""Rows of the benchmarks of a station, of which it is chosen how many ports it has."""

from ..model.upli.transactions import ReqCmd
from .dl_link import SATURATED
from .hop import PERIOD_NS
from .rows import Bench, Options, Row, Told
from .station_pair import MODES, OUTSTANDING, WINDOW, latencies, throughput
from .station_top import STATION_WIRE
from .tl_efficiency import RESPONSE_AND_CREDITS
from .tl_patterns import Kind, efficiency

__all__ = ["benches"]

TRIES = 40
WRITE = Kind(ReqCmd.WRITE_FULL, 4)
SHORT = Kind(ReqCmd.WRITE_FULL, 1)
_BUILD = "one build of chosen ports, two of them in Verilator"
LIMIT = float(efficiency((WRITE,), 2 + RESPONSE_AND_CREDITS)) * SATURATED


def benches(_: Options) -> list[Bench]:
    """Bandwidth and latency of each number of ports; the model takes minutes to compile."""
    return [bench for mode in MODES for bench in (_throughput(mode), _latency(mode))]


def _throughput(mode: str) -> Bench:
    row = Row(
        name=f"station.throughput.{mode}",
        unit="beats per cycle",
        limit=LIMIT,
        how=f"data of both ways, of the station that gives less, all ports together, WriteFull of 256 bytes, "
        f"{OUTSTANDING} outstanding of each port, over {WINDOW:,} cycles; limit: the packing of both ways, in what a "
        f"DL flit has for TL flits; {_BUILD}",
    )
    return Bench((row,), lambda: {row.name: throughput(mode, WRITE)}, slow=True)


def _latency(mode: str) -> Bench:
    cycles = Row(
        name=f"station.latency_cycles.{mode}",
        unit="cycles",
        how=f"mean of {TRIES} WriteFull of 64 bytes on idle links, Request on UPLI before one station to Request on "
        f"UPLI behind the other, without the {STATION_WIRE} cycles of the wire and without reconciliation sublayers; "
        f"{_BUILD}",
    )
    time = Row(name=f"station.latency_ns.{mode}", unit="ns", how="the same at 1,562.5 MHz")

    def measure() -> dict[str, float | Told]:
        found = [waited - STATION_WIRE for waited in latencies(mode, SHORT, TRIES)]
        mean = sum(found) / TRIES
        return {cycles.name: Told(mean, f"from {min(found)} to {max(found)}"), time.name: mean * PERIOD_NS}

    return Bench((cycles, time), measure, slow=True)
