"""From UPLI to UPLI through whole stations, with and without a switch: what the bus models and the model say of RTL."""

import pytest

from support.sim.pod_fixtures import POD
from ualink_sim.pod.run import build_pod
from ualink_sim.pod.scenario import parse_scenario

pytestmark = POD

SCENARIO = '[pod]\naccelerators = 4\n[[workload]]\nkind = "uniform"\n'


def _upli(*numbers):
    return [f"UPLI-{number:03}" for number in numbers]


@pytest.fixture(scope="module")
def run():
    """Runs a test of the bench on the pod that other tests use too."""
    scenario = parse_scenario(SCENARIO, "scenario.toml")
    model = build_pod(scenario.pod.accelerators, scenario.switch)

    def run(testcase, **environment):
        model.run("support.upli.path_bench", testcase=testcase, environment=environment)

    return run


# What compares unlike, or is found wrong by a monitor, at the other end when the RTL between breaks the rule.
REQUEST_FIELDS = _upli(2, 42, 45, 46, 47, 134, 140, 141, 149, 151, 152, 155, 157, 158, 162, 165, 166, 167, 168, 181)
VENDOR_FIELDS = _upli(161, 182, 183, 203, 205, 206, 207, 208, 209, 210, 212, 213, 216, 217, 218, 379)
RESPONSE_FIELDS = _upli(48, 49, 226, 229, 231, 232, 233, 234, 235, 236, 237, 240, 258, 259, 266, 268, 269, 271, 317)
STATUS = _upli(248, 249, 250, 279, 281)
# Of the Requests that the RTL drives at the destination, the monitor judges address and length.
RANGES = _upli(176, 189, 342, 347, 355)
# Beats poisoned at random arrive as that.
POISON = ["RAS-081"]
PATH = _upli(4, 40, 41, 54, 77, 129, 131, 132, 135, 136, 137, 138, 230, 267, 287, 288, 340, 380, 382)
ORDER = _upli(44, 316, 321, 322, 324, 327, 329, 332)


@pytest.mark.req(*REQUEST_FIELDS, *VENDOR_FIELDS, *RESPONSE_FIELDS, *STATUS, *RANGES, *PATH, *ORDER, *POISON)
@pytest.mark.parametrize("authentication", ["0", "1"])
def test_every_field_crosses_the_switch(run, authentication):
    run("every_field", AUTHENTICATION=authentication)


@pytest.mark.req("RAS-114")
def test_the_core_does_nothing_when_a_link_goes_down(run):
    run("link_goes_down")


@pytest.mark.req("UPLI-383")
def test_every_field_crosses_a_direct_link(run):
    run("every_field", LINK="direct")


# Reads, writes, atomics, errors and messages, with literal lanes and enables at either end.
READS = _upli(159, 178, 188, 260, 318, 341, 343, 344, 345, 346, 373)
WRITES = _upli(163, 164, 192, 193, 194, 195, 284, 348, 349, 350, 352, 353, 354, 356, 372)
ATOMICS = _upli(144, 145, 179, 180, 197, 198, *range(357, 359), *range(360, 363), *range(364, 371), 374)
ERRORS = _upli(238, 239, 251, 252, 371)
MESSAGES = _upli(201, 204, *range(219, 223))


@pytest.mark.req(*READS, *WRITES, *ATOMICS, *ERRORS, *MESSAGES)
@pytest.mark.parametrize("link", ["pod", "ingress"])
def test_examples_of_the_standard(run, link):
    """Through a switch, and as they arrive at the Completer's side of a switch's ingress."""
    run("examples", LINK=link)


@pytest.mark.req("UPLI-156", "UPLI-155")
def test_a_switch_counts_beats_by_num_beats_alone(run):
    run("contradictions")


@pytest.mark.req("UPLI-384")
def test_poisoned_byte_enables_write_nothing(run):
    run("poisoned_enables")
