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
    ("stations", "ports_per_row", "others"),
    [
        (4, 32, set()),
        (3, 2, set()),
        (8, 32, set()),
        (16, 8, {"merge", "ingress", "egress"}),
        (16, 32, set()),
    ],
)
def test_blocks_are_parts_of_the_core(stations, ports_per_row, others):
    """Each block is a module that the planes ask for. The outputs of banks come from registers."""
    config = SwitchConfig(stations=stations, ports_per_row=ports_per_row, station=StationConfig(ports=1))
    banks = WholeBanks(config)
    grid, depths = Grid(stations, ports_per_row), QueueDepths.of_credits(config.station.upli)
    planes = [RequestPlane(grid, depths, banks)]
    planes += [ResponsePlane(name, grid, getattr(depths, name), depths.shared, banks) for name in ("rd_rsp", "wr_rsp")]
    for plane in planes:
        plane.elaborate(None)
    assert all(banks.instances[block] for block in banks.blocks)
    kinds = ("bank", "merge", "ingress", "egress")
    found = {kind: [block for block in banks.blocks if kind in block] for kind in kinds}
    assert {kind for kind, blocks in found.items() if blocks} == {"bank", *others}
    assert all((banks.blocks[block] is None) == (block not in found["bank"]) for block in banks.blocks)
    assert len(found["bank"]) % 3 == 0
    assert all(len(found[kind]) == 3 for kind in others)


@pytest.mark.parametrize("ports", [1, 2])
def test_agents_are_blocks(ports):
    station = StationConfig(ports=ports)
    banks = WholeBanks(SwitchConfig(stations=2, station=station))
    assert {agent.rsplit("_", 1)[1] for agent in banks.agents} == {"ingress", "egress"}
    agents = [banks(CoreAgent, side, station) for side in ("ingress", "egress")]
    assert set(banks.parts) == set(banks.agents)
    assert not any(isinstance(agent, CoreAgent) for agent in agents)
