"""Compilers and simulators end with the process that started them, however it ends."""

import os
import signal
import subprocess
import sys

import pytest

# What runs holds the pipe open in which "started" comes: its end is the end of all of them.
RUN = """
import os, sys
from ualink_sim.child import run_child
run_child(["sh", "-c", sys.argv[1]], cwd="/", environment=os.environ, output=sys.stdout)
"""
BUILD = """
import sys
from ualink_sim.simulator import build
build({"chain.v": "module chain(input a, output b); assign b = a; endmodule"}, "chain")
"""


def start(program, *arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda n: n.name)
def test_a_command_and_what_it_started_end_with_its_parent(number):
    parent = start(RUN, "sleep 60 & echo started; sleep 60")
    assert parent.stdout.readline() == b"started\n"
    parent.send_signal(number)
    assert parent.communicate(timeout=10) == (b"", None)


def test_a_command_that_does_not_listen_is_killed():
    parent = start(RUN, "trap '' TERM; echo started; sleep 60; sleep 60")
    assert parent.stdout.readline() == b"started\n"
    parent.kill()
    assert parent.communicate(timeout=15) == (b"", None)


def test_a_compiler_ends_with_its_parent(tmp_path):
    """A ``make`` that never ends, which holds a pipe of its own open: its output goes to a log."""
    os.mkfifo(tmp_path / "alive")
    (tmp_path / "make").write_text(f"#!/bin/sh\nexec 9>{tmp_path}/alive\necho started >&9\nsleep 60\n")
    (tmp_path / "make").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    parent = start(BUILD, PATH=path, UALINK_BUILD=str(tmp_path / "build"))
    with (tmp_path / "alive").open("rb") as alive:
        assert alive.readline() == b"started\n"
        parent.kill()
        killer = subprocess.Popen(["sleep", "10"])
        assert alive.read() == b""
        assert killer.poll() is None, "the compiler outlived its parent by ten seconds"
        killer.kill()
        killer.wait()
    parent.communicate(timeout=10)


@pytest.mark.parametrize(("command", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill $$", 143)])
def test_the_status_is_that_of_the_command(tmp_path, command, status):
    from ualink_sim.child import run_child

    with (tmp_path / "log").open("w") as log:
        got = run_child(["sh", "-c", f"echo said; {command}"], cwd=tmp_path, environment=os.environ, output=log)
    assert got == status
    assert (tmp_path / "log").read_text() == "said\n"


WAIT = """
import os, sys
from ualink_sim.child import run_child
def interrupted():
    print("told", flush=True)
    return True
script = "echo started; sleep 1; echo done; exit 5"
sys.exit(run_child(["sh", "-c", script], cwd="/", environment=os.environ, output=sys.stdout, interrupted=interrupted))
"""


def test_an_interrupted_command_may_finish():
    parent = start(WAIT)
    assert parent.stdout.readline() == b"started\n"
    parent.send_signal(signal.SIGINT)
    assert parent.communicate(timeout=10) == (b"told\ndone\n", None)
    assert parent.returncode == 5
