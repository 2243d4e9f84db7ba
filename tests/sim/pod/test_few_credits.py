"""A pod of as few buffers as there can be, whose model is compiled for this alone: ``make soak`` (UALINK_SOAK=1) does.

That transaction layers with the least credits never stop is shown without it (``tl/test_layer_progress``).
"""

import pytest

from support.sim.pod_fixtures import POD, run_scenario

pytestmark = [POD, pytest.mark.soak]

SCENARIO = """
[pod]
accelerators = 2
[link]
latency_cycles = 40
bit_error_rate = 1e-5
[tl]
build_authentication = false
tx_cache = { rows = 0 }
rx_cache = { rows = 0 }
req_cmd = { vc = [1, 0, 0, 0] }
rsp_cmd = { pool = 1 }
req_data = { vc = [4, 0, 0, 0] }
rsp_data = { pool = 4 }
requests_in_sight = 1
responses_in_sight = 1
catch_in_lines = true
[dl]
replay_depth = 2
[[workload]]
kind = "uniform"
transactions = 60
outstanding = 48
mix = { read = 0.4, write = 0.2, write_full = 0.2, atomic = 0.1, atomic_nr = 0.1 }
sizes = [4, 8, 20, 64, 100, 128, 192, 256]
seed = 8
"""


@pytest.mark.req("TL-215")
def test_few_credits_slow_a_pod_down_but_never_stop_it(tmp_path):
    run = run_scenario(tmp_path, SCENARIO)
    assert run.results.passed and run.summary["transactions"] == 60
