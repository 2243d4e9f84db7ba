"""Pods of sizes at random, each compiled for this alone: ``make soak`` (UALINK_SOAK=1) does.

A size that is allowed has to work, however odd and whatever stands beside it: least credits and buffers, what waits in
memories or in registers, any distance of markers.
"""

import pytest

from support.sim.pod_fixtures import POD, run_scenario
from support.sim.random_pods import TRANSACTIONS, random_pod

pytestmark = [POD, pytest.mark.soak]

SEEDS = range(40)


@pytest.mark.req("DL-119", "UPLI-041")
@pytest.mark.parametrize("seed", SEEDS)
def test_what_may_be_built_loses_no_byte(tmp_path, seed):
    run = run_scenario(tmp_path, random_pod(seed))
    assert run.results.passed and run.summary["transactions"] == TRANSACTIONS
