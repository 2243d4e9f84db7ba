"""The end of a block of registers in a window that is larger than the block."""

from collections.abc import Iterable

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from ualink.csr.table import BusSignature
from ualink.csr.windows import RegisterWindows

__all__ = ["WindowEnd", "join_windows"]


class WindowEnd(wiring.Component):
    """Answers accesses behind the end of a block with an error, and hands the others to ``block``.

    Parameters
    ----------
    window_bits, block_bits : of the addresses of either, in words.

    Members
    -------
    bus : to the master.
    block : to the registers.
    """

    def __init__(self, window_bits: int, block_bits: int):
        self._block_bits = block_bits
        super().__init__({"bus": In(BusSignature(window_bits)), "block": Out(BusSignature(block_bits))})

    def elaborate(self, platform):
        m = Module()
        bus, block = self.bus, self.block
        behind = bus.address[self._block_bits :].any()
        nowhere = Signal()
        m.d.sync += nowhere.eq((bus.read | bus.write) & behind)
        m.d.comb += [
            block.address.eq(bus.address),
            block.write_data.eq(bus.write_data),
            block.read.eq(bus.read & ~behind),
            block.write.eq(bus.write & ~behind),
            bus.done.eq(block.done | nowhere),
            bus.error.eq(block.error | nowhere),
            bus.read_data.eq(block.read_data),
        ]
        return m


def join_windows(m: Module, windows: RegisterWindows, blocks: Iterable) -> None:
    """Join each of ``windows``, a submodule of ``m``, to the bus of its block, which ends where the block does."""
    for number, bus in enumerate(blocks):
        window = windows.windows[number]
        m.submodules[f"end_{number}"] = end = WindowEnd(len(window.address), len(bus.address))
        connect(m, window, end.bus)
        connect(m, end.block, bus)
