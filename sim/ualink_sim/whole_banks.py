"""Banks of a switch core that are compiled once for all that are alike."""

from typing import Any

from ualink.emit.blackbox import Blackbox
from ualink.emit.verilog import to_verilog
from ualink.switch.queue_depths import banks

__all__ = ["WholeBanks", "bank_modules"]

CHANNELS = ("req", "rd_rsp", "wr_rsp")


def _module(channel: str, egresses: int) -> str:
    return f"ualink_{channel}_bank_{egresses}"


def bank_modules(ports: int) -> tuple[str, ...]:
    """The Verilog modules of the banks in a core of ``ports`` ports: one for each plane and number of egress ports."""
    sizes = sorted({len(bank) for bank in banks(ports)})
    return tuple(_module(channel, size) for channel in CHANNELS for size in sizes)


class WholeBanks:
    """``stand_in`` of a ``SwitchCore``: an instance of the module of each bank."""

    def __init__(self):
        self._first: dict[tuple[Any, ...], Any] = {}

    def __call__(self, kind, *parameters) -> Blackbox:
        if (kind, parameters) not in self._first:
            self._first[kind, parameters] = kind(*parameters)
        bank = self._first[kind, parameters]
        return Blackbox(bank, _module(bank.channel, bank.egresses))

    def verilog(self) -> str:
        """The modules, once the core is elaborated."""
        return "\n".join(to_verilog(bank, _module(bank.channel, bank.egresses)) for bank in self._first.values())
