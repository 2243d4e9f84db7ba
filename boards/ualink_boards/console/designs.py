"""The designs that the console knows by name: their registers, and their hardware for a simulated board."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ualink.csr_design import RegisterDesign

from .errors import BadInput

__all__ = ["DESIGNS", "Design", "find_design"]


@dataclass(frozen=True)
class Design:
    """A design.

    ``variants`` gives its windows for a clock in Hz: one for each way in which the package builds it (a design that
    differs from board to board has one for each). ``top`` makes a component with the members ``rx`` and ``tx`` for a
    clock in Hz and a baud rate, to be simulated; None where there is no hardware that can be simulated alone.
    """

    doc: str
    variants: Callable[[int], Iterable[RegisterDesign]]
    top: Callable[[int, int], Any] | None = None


def _demo_variants(clock_hz: int) -> Iterable[RegisterDesign]:
    from .demo import demo_registers

    yield demo_registers(clock_hz)


def _demo_top(clock_hz: int, baud: int) -> Any:
    from .demo import Demo

    return Demo(clock_hz, baud)


def _built_variants(name: str) -> Callable[[int], Iterable[RegisterDesign]]:
    """Of the design that ``ualink build`` knows by ``name``: the registers that it has on each board."""

    def variants(clock_hz: int) -> Iterable[RegisterDesign]:
        from ..boards import BOARDS, find_board
        from ..designs import make_design

        for board in BOARDS:
            yield replace(make_design(name, find_board(board)).registers, clock_hz=clock_hz)

    return variants


def _bert_top(clock_hz: int, baud: int) -> Any:
    from .looped import LoopedBert

    return LoopedBert(clock_hz, baud)


DESIGNS: dict[str, Design] = {
    "bert": Design("the lanes of a board alone: bit-error test", _built_variants("bert"), _bert_top),
    "demo": Design("registers, link states and error injection of a data link", _demo_variants, _demo_top),
    "link": Design("traffic engine, station and physical layer of one port", _built_variants("link")),
}
"""By name; the name is the one that a design's description window shows."""


def find_design(name: str) -> Design:
    """The design called ``name``."""
    if name not in DESIGNS:
        raise BadInput(f"no design is called {name!r}; there are {', '.join(sorted(DESIGNS))}")
    return DESIGNS[name]
