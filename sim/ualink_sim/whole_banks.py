"""Parts of a switch core that are compiled once for all that are alike."""

from itertools import product
from typing import Any

from ualink.emit.blackbox import Blackbox
from ualink.emit.verilog import to_verilog
from ualink.switch.grid import Grid

__all__ = ["WholeBanks"]

FEW = 2
"""So many banks of each plane compile faster as parts of the core: each module takes a compiler of its own."""

CHANNELS = ("req", "rd_rsp", "wr_rsp")


class WholeBanks:
    """``stand_in`` of a ``SwitchCore`` laid out as ``grid``: an instance of the module of each bank and each merge, if
    there are many.

    Attributes
    ----------
    blocks : names of the Verilog modules: of banks one for each plane, number of ingress and number of egress ports, of
        merges one for each plane.
    """

    def __init__(self, grid: Grid):
        rows, columns = grid.rows, grid.columns
        names = []
        if len(rows) * len(columns) > FEW:
            sizes = sorted({(len(row), len(column)) for row, column in product(rows, columns)})
            names += [_bank(channel, *size) for channel in CHANNELS for size in sizes]
        if len(rows) > 1:
            names += [_merge(channel) for channel in CHANNELS]
        self.blocks = tuple(names)
        self._first: dict[tuple[Any, ...], Any] = {}

    def __call__(self, kind, *parameters):
        if not self.blocks:
            return kind(*parameters)
        if (kind, parameters) not in self._first:
            self._first[kind, parameters] = kind(*parameters)
        part = self._first[kind, parameters]
        return Blackbox(part, _name(part))

    def verilog(self) -> str:
        """The modules, once the core is elaborated."""
        return "\n".join(to_verilog(part, _name(part)) for part in self._first.values())


def _name(part) -> str:
    return _merge(part.channel) if hasattr(part, "rows") else _bank(part.channel, part.ingresses, part.egresses)


def _bank(channel: str, ingresses: int, egresses: int) -> str:
    return f"ualink_{channel}_bank_{ingresses}_{egresses}"


def _merge(channel: str) -> str:
    return f"ualink_{channel}_merge"
