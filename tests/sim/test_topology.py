"""Wiring and route tables of pods."""

import pytest

from ualink_sim.topology import Topology

EVERYBODY = ((0, 1, 2, 3),)


@pytest.mark.req("SW-001", "UPLI-006", "UPLI-010", "UPLI-062")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_each_switch_port_faces_another_accelerator(ports):
    links = Topology(4, ports, EVERYBODY).links()
    assert len({switch for _, switch in links}) == len({acc for acc, _ in links}) == 4 * ports
    per_logical_switch = {}
    for acc, switch in links:
        assert switch.port < ports and acc.port < ports
        per_logical_switch.setdefault(switch.device // (4 // ports), []).append((acc.device, acc.port))
    for faced in per_logical_switch.values():
        assert sorted(device for device, _ in faced) == [0, 1, 2, 3]
        assert len({port for _, port in faced}) == 1


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_routes_lead_to_the_destination_on_the_same_logical_switch(ports):
    topology = Topology(4, ports, EVERYBODY)
    at = {switch: acc for acc, switch in topology.links()}
    for source, switch in topology.links():
        for destination, entry in topology.routes(switch.device).items():
            assert not entry.deny >> switch.port & 1
            arrival = next(
                acc for end, acc in at.items() if (end.device, end.port) == (entry.egress_station, entry.egress_port)
            )
            assert arrival.device == destination
            assert arrival.port == source.port


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


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_a_block_of_256_bytes_has_one_port(ports):
    topology = Topology(4, ports, EVERYBODY)
    for block in range(16):
        chosen = {topology.port_for(block << 8 | offset) for offset in (0, 4, 252)}
        assert len(chosen) == 1 and chosen <= set(range(ports))
