"""Several register blocks on one bus."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.csr.table import BusSignature

__all__ = ["RegisterWindows"]


class RegisterWindows(wiring.Component):
    """Windows of equal size, one per block, one after the other from address 0 on.

    Adds no cycle to an access. An access beyond the last window is an error.

    Parameters
    ----------
    address_bits : those of each window.
    windows : how many, 1 or more.

    Members
    -------
    bus : to the master.
    windows : to the blocks.
    """

    def __init__(self, address_bits: int, windows: int):
        check_integer("windows", windows, 1)
        self._address_bits = address_bits
        super().__init__(
            {
                "bus": In(BusSignature(address_bits + (windows - 1).bit_length())),
                "windows": Out(BusSignature(address_bits)).array(windows),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bus = self.bus
        chosen = bus.address[self._address_bits :]
        nowhere = Signal()
        done, error, read_data = nowhere, nowhere, 0
        for number, window in enumerate(self.windows):
            here = chosen == number
            m.d.comb += [
                window.address.eq(bus.address),
                window.write_data.eq(bus.write_data),
                window.read.eq(bus.read & here),
                window.write.eq(bus.write & here),
            ]
            # Blocks show 0 except in the cycle in which they are done.
            done, error, read_data = done | window.done, error | window.error, read_data | window.read_data
        m.d.sync += nowhere.eq((bus.read | bus.write) & (chosen >= len(self.windows)))
        m.d.comb += [bus.done.eq(done), bus.error.eq(error), bus.read_data.eq(read_data)]
        return m
