"""Several register blocks on one bus."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.csr.table import BusSignature
from ualink.lib.contract import contract

__all__ = ["RegisterWindows"]


class RegisterWindows(wiring.Component):
    """Windows of equal size, one per block, one after the other from address 0 on.

    Adds no cycle to an access. An access beyond the last window is an error. Where an access starts before the last is
    done, or its address changes meanwhile, answers of two blocks may come as one.

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
        contract(m, self._one_at_a_time, "an access starts when the one before is done")
        contract(m, self._stands_still, "address and write data stay until the access is done")
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

    def _one_at_a_time(self, m: Module) -> Value:
        """No access starts while another goes on that is not done in this cycle."""
        starts, under_way = self.bus.read | self.bus.write, Signal()
        m.d.sync += under_way.eq(starts | (under_way & ~self.bus.done))
        return ~(starts & under_way) | self.bus.done

    def _stands_still(self, m: Module) -> Value:
        """What an access is for is what it was in the cycle before, from its first cycle to the one before ``done``."""
        now, under_way = Cat(self.bus.address, self.bus.write_data), Signal()
        before = Signal.like(now)
        m.d.sync += [under_way.eq(self.bus.read | self.bus.write | (under_way & ~self.bus.done)), before.eq(now)]
        return ~under_way | self.bus.done | (now == before)
