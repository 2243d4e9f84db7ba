"""The designs that the console knows by name: their registers, and their hardware for a simulated board."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from ualink.config import ConfigError
from ualink.csr.design import RegisterDesign

from .errors import BadInput
from .hardware import CYCLES_PER_BIT, Hardware, hardware_of

__all__ = ["DESIGNS", "Design", "find_design"]


@dataclass(frozen=True)
class Design:
    """A design.

    ``variants`` gives its windows for a clock in Hz: one for each way in which the package builds it (a design that
    differs from board to board has one for each). ``hardware`` gives what is simulated; None where there is no hardware
    that can be simulated alone.
    """

    doc: str
    variants: Callable[[int], Iterable[RegisterDesign]]
    hardware: Callable[[], Hardware] | None = None


def _demo_variants(clock_hz: int) -> Iterable[RegisterDesign]:
    from .demo import demo_registers

    yield demo_registers(clock_hz)


def _demo_hardware() -> Hardware:
    from .demo import Demo

    return hardware_of("demo", Demo)


def _built_variants(name: str) -> Callable[[int], Iterable[RegisterDesign]]:
    """Of the design that ``ualink build`` knows by ``name``: the registers that it has on each board that takes it."""

    def variants(clock_hz: int) -> Iterable[RegisterDesign]:
        from ..boards import BOARDS, find_board
        from ..designs import make_design

        for board in BOARDS:
            try:
                design = make_design(name, find_board(board))
            except ConfigError:
                continue
            yield replace(design.registers, clock_hz=clock_hz)

    return variants


def _bert_hardware() -> Hardware:
    from ..designs.bert import Bert
    from .looped import Looped

    return hardware_of("bert", partial(Looped, Bert))


def _data_link_hardware() -> Hardware:
    """With so many markers that the link comes up in a millisecond."""
    from ..designs.data_link import DataLinkTest
    from ..link_pair import PHY
    from .looped import Looped

    return hardware_of("data_link", partial(Looped, partial(DataLinkTest, phy=PHY)), minutes=2)


def _data_link_variants(clock_hz: int) -> Iterable[RegisterDesign]:
    yield from _built_variants("data_link")(clock_hz)
    from ..boards import find_board
    from ..designs.data_link import DataLinkTest
    from ..link_pair import PHY
    from .looped import BOARD

    yield replace(DataLinkTest(find_board(BOARD), PHY).registers, clock_hz=clock_hz)


def _link_variants(clock_hz: int) -> Iterable[RegisterDesign]:
    yield from _built_variants("link")(clock_hz)
    from ..link_pair import LinkPair

    yield replace(LinkPair().designs["a"].registers, clock_hz=clock_hz)


def _link_hardware() -> Hardware:
    """Board a of the two, with a loopback plug; board b stands still."""
    from ..link_pair import BIT_CYCLES, link_pair_model

    assert BIT_CYCLES == CYCLES_PER_BIT
    idle = {f"to_{end}__{name}": 0 for end in ("a", "b") for name in ("skew", "errors", "flip", "cut", "plug")}
    return Hardware(
        model=link_pair_model,
        minutes=4,
        clocks=("a_clk", "a_tx_clk"),
        reset="a_rst",
        rx="a_rx",
        tx="a_tx",
        inputs={**idle, "to_a__plug": 1, "b_clk": 0, "b_tx_clk": 0, "b_rst": 1, "b_rx": 1},
    )


DESIGNS: dict[str, Design] = {
    "bert": Design("the lanes of a board alone: bit-error test", _built_variants("bert"), _bert_hardware),
    "data_link": Design(
        "a data link alone with endless TL flits, and its physical layer", _data_link_variants, _data_link_hardware
    ),
    "demo": Design("registers, link states and error injection of a data link", _demo_variants, _demo_hardware),
    "link": Design("traffic engine, station and physical layer of one port", _link_variants, _link_hardware),
    "pair": Design("two links in one device that talk with each other", _built_variants("pair")),
}
"""By name; the name is the one that a design's description window shows."""


def find_design(name: str) -> Design:
    """The design called ``name``."""
    if name not in DESIGNS:
        raise BadInput(f"no design is called {name!r}; there are {', '.join(sorted(DESIGNS))}")
    return DESIGNS[name]
