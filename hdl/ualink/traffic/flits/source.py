"""Makes endless TL flits."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import tl_flit_signature
from ualink.lib.parity import byte_parity, even_parity

from .content import NUMBER_BITS, flit_content

__all__ = ["PACE_BITS", "FlitSource"]

PACE_BITS = 16


class FlitSource(wiring.Component):
    """Offers the flits 0, 1, 2, … of ``flit_content``, from 0 again after each time that the link was down.

    A flit that is offered stays until it is taken or the link goes down. The next one is offered one cycle after it was
    taken at the earliest.

    Members
    -------
    online : 1 bit, the link takes flits. Low: nothing is offered, and flit 0 is the next.
    enable : 1 bit, new flits are offered.
    pace : 16 bits: of 65,536 cycles in which a flit could be offered for the first time, in ``pace`` + 1 one is.
    flit : the TL flits, with good parity, valid from a register.
    taken : 1 bit, a flit is taken in this cycle.
    """

    def __init__(self):
        super().__init__(
            {
                "online": In(1),
                "enable": In(1),
                "pace": In(PACE_BITS),
                "flit": Out(tl_flit_signature()),
                "taken": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        number = Signal(NUMBER_BITS)
        phase = Signal(PACE_BITS)
        due = Signal()
        data, message = flit_content(number)
        m.d.comb += [
            self.taken.eq(self.flit.valid & self.flit.ready),
            self.flit.p.data.eq(data),
            self.flit.p.message.eq(message),
            self.flit.p.parity.eq(byte_parity(data)),
            self.flit.p.control_parity.eq(even_parity(message)),
        ]
        with m.If(~self.online):
            m.d.sync += [number.eq(0), self.flit.valid.eq(0)]
        with m.Else():
            m.d.sync += number.eq(number + self.taken)
            with m.If(self.taken | ~self.flit.valid):
                following = Cat(phase, due)
                m.d.sync += [following.eq(phase + self.pace + 1), self.flit.valid.eq(self.enable & due)]
        return m
