"""Banks of register windows on one bus."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.checks import check_integer
from ualink.csr.stage import BusStage
from ualink.csr.table import BusSignature

__all__ = ["RegisterBanks"]


class RegisterBanks(wiring.Component):
    """Banks of windows of equal size, one after the other from address 0 on, each behind registers both ways.

    So banks may lie far apart: an access takes two cycles more than in its bank. An access behind the last bank is an
    error, in the next cycle.

    Parameters
    ----------
    address_bits : those of each window.
    sizes : windows of each bank, 1 or more.

    Members
    -------
    bus : to the master.
    bank_<n> : to the windows of bank n, from address 0 on.
    """

    def __init__(self, address_bits: int, sizes: tuple[int, ...]):
        for size in sizes:
            check_integer("sizes", size, 1)
        self._address_bits, self._sizes = address_bits, sizes
        members: dict[str, wiring.Member] = {
            "bus": In(BusSignature(address_bits + (sum(sizes) - 1).bit_length())),
        }
        for number, size in enumerate(sizes):
            members[f"bank_{number}"] = Out(BusSignature(address_bits + (size - 1).bit_length()))
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        bus = self.bus
        chosen = bus.address[self._address_bits :]
        nowhere = Signal()
        done, error, read_data = nowhere, nowhere, 0
        first = 0
        for number, size in enumerate(self._sizes):
            bank = getattr(self, f"bank_{number}")
            m.submodules[f"stage_{number}"] = stage = BusStage(len(bank.address))
            here = chosen < size if first == 0 else (chosen >= first) & (chosen < first + size)
            m.d.comb += [
                stage.bus.address.eq(Cat(bus.address[: self._address_bits], (chosen - first)[: len(chosen)])),
                stage.bus.write_data.eq(bus.write_data),
                stage.bus.read.eq(bus.read & here),
                stage.bus.write.eq(bus.write & here),
            ]
            connect(m, stage.far, flipped(bank))
            # Stages show 0 except in the cycle in which they are done.
            done, error, read_data = done | stage.bus.done, error | stage.bus.error, read_data | stage.bus.read_data
            first += size
        m.d.sync += nowhere.eq((bus.read | bus.write) & (chosen >= first))
        m.d.comb += [bus.done.eq(done), bus.error.eq(error), bus.read_data.eq(read_data)]
        return m
