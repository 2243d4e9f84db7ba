"""The boards that a bitstream can be built for."""

from importlib import import_module

import amaranth_boards  # noqa: F401  (an extra: what lacks it is told at once)

from ualink.config import ConfigError

from .board import Board

__all__ = ["BOARDS", "find_board"]

BOARDS = ("ecp5_5g_evn", "ecpix5", "vcu118", "versa_ecp5_5g")
"""Their names; each has a module of its own."""


def find_board(name: str) -> Board:
    """The board called ``name``; ConfigError when there is none."""
    if name not in BOARDS:
        raise ConfigError(f"board {name!r} is not one of {', '.join(BOARDS)}")
    return import_module(f"ualink_boards.{name}").BOARD
