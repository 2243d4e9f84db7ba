"""Results as a simulation would hand them over, without simulating."""

import os
import random
import signal

import pytest

from support.sim.pod_fixtures import RECONCILIATION, of_two, random_trace, run_scenario
from ualink_sim.pod.scenario import parse_scenario
from ualink_sim.report.results import Bucket, LinkResult, Replay, Results, Transaction

WHOLE = [
    "test_station_whole.py",
    "pod/test_chosen_ports_whole.py",
    "pod/test_few_credits.py",
    "pod/test_random_sizes_whole.py",
]
collect_ignore = [] if os.environ.get("UALINK_SOAK") else WHOLE
"""Long campaigns of which CI has no slice, and what needs a model of its own."""

SCENARIO = """
[pod]
accelerators = 4
[link]
bit_error_rate = 1e-6
[[workload]]
kind = "uniform"
"""

SMALL_POD = """
[pod]
accelerators = 4
[link]
latency_cycles = 40
bit_error_rate = 1e-5
seed = 5
[[workload]]
kind = "uniform"
transactions = 300
outstanding = 32
mix = { read = 0.4, write = 0.2, write_full = 0.2, atomic = 0.1, atomic_nr = 0.1 }
sizes = [4, 20, 64, 100, 128, 256]
seed = 9
"""


TRACED_POD = """
[pod]
accelerators = 4
[link]
latency_cycles = 40
bit_error_rate = 1e-6
drop_rate = 0.01
burst = 2
[[workload]]
kind = "trace"
trace = "trace.jsonl"
"""


@pytest.fixture(autouse=True)
def signals_as_in_a_terminal():
    """SIGINT and SIGHUP as a person's shell leaves them: who starts the tests in the background may have them ignored,
    and what the tests start would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in zip((signal.SIGINT, signal.SIGHUP), before, strict=True):
        signal.signal(number, handler)


def make_results(*, transactions=2400, cycles=9000, accelerators=4, faults=False, seed=1):
    rng = random.Random(seed)
    scenario = parse_scenario(SCENARIO.replace("= 4", f"= {accelerators}"), "quickstart.toml")
    records = []
    for line in range(1, transactions + 1):
        src = rng.randrange(accelerators)
        op = rng.choices(["read", "write", "write_full", "atomic"], [5, 2, 2, 1])[0]
        issued = 300 + line * (cycles - 1500) // transactions + rng.randrange(40)
        latency = int(rng.gauss(260, 18) + rng.expovariate(1 / 30)) + 60 * (op == "read")
        records.append(
            Transaction(
                line=line,
                src=src,
                dst=(src + rng.randrange(1, accelerators)) % accelerators,
                op=op,
                addr=rng.randrange(256) * 256,
                len=rng.choice([64, 128, 192, 256]),
                status="OKAY",
                data=rng.randbytes(64) if op in ("read", "atomic") else None,
                issued=issued,
                completed=None if faults and line % 500 == 0 else issued + latency * (4 if rng.random() < 0.003 else 1),
                mismatch="byte 3 is 00, not 7f" if faults and line % 700 == 0 else "",
            )
        )
    links = []
    for n in range(accelerators):
        for name in (f"acc{n}.0>sw{n}.0", f"sw{n}.0>acc{n}.0"):
            buckets = []
            for start in range(0, cycles, 50):
                busy = 300 <= start <= cycles - 1000
                tl_flits = int(busy * rng.randrange(24, 46))
                replayed = int(busy and rng.random() < 0.05) * rng.randrange(3, 9)
                data_bytes = int(tl_flits * 64 * rng.uniform(0.7, 0.9))
                bucket = Bucket(start=start, cycles=50, flits=5, payload_flits=5 * busy, replayed=replayed)
                bucket.tl_flits, bucket.data_bytes = tl_flits, data_bytes
                buckets.append(bucket)
            marks = sorted(rng.randrange(400, cycles - 1000) for _ in range(rng.randrange(4)))
            replays = [Replay(cycle=cycle, seq=rng.randrange(1, 512), cycles=rng.randrange(90, 160)) for cycle in marks]
            links.append(LinkResult(name=name, crc_errors=len(marks), lost_flits=0, buckets=buckets, replays=replays))
    memory = {n: {0x1000: bytes(range(64)), 0x40: bytes(64)} for n in range(accelerators)}
    return Results(scenario=scenario, cycles=cycles, seconds=12.3456, transactions=records, links=links, memory=memory)


@pytest.fixture
def results():
    return make_results()


@pytest.fixture
def failed_results():
    return make_results(transactions=1500, faults=True, accelerators=3)


@pytest.fixture(scope="session")
def pod_run(tmp_path_factory):
    """One small run of a pod of four accelerators over noisy links: what ``ualink sim`` leaves behind."""
    return run_scenario(tmp_path_factory.mktemp("pod"), SMALL_POD)


@pytest.fixture(scope="session")
def rs_run(tmp_path_factory):
    """The same scenario in a pod of two whose links are those of reconciliation sublayers."""
    return run_scenario(tmp_path_factory.mktemp("rs"), of_two(SMALL_POD) + RECONCILIATION)


@pytest.fixture(scope="session")
def trace_run(tmp_path_factory):
    """A trace of random requests over links that lose and damage flits."""
    return run_scenario(tmp_path_factory.mktemp("trace"), TRACED_POD, random_trace(random.Random(11), 250))


@pytest.fixture(scope="session")
def matched_run(tmp_path_factory):
    """Such a trace between two, over reconciliation sublayers and with clocks of different rates."""
    rows = random_trace(random.Random(12), 500, accelerators=2)
    return run_scenario(tmp_path_factory.mktemp("matched"), of_two(TRACED_POD) + RECONCILIATION + "ppm = 5000\n", rows)
