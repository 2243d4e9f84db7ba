"""Parts of a switch core that are compiled apart: those that the core has, and that are many."""

import pytest

from ualink.config import StationConfig, SwitchConfig
from ualink.switch.core_agent import CoreAgent
from ualink.switch.grid import Grid
from ualink.switch.queue_depths import QueueDepths
from ualink.switch.request_plane import RequestPlane
from ualink.switch.response_plane import ResponsePlane
from ualink_sim.whole_banks import WholeBanks


@pytest.mark.parametrize(
    ("stations", "ports_per_row", "kinds"),
    [
        (4, 32, set()),
        (3, 2, set()),
        (4, 2, {"bank"}),
        (8, 32, {"bank"}),
        (16, 8, {"bank", "merge", "ingress", "egress"}),
        (16, 32, {"bank"}),
    ],
)
def test_blocks_are_parts_of_the_core(stations, ports_per_row, kinds):
    """Each block is a module that the planes ask for more than once; a core with few banks of a size has none."""
    config = SwitchConfig(stations=stations, ports_per_row=ports_per_row, station=StationConfig(ports=1))
    banks = WholeBanks(config)
    grid, depths = Grid(stations, ports_per_row), QueueDepths.of_credits(config.station.upli)
    planes = [RequestPlane(grid, depths, banks)]
    planes += [ResponsePlane(name, grid, getattr(depths, name), depths.shared, banks) for name in ("rd_rsp", "wr_rsp")]
    for plane in planes:
        plane.elaborate(None)
    assert all(banks.instances[block] > 1 for block in banks.blocks)
    assert {kind for kind in ("bank", "merge", "ingress", "egress") for block in banks.blocks if kind in block} == kinds
    assert len(banks.blocks) == 3 * len(kinds)


@pytest.mark.parametrize(("ports", "kinds"), [(1, set()), (2, {"ingress", "egress"})])
def test_agents_of_several_ports_are_blocks(ports, kinds):
    banks = WholeBanks(SwitchConfig(stations=2, station=StationConfig(ports=ports)))
    assert {agent.rsplit("_", 1)[1] for agent in banks.agents} == kinds
    agents = [banks(CoreAgent, side, StationConfig(ports=ports)) for side in ("ingress", "egress")]
    assert set(banks.parts) == set(banks.agents)
    assert all(isinstance(agent, CoreAgent) == (not kinds) for agent in agents)
