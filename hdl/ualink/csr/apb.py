"""APB4 as master of a register bus."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.csr.axi4_lite import BYTE_BITS, WHOLE_WORD
from ualink.csr.table import WORD_BITS, WORD_BYTES, BusSignature

__all__ = ["APBRegisters", "APBSignature"]


class APBSignature(wiring.Signature):
    """APB4 with 32 bits of data, seen from its requester.

    Parameters
    ----------
    address_bits : of a byte address.

    Members
    -------
    paddr : byte address; the lowest two bits are ignored.
    pprot : protection; ignored.
    psel, penable : a transfer goes on; it is in its access phase.
    pwrite : the transfer is a write.
    pwdata : what is written.
    pstrb : bytes that are written; a write of less than all four is refused.
    pready : the transfer ends in this cycle.
    prdata : what was read.
    pslverr : the transfer did nothing.
    """

    def __init__(self, address_bits: int):
        check_integer("address_bits", address_bits, BYTE_BITS + 1, 32)
        super().__init__(
            {
                "paddr": Out(address_bits),
                "pprot": Out(3),
                **{name: Out(1) for name in ("psel", "penable", "pwrite")},
                "pwdata": Out(WORD_BITS),
                "pstrb": Out(WORD_BYTES),
                "pready": In(1),
                "prdata": In(WORD_BITS),
                "pslverr": In(1),
            }
        )


class APBRegisters(wiring.Component):
    """An APB4 completer that makes one access of a register bus for each transfer.

    The access starts in the setup phase; a register that answers in one cycle costs no wait state. PSLVERR: the bus
    answered with an error, or a write does not have all four bytes; no access was made for the latter.

    Parameters
    ----------
    address_bits : those of the register bus.

    Members
    -------
    apb : to the requester, ``APBSignature``.
    bus : to the registers, ``BusSignature``.
    """

    def __init__(self, address_bits: int):
        super().__init__(
            {
                "apb": In(APBSignature(address_bits + BYTE_BITS)),
                "bus": Out(BusSignature(address_bits)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        apb, bus = self.apb, self.bus
        setup, refused = Signal(), Signal()
        m.d.comb += [
            setup.eq(apb.psel & ~apb.penable),
            bus.address.eq(apb.paddr[BYTE_BITS:]),
            bus.write_data.eq(apb.pwdata),
            bus.write.eq(setup & apb.pwrite & (apb.pstrb == WHOLE_WORD)),
            bus.read.eq(setup & ~apb.pwrite),
            apb.pready.eq(bus.done | refused),
            apb.prdata.eq(bus.read_data),
            apb.pslverr.eq(bus.error | refused),
        ]
        m.d.sync += refused.eq(setup & ~(bus.read | bus.write))
        return m
