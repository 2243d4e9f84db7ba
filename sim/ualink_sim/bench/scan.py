"""A shift register around a component that has more ports than a device has pins."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Scan"]


class Scan(wiring.Component):
    """Every input of ``part`` comes from a register and every output goes to one, so that each path of ``part`` lies
    between registers and can be timed.

    Members
    -------
    shift_in : next bit of what the inputs get.
    capture : take the outputs of the cycle before; otherwise they move towards ``shift_out``.
    """

    def __init__(self, part: wiring.Component):
        self._part = part
        super().__init__({"shift_in": In(1), "capture": In(1), "shift_out": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.part = part = self._part
        inputs: list[Value] = []
        outputs: list[Value] = []
        for _, member, port in part.signature.flatten(part):
            value = Value.cast(port)
            if not isinstance(value, Const):
                (inputs if member.flow == wiring.In else outputs).append(value)
        given, taken = Cat(inputs), Cat(outputs)
        chain = Signal(len(given), reset_less=True)
        result = Signal(len(taken), reset_less=True)
        shifted = Signal(len(taken), reset_less=True)
        m.d.comb += given.eq(chain)
        m.d.sync += [chain.eq(Cat(self.shift_in, chain)), result.eq(taken), shifted.eq(shifted[1:])]
        with m.If(self.capture):
            m.d.sync += shifted.eq(result)
        m.d.comb += self.shift_out.eq(shifted[0])
        return m
