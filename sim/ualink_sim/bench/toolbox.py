"""Runs synthesis tools on a component, and remembers what came of it."""

import hashlib
import json
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..simulator import build_root
from .rows import Unavailable

__all__ = ["kept", "run_tool", "tool_there"]


def tool_there(package: str) -> bool:
    """Whether the command of PyPI package ``package`` is installed."""
    return Path(sysconfig.get_path("scripts"), package).exists()


def run_tool(package: str, arguments: list[str], folder: Path) -> str:
    """What the command of PyPI package ``package`` prints; Unavailable when it is not installed or fails."""
    command = Path(sysconfig.get_path("scripts"), package)
    if not tool_there(package):
        raise Unavailable(f"{package} is not installed; run: pip install {package}")
    run = subprocess.run([str(command), *arguments], cwd=folder, capture_output=True, text=True)
    if run.returncode:
        raise Unavailable(f"{package} failed: {' '.join(run.stderr.split())[-300:]}")
    return run.stdout


def kept(name: str, inputs: Mapping[str, str], packages: tuple[str, ...], measure: Callable[[Path], dict]) -> dict:
    """``measure(folder)`` with ``inputs`` as files in ``folder``, or what it gave for the same inputs and versions."""
    tools = [f"{package} {_version(package)}" for package in packages]
    key = hashlib.sha256("\0".join([name, *tools, *(f"{k}\0{v}" for k, v in sorted(inputs.items()))]).encode())
    place = build_root() / "bench" / f"{name}-{key.hexdigest()[:16]}.json"
    if place.exists():
        return json.loads(place.read_text())
    with tempfile.TemporaryDirectory(prefix="ualink-") as folder:
        for file, text in inputs.items():
            Path(folder, file).write_text(text)
        values = measure(Path(folder))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(values))
    return values


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
