"""The bus models against the RTL agents: a model on each end, RTL between them."""

import pytest

pytestmark = pytest.mark.xdist_group("agents")


def _upli(*numbers):
    return [f"UPLI-{number:03}" for number in numbers]


# What the models find wrong on what the RTL sends, or what would be missing or changed at the other end.
SLOTS = _upli(80, 81, 84, 85, 88, 90)
CREDITS = _upli(51, 93, 95, 108, 109, 111, 115, 116, 119, 120, 121, 185, 300, 305, 375, 376)
PARITY = _upli(*range(171, 176), *range(243, 248), *range(275, 279), *range(291, 297))
AUTH_TAG = _upli(150, 228, 264)
TRANSFERS = _upli(139, 155, 184, 285, 286, 288, *range(301, 305), 306, 307, *range(309, 316), 377, 378)


@pytest.mark.req(*SLOTS, *CREDITS, *PARITY, *AUTH_TAG, *TRANSFERS, "RST-030", "RST-037")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_random_traffic(agents, ports):
    agents.run("support.bfm.agents_bench", testcase="random_traffic", environment={"PORTS": str(ports)})


@pytest.mark.req("RST-002", "RST-003", "RST-005", "RST-008", "RST-009", "RST-010", "RST-011", "RST-014", "RST-015")
@pytest.mark.req("UPLI-094", "UPLI-127")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_reset_in_the_middle(agents, ports):
    agents.run("support.bfm.agents_bench", testcase="reset_in_the_middle", environment={"PORTS": str(ports)})


@pytest.mark.req("RST-031", "RST-036", "RST-038", "RST-039", "RST-042", "RST-044", "RST-045", "RST-046", "UPLI-299")
def test_either_side_connects_first(agents):
    agents.run("support.bfm.agents_bench", testcase="either_side_connects_first")


def test_bytes_and_operands(agents):
    agents.run("support.bfm.agents_bench", testcase="bytes_and_operands")
