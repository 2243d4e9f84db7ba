"""The bus models against the RTL agents: a model on each end, RTL between them."""

import pytest

pytestmark = pytest.mark.xdist_group("agents")


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_random_traffic(agents, ports):
    agents.run("bfm.agents_bench", testcase="random_traffic", environment={"PORTS": str(ports)})


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_reset_in_the_middle(agents, ports):
    agents.run("bfm.agents_bench", testcase="reset_in_the_middle", environment={"PORTS": str(ports)})


def test_either_side_connects_first(agents):
    agents.run("bfm.agents_bench", testcase="either_side_connects_first")


def test_bytes_and_operands(agents):
    agents.run("bfm.agents_bench", testcase="bytes_and_operands")
