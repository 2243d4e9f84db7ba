"""Pods under ever new seeds and wires. CI runs a slice; ``make soak`` (UALINK_SOAK=1) runs the whole."""

import os
import random

import pytest

from support.sim.pod_fixtures import POD, run_scenario

pytestmark = [POD, pytest.mark.soak]

LARGEST = 8 if os.environ.get("UALINK_SOAK") else 4
"""Accelerators of the largest pod; the pod of four is compiled for other tests already."""
SEEDS = range(200) if os.environ.get("UALINK_SOAK") else (11,)
"""In CI one whose wires lose flits, damage them and are long."""
TRANSACTIONS = 2000 if os.environ.get("UALINK_SOAK") else 60


@pytest.mark.req("DL-119", "DL-126", "DL-156", "SW-026", "UPLI-041")
@pytest.mark.parametrize("seed", SEEDS)
def test_no_seed_loses_a_byte(tmp_path, seed):
    rng = random.Random(seed)
    drop = rng.choice((0.0, 0.001, 0.02))
    run = run_scenario(
        tmp_path,
        f"""
[pod]
accelerators = 4
[link]
latency_cycles = {rng.choice((3, 17, 40, 90, 200))}
bit_error_rate = {rng.choice((0.0, 1e-7, 1e-6, 1e-5, 4e-5))}
drop_rate = {drop}
burst = {rng.choice((1, 3, 8)) if drop else 1}
seed = {seed}
[[workload]]
kind = "{rng.choice(("uniform", "neighbour", "alltoall"))}"
transactions = {TRANSACTIONS}
outstanding = {rng.choice((1, 8, 64, 256))}
sizes = [4, 12, 64, 72, 128, 192, 252, 256]
mix = {{ read = 0.4, write = 0.2, write_full = 0.2, atomic = 0.1, atomic_nr = 0.1 }}
seed = {seed}
""",
    )
    assert run.results.passed, [t for t in run.results.transactions if t.mismatch or t.completed is None][:3]


@pytest.mark.req("SW-064", "UPLI-041")
def test_the_largest_pod_loses_no_byte(tmp_path):
    """Everybody talks to everybody over noisy links, in all kinds of requests: ``examples/pod8.toml``, made smaller."""
    run = run_scenario(
        tmp_path,
        f"""
[pod]
accelerators = {LARGEST}
[link]
bit_error_rate = 1e-6
[[workload]]
kind = "alltoall"
transactions = {20 * LARGEST * (LARGEST - 1)}
outstanding = 32
mix = {{ read = 0.4, write = 0.2, write_full = 0.2, atomic = 0.1, atomic_nr = 0.1 }}
""",
    )
    assert run.results.passed, [t for t in run.results.transactions if t.mismatch or t.completed is None][:3]
    pairs = {(t.src, t.dst) for t in run.results.transactions}
    assert len(pairs) == LARGEST * (LARGEST - 1)
