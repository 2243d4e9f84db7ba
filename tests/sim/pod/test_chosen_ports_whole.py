"""Pods of chosen ports beside those that are built for their ports and need models of their own: `make soak` alone."""

import random

import pytest

from support.sim.pod_fixtures import RECONCILIATION, random_trace, run_scenario

pytestmark = [pytest.mark.xdist_group("chosen-pod"), pytest.mark.soak]

MODES = ("x4", "2x2", "4x1")
HEAD = '[pod]\naccelerators = 2\nchoosable_ports = {}\nbifurcation = "{}"\n'
TRACE = (
    '[link]\ndrop_rate = 0.01\nburst = 2\nbit_error_rate = 1e-6\n[[workload]]\nkind = "trace"\ntrace = "trace.jsonl"\n'
)
SATURATED = """
[[workload]]
kind = "neighbour"
transactions = {}
sizes = [256]
outstanding = 256
mix = {{ write_full = 1.0 }}
"""


def both(folder, mode, more, rows=None):
    """A pod of chosen ports, and one that is built for them."""
    runs = [run_scenario(folder / built, HEAD.format(chosen, mode) + more, rows) for built, chosen in KINDS.items()]
    assert all(run.results.passed for run in runs)
    return runs


KINDS = {"chosen": "true", "built": "false"}


def data_bytes(run):
    """Of writes, operands and reads, from each accelerator and to it."""
    moved = {}
    for link in run.results.links:
        sender, receiver = (end.split(".")[0] for end in link.name.split(">"))
        way = (sender, "sends") if sender.startswith("acc") else (receiver, "gets")
        moved[way] = moved.get(way, 0) + link.total("data_bytes")
    return moved


@pytest.mark.req("PHY-008", "PHY-009", "SW-024")
@pytest.mark.parametrize(
    ("mode", "more"),
    [*((mode, "") for mode in MODES), *((mode, RECONCILIATION + "ppm = 5000\n") for mode in MODES[:2])],
)
def test_requests_do_the_same(tmp_path, mode, more):
    """Every response but for when it comes, all memory, and the bytes that each accelerator sends and gets."""
    rows = random_trace(random.Random(mode), 1000, accelerators=2)
    chosen, built = both(tmp_path, mode, TRACE + more, rows)
    told = [
        [{key: value for key, value in row.items() if key not in ("issued", "completed")} for row in run.responses]
        for run in (chosen, built)
    ]
    assert told[0] == told[1] and len(told[0]) == 1000
    assert chosen.memory == built.memory
    assert data_bytes(chosen) == data_bytes(built)


@pytest.mark.req("PHY-008", "SW-024")
@pytest.mark.parametrize("mode", MODES)
def test_links_are_as_fast(tmp_path, mode):
    """Saturated in both directions."""
    rates = [run.summary["steady_state"]["gbps"] for run in both(tmp_path, mode, SATURATED.format(4_000))]
    assert rates[0] == pytest.approx(rates[1], rel=0.01)
    assert rates[0] > 1100
