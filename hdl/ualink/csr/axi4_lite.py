"""AXI4-Lite as master of a register bus."""

from enum import IntEnum

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.csr.table import WORD_BITS, WORD_BYTES, BusSignature

__all__ = ["AXI4LiteRegisters", "AXI4LiteSignature", "Response"]

BYTE_BITS = (WORD_BYTES - 1).bit_length()
WHOLE_WORD = (1 << WORD_BYTES) - 1


class Response(IntEnum):
    """BRESP and RRESP."""

    OKAY = 0
    SLVERR = 2
    DECERR = 3


class AXI4LiteSignature(wiring.Signature):
    """AXI4-Lite with 32 bits of data, seen from its manager. A channel moves in cycles with its valid and ready.

    Parameters
    ----------
    address_bits : of a byte address.

    Members
    -------
    awaddr : byte address of a write; the lowest two bits are ignored.
    araddr : byte address of a read; the lowest two bits are ignored.
    awprot : protection of a write, ignored.
    arprot : protection of a read, ignored.
    awvalid, awready : the address of a write is valid; it is taken.
    wdata : what is written.
    wstrb : bytes that are written; a write of less than all four is refused.
    wvalid, wready : the data of a write are valid; they are taken.
    bresp : how the write ended: 0 OKAY, 2 SLVERR, 3 DECERR.
    bvalid, bready : the answer to a write is valid; it is taken.
    arvalid, arready : the address of a read is valid; it is taken.
    rdata : what was read, 0 with an error.
    rresp : how the read ended: 0 OKAY, 2 SLVERR, 3 DECERR.
    rvalid, rready : the answer to a read is valid; it is taken.
    """

    def __init__(self, address_bits: int):
        check_integer("address_bits", address_bits, BYTE_BITS + 1, 32)
        super().__init__(
            {
                **{name: Out(address_bits) for name in ("awaddr", "araddr")},
                **{name: Out(3) for name in ("awprot", "arprot")},
                **{name: Out(1) for name in ("awvalid", "wvalid", "bready", "arvalid", "rready")},
                **{name: In(1, init=1) for name in ("awready", "wready", "arready")},
                **{name: In(1) for name in ("bvalid", "rvalid")},
                "wdata": Out(WORD_BITS),
                "wstrb": Out(WORD_BYTES),
                "rdata": In(WORD_BITS),
                "bresp": In(2),
                "rresp": In(2),
            }
        )


class AXI4LiteRegisters(wiring.Component):
    """An AXI4-Lite subordinate that makes one access of a register bus for each read and write, one at a time.

    Address and data of a write may come in any order. Reads and writes that wait take turns; an answer that the manager
    does not take holds up those of its own kind only. SLVERR: the bus answered with an error, or the write does not
    have all four bytes; no access was made for the latter. DECERR: an address beyond the last word; no access was made.
    No output depends on an input of its cycle. An access is started two cycles after its last word was taken, and
    answered in the cycle after ``done``.

    Parameters
    ----------
    address_bits : those of the register bus.
    words : how many words there are, from address 0 on; all that ``address_bits`` reach without it.

    Members
    -------
    axi : to the manager, ``AXI4LiteSignature``.
    bus : to the registers, ``BusSignature``.
    """

    def __init__(self, address_bits: int, words: int | None = None):
        self._words = 1 << address_bits if words is None else words
        check_integer("words", self._words, 1, 1 << address_bits)
        super().__init__(
            {
                "axi": In(AXI4LiteSignature(address_bits + BYTE_BITS)),
                "bus": Out(BusSignature(address_bits)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        axi, bus = self.axi, self.bus
        write_at, read_at = Signal.like(bus.address), Signal.like(bus.address)
        word = Signal(WORD_BITS)
        whole, writing, going = Signal(), Signal(), Signal()
        # A channel is ready while nothing that it brought waits here.
        waits = {}
        for name, kept in (
            ("aw", ((write_at, axi.awaddr[BYTE_BITS:]),)),
            ("w", ((word, axi.wdata), (whole, axi.wstrb == WHOLE_WORD))),
            ("ar", ((read_at, axi.araddr[BYTE_BITS:]),)),
        ):
            waits[name] = Signal(name=f"{name}_waits")
            ready = getattr(axi, f"{name}ready")
            m.d.comb += ready.eq(~waits[name])
            with m.If(getattr(axi, f"{name}valid") & ready):
                m.d.sync += [waits[name].eq(1), *(register.eq(value) for register, value in kept)]
        for name in ("b", "r"):
            with m.If(getattr(axi, f"{name}ready")):
                m.d.sync += getattr(axi, f"{name}valid").eq(0)

        can_write = waits["aw"] & waits["w"] & ~axi.bvalid
        can_read = waits["ar"] & ~axi.rvalid
        beyond = bus.address >= self._words
        refused = beyond | (writing & ~whole)
        ended = Signal()
        m.d.comb += [
            bus.address.eq(Mux(writing, write_at, read_at)),
            # The data of a write may come while a read goes on, for which nothing may change.
            bus.write_data.eq(Mux(writing, word, 0)),
        ]
        with m.FSM():
            with m.State("WAIT"), m.If(can_write | can_read):
                # `writing` is still that of the access before.
                m.d.sync += writing.eq(can_write & ~(can_read & writing))
                m.next = "START"
            with m.State("START"):
                m.d.comb += [bus.write.eq(writing & ~refused), bus.read.eq(~writing & ~refused), ended.eq(refused)]
                m.next = "GOES"
                with m.If(refused):
                    m.next = "WAIT"
            with m.State("GOES"):
                m.d.comb += [going.eq(1), ended.eq(bus.done)]
                with m.If(bus.done):
                    m.next = "WAIT"
        response = Mux(going, Mux(bus.error, Response.SLVERR, Response.OKAY), Response.SLVERR)
        response = Mux(beyond, Response.DECERR, response)
        with m.If(ended & writing):
            m.d.sync += [axi.bvalid.eq(1), axi.bresp.eq(response), waits["aw"].eq(0), waits["w"].eq(0)]
        with m.Elif(ended):
            data = Mux(going & ~bus.error, bus.read_data, 0)
            m.d.sync += [axi.rvalid.eq(1), axi.rresp.eq(response), axi.rdata.eq(data), waits["ar"].eq(0)]
        return m
