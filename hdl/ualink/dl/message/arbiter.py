"""Chooses which DL message goes next into an alternative sector (UALink_200 §6.4.1.2)."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import MESSAGE_DWORD_LAYOUT
from ualink.lib.contract import contract, stays_on_offer
from ualink.lib.round_robin import RoundRobinArbiter

__all__ = ["MessageArbiter"]


class MessageArbiter(wiring.Component):
    """Level 2: round robin over the winners of the classes Basic, Control and UART, message by message.

    A message that waits for nothing else is on offer one cycle after its class offers it. After the last dword of a
    message one cycle passes before the next is on offer: no segment goes empty, as segments take two cycles or more.
    A class has its dword taken in the cycle in which ``message`` is taken and not before.

    A class that waits sees at most one message of each other class go first, or the rest of one under way. A class
    that has started a message of several dwords must go on to its last one: the others wait as long as it takes.

    Members
    -------
    basic, control, uart : streams of ``MESSAGE_DWORD_LAYOUT``.
    uart_may_start : a UART message may start; one under way goes on in any case, or the partner would take what comes
        next for its payload. When it falls, a UART message of which nothing has been taken is no longer on offer.
    message : stream of 32-bit dwords, for the register in front of the packer.
    """

    def __init__(self):
        super().__init__(
            {
                "basic": In(stream.Signature(MESSAGE_DWORD_LAYOUT)),
                "control": In(stream.Signature(MESSAGE_DWORD_LAYOUT)),
                "uart": In(stream.Signature(MESSAGE_DWORD_LAYOUT)),
                "uart_may_start": In(1, init=1),
                "message": Out(stream.Signature(32)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.round_robin = round_robin = RoundRobinArbiter(3)
        classes = (self.basic, self.control, self.uart)

        contract(m, stays_on_offer(self.basic), "a Basic message on offer stays until it is taken")
        contract(m, stays_on_offer(self.control), "a Control message on offer stays until it is taken")
        chosen = Signal(len(classes))
        under_way = Signal()
        may_go = Signal(len(classes))
        more = Signal()
        may_take = Cat(Const(3, 2), self.uart_may_start | under_way)
        m.d.comb += [
            may_go.eq(Cat(source.valid for source in classes) & may_take),
            self.message.valid.eq((chosen & may_go).any()),
        ]
        for n, source in enumerate(classes):
            m.d.comb += source.ready.eq(chosen[n] & may_take[n] & self.message.ready)
            with m.If(chosen[n]):
                m.d.comb += [self.message.p.eq(source.p.dword), more.eq(source.p.more)]

        m.d.comb += round_robin.requests.eq(may_go)
        with m.If(self.message.valid & self.message.ready):
            m.d.sync += under_way.eq(more)
            with m.If(~more):
                m.d.sync += chosen.eq(0)
        with m.Elif(~self.message.valid & ~under_way):
            m.d.comb += round_robin.next.eq(1)
            m.d.sync += chosen.eq(round_robin.grant)
        return m
