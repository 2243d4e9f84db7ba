"""Jobs that several threads do."""

import subprocess
from pathlib import Path

import ualink_sim.clocked
from support.sim import clocked_pair

BENCH = Path(clocked_pair.__file__).with_name("jobs_bench.cpp")


def test_jobs_are_done_once_several_at_a_time_and_heavier_ones_first(tmp_path):
    """By the one who starts them and a helper, which sleeps and wakes; what a job starts is done at once."""
    program = tmp_path / "jobs"
    headers = Path(ualink_sim.clocked.__file__).parent
    subprocess.run(["c++", "-std=c++17", "-O1", "-pthread", f"-I{headers}", BENCH, "-o", program], check=True)
    done = subprocess.run([program], env={"UALINK_THREADS": "2"}, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "")
