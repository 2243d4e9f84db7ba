"""The files of the folder ``constraints``."""

from importlib.resources import files
from pathlib import Path

__all__ = ["constraints"]

_BESIDE = Path(__file__).parents[2] / "constraints"


def constraints(name: str) -> str:
    """Text of the file ``name``, beside the sources or installed with them."""
    beside = _BESIDE / name
    return beside.read_text() if beside.exists() else (files("ualink_constraints") / name).read_text()
