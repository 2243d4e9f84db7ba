"""Pods of sizes at random, each compiled for this alone: ``make soak`` (UALINK_SOAK=1) does.

A size that is allowed has to work, however odd and whatever stands beside it: least credits and buffers, what waits in
memories or in registers, any distance of markers. The engine inside of the model and bus models in Python do the same.
"""

import pytest

from support.sim.pod_fixtures import POD, both_ways, run_scenario
from support.sim.random_pods import TRANSACTIONS, random_pod

pytestmark = [POD, pytest.mark.soak]

SEEDS = range(40)


@pytest.mark.req("DL-119", "UPLI-041")
@pytest.mark.parametrize("seed", SEEDS)
def test_what_may_be_built_loses_no_byte(tmp_path, seed):
    text = random_pod(seed)
    run = run_scenario(tmp_path, text)
    assert run.results.passed and run.summary["transactions"] == TRANSACTIONS
    if run.results.scenario.port_phy is None:
        by_engine, by_models = both_ways(tmp_path, text)
        assert by_engine == by_models
