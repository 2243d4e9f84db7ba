"""Work that another processor does meanwhile."""

import contextlib
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ualink_sim.aside import Aside


def test_another_process_makes_it_and_this_one_goes_on(tmp_path):
    def wait():
        while not (tmp_path / "now").exists():
            time.sleep(0.01)
        return os.getpid()

    with Aside(wait) as aside:
        (tmp_path / "now").touch()
        assert aside.result() == aside._process.pid


def test_what_is_raised_there_is_raised_here():
    def fail():
        raise ValueError("no such thing")

    with Aside(fail) as aside, pytest.raises(ValueError, match="no such thing"):
        aside.result()


def test_a_process_that_ends_by_itself_is_noticed():
    with Aside(lambda: os._exit(1)) as aside, pytest.raises(RuntimeError, match="ended by itself"):
        aside.result()


def test_it_ends_with_the_statement(tmp_path):
    def work():
        time.sleep(20)
        (tmp_path / "done").touch()

    with pytest.raises(KeyboardInterrupt), Aside(work) as aside:
        raise KeyboardInterrupt
    assert not aside._process.is_alive() and not (tmp_path / "done").exists()


ENDLESS = """
import os, pathlib, sys, time
from ualink_sim.aside import Aside

def work():
    pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
    time.sleep(20)
    pathlib.Path(sys.argv[1]).write_text("done")

with Aside(work) as aside:
    aside.result()
"""


def test_it_ends_with_the_process_that_began_it(tmp_path):
    place = tmp_path / "copy"
    with subprocess.Popen([sys.executable, "-c", ENDLESS, str(place)]) as process:
        while not (place.exists() and place.read_text()):
            time.sleep(0.01)
        process.kill()
    copy = Path("/proc", place.read_text(), "stat")
    with contextlib.suppress(OSError):
        while "Z" not in copy.read_text().rpartition(")")[2]:
            time.sleep(0.01)
    assert place.read_text() != "done"


def test_where_processes_cannot_be_copied_it_is_done_here(monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    with Aside(os.getpid) as aside:
        assert aside.result() == os.getpid()
