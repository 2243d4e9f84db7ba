"""What a simulated pod's stations are wired with: their ports to the bench, and the links between them."""

from ..capture.pcapng import CaptureWriter
from .block_port import BlockPort
from .link import BeatPort, LinkDirection
from .scenario import Scenario
from .topology import Topology
from .wire import Noise, Wire

__all__ = ["make_links", "make_port"]


def make_port(dut, scenario: Scenario, kind: str, device: int) -> BeatPort | BlockPort:
    """What a station of the pod ``dut`` sends and receives: slots of its data links, or blocks of its reconciliation
    sublayers if it has any."""
    phy = scenario.port_phy
    below = "rs" if phy is None else "pcs"
    prefix = f"acc__{device}__{below}" if kind == "acc" else f"sw__{below}__{device}"
    if phy is None:
        return BeatPort(dut, prefix)
    slower = max(0.0, scenario.ppm if kind == "sw" else -scenario.ppm) if scenario.ppm else None
    return BlockPort(dut, prefix, phy, scenario.pod.ports, slower)


def make_links(
    scenario: Scenario, topology: Topology, capture: CaptureWriter | None
) -> dict[tuple[str, int, int], tuple[LinkDirection, LinkDirection]]:
    """Two directions per link, by either end of it: kind, device and port, (sends on, receives from) of each."""
    link = scenario.link
    ends = {}
    for acc, switch in topology.links():
        pair = []
        for name in (f"{acc}>{switch}", f"{switch}>{acc}"):
            wire = Wire(
                # A port of a station with N ports has a beat in every N-th cycle only.
                max(1, link.latency_cycles // topology.ports),
                Noise(link.bit_error_rate, link.drop_rate, link.burst),
                seed=link.seed,
                name=name,
            )
            taps = (capture.tap(f"{name}/tx"), capture.tap(f"{name}/rx")) if capture else None
            pair.append(LinkDirection(name, wire, taps, topology.ports))
        up, down = pair
        up.reverse, down.reverse = down, up
        ends["acc", acc.device, acc.port] = up, down
        ends["sw", switch.device, switch.port] = down, up
    return ends
