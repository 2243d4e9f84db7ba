"""Designs that bitstreams are made of.

A design is a component that takes a ``Board``; it has ``frame`` (``FrameSignature``), ``registers`` (the
``RegisterDesign`` of its serial line), ``needs_lanes``, the fewest lanes with which it makes sense, and
``synthesis_options`` and ``place_options``, which Yosys and nextpnr get when they make it for an ECP5.
"""

from importlib import import_module

from amaranth.lib import wiring

from ualink.config import ConfigError

from ..board import Board

__all__ = ["DESIGNS", "make_design"]

DESIGNS = {"bert": "Bert", "data_link": "DataLinkTest", "link": "Link", "pair": "Pair"}
"""Class of each design; its module has the name of the design."""


def make_design(name: str, board: Board) -> wiring.Component:
    """The design called ``name`` for ``board``, with the clocks that it has there.

    ConfigError: there is none, or the board lacks what it needs.
    """
    if name not in DESIGNS:
        raise ConfigError(f"design {name!r} is not one of {', '.join(sorted(DESIGNS))}")
    design = getattr(import_module(f"{__name__}.{name}"), DESIGNS[name])
    if board.lanes < design.needs_lanes:
        raise ConfigError(f"design {name} needs {design.needs_lanes} lanes; {board.name} has {board.lanes}")
    return design(board.of_design(name))
