"""Who has no terminal sees progress too: a line now and then, none where the work is soon done."""

import io
import time

import pytest
from rich.console import Console

from ualink_sim.pod import progress
from ualink_sim.pod import run as pod
from ualink_sim.pod.scenario import load_scenario
from ualink_sim.simulator import SimulatorError


def console(terminal=False, quiet=False):
    return Console(file=io.StringIO(), force_terminal=terminal, quiet=quiet, width=80)


def test_lines_come_until_the_work_is_done():
    out = console()
    with progress.working(out, "compiling the pod", every=0.02):
        time.sleep(0.2)
    told = out.file.getvalue().splitlines()
    assert len(told) >= 2 and all(line.startswith("compiling the pod: ") for line in told)
    time.sleep(0.1)
    assert out.file.getvalue().splitlines() == told


@pytest.mark.parametrize("out", [console(terminal=True), console(quiet=True)], ids=["terminal", "quiet"])
def test_no_lines_on_a_terminal_or_where_none_are_wanted(out):
    with progress.working(out, "compiling the pod", every=0.01):
        time.sleep(0.1)
    assert "compiling the pod: " not in out.file.getvalue()


def test_compiling_tells_that_it_goes_on(monkeypatch, tmp_path, root, capsys):
    def slow(*_, **__):
        time.sleep(0.2)
        raise SimulatorError("enough")

    monkeypatch.setattr(progress, "LINE_SECONDS", 0.02)
    monkeypatch.setattr(pod, "build_pod", slow)
    with pytest.raises(SimulatorError, match="enough"):
        pod.simulate(load_scenario(root / "examples" / "quickstart.toml"), tmp_path)
    assert capsys.readouterr().err.count("compiling the pod") >= 2


def test_simulating_tells_how_far_it_is(monkeypatch, tmp_path, root, capsys):
    def slow(*_, report, **__):
        report(70, 2200, 1500)
        time.sleep(0.2)
        raise SimulatorError("enough")

    monkeypatch.setattr(progress, "LINE_SECONDS", 0.02)
    monkeypatch.setattr(pod, "build_pod", lambda *_, **__: None)
    monkeypatch.setattr(pod, "run_pod", slow)
    with pytest.raises(SimulatorError, match="enough"):
        pod.simulate(load_scenario(root / "examples" / "quickstart.toml"), tmp_path)
    assert "simulating: 70 of 2200, 1500 cycles" in capsys.readouterr().err
