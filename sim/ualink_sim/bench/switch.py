"""Rows of the switch: throughput and latency of its core under random traffic (UALink_200 §10.9)."""

from collections.abc import Callable

from .rows import Bench, Options, Row, Told, Unavailable
from .switch_core import CYCLES, idle_latencies, run
from .switch_reference import fifo_throughput, matching_latency
from .switch_source import BURST, HOT_SHARE, Destinations

__all__ = ["benches", "hot_spot_limit"]

PORTS = (4, 8, 16, 32)
QUICK = 8
"""Cores of more ports take minutes to compile, and are measured where a name asks for them."""
BEAT = 64
SIZES = (1, 4)
LOADS = (50, 80, 90, 95)
"""Per cent of what the busiest egress port permits."""
BURSTY_LOADS = (50, 60, 70)
"""With 80 not every item of 16 ports finds a place to wait."""
SATURATED = 2.0
MOST_CYCLES = 6
LEAST_FAIRNESS = 1.0

_TRAFFIC = {
    Destinations.UNIFORM: "each item to a port at random",
    Destinations.PERMUTATION: "each port to one other",
    Destinations.HOT_SPOT: f"one of {HOT_SHARE} items to port 0, the others at random",
    Destinations.INCAST: "all to port 0",
    Destinations.BURSTY: f"bursts of {BURST} items in the mean to a port at random",
    Destinations.ALL_TO_ALL: "each port to all in turn",
}
_PEER = {4: 0.652, 8: 0.618, 16: 0.603, 32: 0.594}
"""cc_stream_xbar of PULP's common_cells 2.0.0-beta.2, one register at each output, uniform traffic of one beat, 20,000
cycles in Verilator."""
_CORE = "the core alone in Verilator, {ports} ports, Read Responses of {size} bytes"


def hot_spot_limit(ports: int) -> float:
    """Beats in a cycle at each port: what port 0 is sent is no more than one, and each source keeps its order."""
    hot = 1 / HOT_SHARE + (1 - 1 / HOT_SHARE) / ports
    return min(1.0, 1 / (ports * hot))


def _limit(destinations: Destinations, ports: int) -> float:
    if destinations is Destinations.HOT_SPOT:
        return hot_spot_limit(ports)
    return 1 / ports if destinations is Destinations.INCAST else 1.0


def benches(_: Options) -> list[Bench]:
    """Idle latency, then saturation of each kind of traffic, then latency against load, each for cores of all sizes."""
    found = [_idle()]
    for ports in PORTS:
        for destinations in Destinations:
            found += [_saturation(destinations, ports, beats) for beats in SIZES]
        found.append(_fairness(ports))
        for destinations in Destinations:
            loads = BURSTY_LOADS if destinations is Destinations.BURSTY else LOADS
            found += [_latency(destinations, ports, load) for load in loads]
    return found


def _bench(row: Row, ports: int, value: Callable[[], float | Told]) -> Bench:
    return Bench((row,), lambda: {row.name: value()}, slow=ports > QUICK)


def _idle() -> Bench:
    ports = PORTS[0]
    row = Row(
        name="switch.core.latency_cycles",
        unit="cycles",
        limit=MOST_CYCLES,
        how=f"input to first output, single items to all ports, longest; {_CORE.format(ports=ports, size=BEAT)}",
    )
    return _bench(row, ports, lambda: max(idle_latencies(ports, 1)))


def _saturation(destinations: Destinations, ports: int, beats: int) -> Bench:
    size = BEAT * beats
    compared = destinations is Destinations.UNIFORM and beats == 1
    row = Row(
        name=f"switch.{destinations.name.lower()}.saturation.{ports}x{size}",
        unit="beats per cycle and port",
        limit=_limit(destinations, ports),
        peer=f"PULP cc_stream_xbar: {_PEER[ports]}" if compared else None,
        how=f"{_TRAFFIC[destinations]}, always waiting, over {CYCLES:,} cycles; {_CORE.format(ports=ports, size=size)}",
    )

    def measure() -> float | Told:
        found = run(ports, beats, destinations, SATURATED).throughput
        if not compared:
            return found
        return Told(found, f"with one queue at each input it would be {fifo_throughput(ports):.3f}")

    return _bench(row, ports, measure)


def _fairness(ports: int) -> Bench:
    row = Row(
        name=f"switch.incast.fairness.{ports}",
        unit="fraction",
        limit=LEAST_FAIRNESS,
        how=f"items of the source that sends least, of the mean of all; all to port 0, always waiting; "
        f"{_CORE.format(ports=ports, size=BEAT)}",
    )
    return _bench(row, ports, lambda: run(ports, 1, Destinations.INCAST, SATURATED).fairness)


def _latency(destinations: Destinations, ports: int, load: int) -> Bench:
    limit = _limit(destinations, ports)
    row = Row(
        name=f"switch.{destinations.name.lower()}.latency_cycles.{ports}x{BEAT}.load_{load}",
        unit="cycles",
        how=f"mean, waiting before the core with it; {_TRAFFIC[destinations]}, {load} % of {_share(limit)} in each "
        f"cycle; {_CORE.format(ports=ports, size=BEAT)}",
    )

    def measure() -> Told:
        rate = limit * load / 100
        found = run(ports, 1, destinations, rate)
        if found.refused:
            raise Unavailable(f"of this load {found.refused:.1%} found no place to wait before the core")
        waiting = matching_latency(ports, rate, destinations)
        return Told(
            found.latency,
            f"99 % within {found.p99}; a maximum matching in each cycle, in no time, makes an item wait {waiting:.1f}",
        )

    return _bench(row, ports, measure)


def _share(limit: float) -> str:
    return "a beat" if limit == 1 else f"{limit:.3g} beats"
