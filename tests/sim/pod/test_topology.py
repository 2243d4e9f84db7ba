"""Wiring and route tables of pods."""

import pytest

from ualink_sim.pod.topology import Topology

EVERYBODY = ((0, 1, 2, 3),)


PODS = pytest.mark.parametrize(
    ("accelerators", "ports"), [(2, 1), (4, 1), (4, 2), (4, 4), (5, 1), (8, 1), (3, 2), (8, 2), (3, 4), (8, 4)]
)


def whole(accelerators, ports):
    """A pod in which everybody may talk to everybody."""
    return Topology(accelerators, ports, (tuple(range(accelerators)),))


@pytest.mark.req("SW-001", "SW-002", "UPLI-006", "UPLI-010", "UPLI-062")
@PODS
def test_each_switch_port_faces_another_accelerator(accelerators, ports):
    """Every link has an accelerator at one end and the switch at the other."""
    topology = whole(accelerators, ports)
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
def test_routes_lead_to_the_destination_on_the_same_logical_switch(accelerators, ports):
    topology = whole(accelerators, ports)
    at = {(switch.device, switch.port): acc for acc, switch in topology.links()}
    for source, switch in topology.links():
        routes = topology.routes(switch.device)
        assert set(routes) == set(range(accelerators))
        for destination, entry in routes.items():
            assert not entry.deny >> switch.port & 1
            arrival = at[entry.egress_station, entry.egress_port]
            assert (arrival.device, arrival.port) == (destination, source.port)


@pytest.mark.req("UPLI-012", "SW-096")
def test_virtual_pods_are_denied_to_each_other_and_outsiders_to_all():
    topology = Topology(4, 1, ((0, 1), (2,)))
    assert set(topology.routes(0)) == {0, 1}
    assert set(topology.routes(2)) == {2}
    assert topology.routes(3) == {}


def test_ports_that_share_a_station_are_denied_one_by_one():
    topology = Topology(4, 4, ((0, 1), (2, 3)))
    assert topology.routes(1)[0].deny == 0b1100
    assert topology.routes(1)[3].deny == 0b0011


@pytest.mark.req("UPLI-325")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_a_block_of_256_bytes_has_one_port(ports):
    topology = Topology(4, ports, EVERYBODY)
    for block in range(16):
        chosen = {topology.port_for(block << 8 | offset) for offset in (0, 4, 252)}
        assert len(chosen) == 1 and chosen <= set(range(ports))
