"""Folders of results: refused before anything is done, whole or not at all."""

import errno
import os
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

import ualink_sim.pod.run
from sim.conftest import make_results
from ualink.cli import main
from ualink_sim.output import OutputError, output_folder

FILES = ("capture.pcapng", "summary.json", "responses.jsonl", "memory.json", "report.html")
SCENARIO = '[pod]\naccelerators = 4\n[[workload]]\nkind = "uniform"\ntransactions = 4\n'


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with a scenario, where a simulation takes no time and always finds the same."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.toml").write_text(SCENARIO)

    def run_pod(model, job, **_):
        job.capture.write_bytes(b"capture")
        return make_results(transactions=4)

    monkeypatch.setattr(ualink_sim.pod.run, "build_pod", lambda *_, **__: None)
    monkeypatch.setattr(ualink_sim.pod.run, "run_pod", run_pod)
    return tmp_path


def sim(*arguments):
    result = CliRunner().invoke(main, ["sim", "pod.toml", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refuse(monkeypatch, *arguments):
    """The one line of a refusal that comes before a model is made."""

    def never(*_, **__):
        raise AssertionError("the folder was not refused in time")

    monkeypatch.setattr(ualink_sim.pod.run, "build_pod", never)
    result = sim(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    return result.stderr.removeprefix("ualink: ").rstrip()


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("out", ["out", "a/b/out", "."])
def test_all_files_appear_together(work, out):
    assert sim("--out", out).exit_code == 0
    assert {path.name for path in (work / out).iterdir() if path.name != "pod.toml"} == set(FILES)
    assert not [name for name in tree(work) if os.path.basename(name).startswith(".")]
    assert (work / out / "report.html").stat().st_mode & 0o777 == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_second_run_takes_the_place_of_the_first_and_leaves_other_files(work):
    (work / "out").mkdir()
    (work / "out" / "notes").write_text("mine")
    (work / "out" / "summary.json").write_text("old")
    assert sim("--out", "out").exit_code == 0
    assert tree(work / "out") == sorted([*FILES, "notes"])
    assert (work / "out" / "notes").read_text() == "mine"
    assert '"transactions": 4' in (work / "out" / "summary.json").read_text()


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("pod.toml/below", "pod.toml/below: cannot be written: Not a directory"),
        ("broken", "broken: cannot be written: "),
        ("taken", "taken/report.html: cannot be written: is a folder"),
        ("/dev/null/out", "/dev/null/out: cannot be written: Not a directory"),
    ],
)
def test_a_folder_that_cannot_be_is_refused_before_the_simulation(work, monkeypatch, out, reason):
    (work / "broken").symlink_to("nowhere/at/all")
    (work / "taken" / "report.html").mkdir(parents=True)
    before = tree(work)
    assert refuse(monkeypatch, "--out", out).startswith(reason)
    assert tree(work) == before


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_no_permission_and_no_room_are_refused_before_the_simulation(work, monkeypatch, code):
    """Root may write everywhere, so the system call is made to fail."""

    def mkdir(path, *_, **__):
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr("pathlib.Path.mkdir", mkdir)
    assert refuse(monkeypatch, "--out", "out") == f"out: cannot be written: {os.strerror(code)}"
    assert tree(work) == ["pod.toml"]


def test_a_full_disk_takes_a_folder_but_no_bytes(work, monkeypatch):
    def write_bytes(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pathlib.Path.write_bytes", write_bytes)
    assert refuse(monkeypatch, "--out", "out") == "out: cannot be written: No space left on device"
    assert tree(work) == ["pod.toml"]


@pytest.mark.parametrize("earlier", [False, True])
def test_a_disk_that_fills_up_leaves_what_was_there(work, earlier):
    """A real limit of the size of files, in a process of its own, which the report does not fit."""
    if earlier:
        (work / "out").mkdir()
        (work / "out" / "summary.json").write_text("old")
    program = (
        "import resource, ualink_sim.pod.run; from sim.conftest import make_results; from ualink.cli import main\n"
        "ualink_sim.pod.run.build_pod = lambda *_, **__: None\n"
        "def run_pod(model, job, **_):\n"
        "    job.capture.write_bytes(b'capture'); resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "    return make_results(transactions=4)\n"
        "ualink_sim.pod.run.run_pod = run_pod\n"
        "main(['sim', 'pod.toml', '--out', 'out'])\n"
    )
    path = os.pathsep.join(filter(None, sys.path))
    run = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert run.returncode == 2, run.stderr
    assert run.stderr.splitlines()[-1] == "ualink: out: cannot be written: File too large"
    assert "Traceback" not in run.stderr
    assert tree(work) == (["out", "out/summary.json", "pod.toml"] if earlier else ["pod.toml"])


def test_a_capture_that_cannot_be_written_is_told(work, monkeypatch):
    def run_pod(model, job, **_):
        raise OSError(0, "No space left on device", str(job.capture))

    monkeypatch.setattr(ualink_sim.pod.run, "run_pod", run_pod)
    result = sim("--out", "out")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "ualink: out: cannot be written: No space left on device"
    assert tree(work) == ["pod.toml"]


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=lambda x: str(x)
)
def test_signals_while_a_model_is_made_leave_nothing(work, monkeypatch, number, status):
    monkeypatch.setattr(ualink_sim.pod.run, "build_pod", lambda *_, **__: os.kill(os.getpid(), number))
    before = signal.getsignal(number)
    result = sim("--out", "out")
    assert result.exit_code == status
    assert "Traceback" not in result.stderr
    assert tree(work) == ["pod.toml"]
    assert signal.getsignal(number) == before


def test_a_hangup_that_is_ignored_ends_nothing(work, monkeypatch):
    """As under ``nohup``."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr(ualink_sim.pod.run, "build_pod", lambda *_, **__: os.kill(os.getpid(), signal.SIGHUP))
        assert sim("--out", "out").exit_code == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_any_other_failure_leaves_nothing_either(tmp_path):
    with pytest.raises(KeyError), output_folder(tmp_path / "out", FILES) as scratch:
        (scratch / "capture.pcapng").write_bytes(b"")
        raise KeyError
    assert tree(tmp_path) == []
    with (
        pytest.raises(OutputError, match="out: cannot be written: Not a dir"),
        output_folder(tmp_path / "out", FILES) as scratch,
    ):
        (scratch / "capture.pcapng").write_bytes(b"")
        (tmp_path / "out").write_text("came in between")
    assert tree(tmp_path) == ["out"]
