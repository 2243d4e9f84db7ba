"""Wiring and route tables of pods."""

import pytest

from ualink_sim.pod.topology import Topology

PODS = pytest.mark.parametrize(
    ("accelerators", "ports"), [(2, 1), (4, 1), (4, 2), (4, 4), (5, 1), (8, 1), (3, 2), (8, 2), (3, 4), (8, 4)]
)


@pytest.mark.req("SW-001", "SW-002", "UPLI-006", "UPLI-010", "UPLI-062")
@PODS
def test_each_switch_port_faces_another_accelerator(accelerators, ports):
    """Every link has an accelerator at one end and the switch at the other."""
    topology = Topology(accelerators, ports)
    links = topology.links()
    assert len({switch for _, switch in links}) == len({acc for acc, _ in links}) == accelerators * ports
    per_logical_switch = {}
    for acc, switch in links:
        assert (acc.kind, switch.kind) == ("acc", "sw")
        assert switch.port < ports and acc.port < ports
        assert switch.device < topology.stations
        per_logical_switch.setdefault(switch.device // (topology.stations // ports), []).append((acc.device, acc.port))
    assert len(per_logical_switch) == ports
    for faced in per_logical_switch.values():
        assert sorted(device for device, _ in faced) == list(range(accelerators))
        assert len({port for _, port in faced}) == 1


@PODS
def test_ports_of_an_accelerator_are_on_different_logical_switches(accelerators, ports):
    topology = Topology(accelerators, ports)
    for accelerator, places in topology.wiring.items():
        assert places == [(end.device, end.port) for acc, end in topology.links() if acc.device == accelerator]
        assert [station // (topology.stations // ports) for station, _ in places] == list(range(ports))


@pytest.mark.parametrize("ports", [1, 2, 4])
@pytest.mark.parametrize("accelerators", [2, 3, 4, 9, 16])
def test_fewer_ports_than_are_built_have_room_in_the_same_switch(accelerators, ports):
    """Each switch port faces another accelerator, and a station ports of one number alone, as its table has to."""
    topology = Topology(accelerators, ports, 4)
    assert topology.stations == Topology(accelerators, 4).stations
    links = topology.links()
    assert len({switch for _, switch in links}) == len(links) == accelerators * ports
    numbers = {}
    for acc, switch in links:
        assert switch.port < ports and switch.device < topology.stations
        assert numbers.setdefault(switch.device, acc.port) == acc.port


@pytest.mark.req("UPLI-325")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_a_block_of_256_bytes_has_one_port(ports):
    topology = Topology(4, ports)
    for block in range(16):
        chosen = {topology.port_for(block << 8 | offset) for offset in (0, 4, 252)}
        assert len(chosen) == 1 and chosen <= set(range(ports))
