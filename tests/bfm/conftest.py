"""The RTL agents, compiled once; tests that use them carry ``xdist_group("agents")``."""

import pytest

from support.bfm.agents_top import AgentsTop
from ualink.emit.verilog import to_verilog
from ualink_sim.simulator import build


@pytest.fixture(scope="session")
def agents():
    """The compiled model of ``AgentsTop``."""
    return build({"agents.v": to_verilog(AgentsTop(), "agents")}, "agents")
