"""Banks of a switch core that are compiled once for all that are alike."""

from typing import Any

from ualink.emit.blackbox import Blackbox
from ualink.emit.verilog import to_verilog
from ualink.switch.queue_depths import banks

__all__ = ["WholeBanks"]

FEW = 2
"""So many banks of each plane compile faster as parts of the core: each module takes a compiler of its own."""


class WholeBanks:
    """``stand_in`` of a ``SwitchCore`` of ``ports`` ports: an instance of the module of each bank, if there are many.

    Attributes
    ----------
    blocks : names of the Verilog modules: one for each plane and number of egress ports.
    """

    def __init__(self, ports: int):
        sizes = {len(bank) for bank in banks(ports)} if len(banks(ports)) > FEW else ()
        self.blocks = tuple(_module(channel, size) for channel in ("req", "rd_rsp", "wr_rsp") for size in sorted(sizes))
        self._first: dict[tuple[Any, ...], Any] = {}

    def __call__(self, kind, *parameters):
        if not self.blocks:
            return kind(*parameters)
        if (kind, parameters) not in self._first:
            self._first[kind, parameters] = kind(*parameters)
        bank = self._first[kind, parameters]
        return Blackbox(bank, _module(bank.channel, bank.egresses))

    def verilog(self) -> str:
        """The modules, once the core is elaborated."""
        return "\n".join(to_verilog(bank, _module(bank.channel, bank.egresses)) for bank in self._first.values())


def _module(channel: str, egresses: int) -> str:
    return f"ualink_{channel}_bank_{egresses}"
