"""Keeps the partner of one link informed of the rate of the own TL clock (UALink_200 §6.4.2.2)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["RateAnnouncement"]

LOW_CYCLES = 4
"""Cycles for which ``announce`` is low at least, so that a port with every fourth cycle sees it fall."""


class RateAnnouncement(wiring.Component):
    """Asks for a TL Rate Notification until the partner has acknowledged one, again after every new link.

    An Ack does not say which Request it answers. Therefore no Request leaves while one before has no Ack; where the
    rate changes meanwhile, that Ack is waited for and does not count.

    Members
    -------
    active : there is a rate to tell.
    tell : the rate changes with the next cycle; the partner must be told anew.
    again : forget the Request without an Ack, and ask again when this falls.
    link_up : the partner can be told; one whose link went down has forgotten.
    announce : level; a Request leaves when it rises. It is low for four cycles before.
    answered : level; falls when the Request starts, rises with its Ack.
    told : the partner knows the rate, or there is none to tell.
    waiting : the partner must be told, its link is up, and the Ack has not come.
    """

    def __init__(self):
        super().__init__(
            {
                "active": In(1),
                "tell": In(1),
                "again": In(1),
                "link_up": In(1),
                "announce": Out(1),
                "answered": In(1),
                "told": Out(1),
                "waiting": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        asking = Signal()
        started = Signal()
        outdated = Signal()
        acknowledged = Signal()
        low = Signal(range(LOW_CYCLES))
        m.d.comb += [
            self.announce.eq(asking & self.link_up),
            self.told.eq((acknowledged & self.link_up) | ~self.active),
            self.waiting.eq(self.active & self.link_up & ~acknowledged),
        ]
        with m.If(self.announce):
            m.d.sync += low.eq(0)
        with m.Elif(low != LOW_CYCLES - 1):
            m.d.sync += low.eq(low + 1)
        with m.If(self.again | ~self.link_up):
            m.d.sync += [asking.eq(0), started.eq(0), outdated.eq(0)]
        with m.Elif(asking):
            # The Ack of the Request before may still show.
            with m.If(~self.answered):
                m.d.sync += started.eq(1)
            with m.If(started & self.answered):
                m.d.sync += [asking.eq(0), started.eq(0), outdated.eq(0), acknowledged.eq(~outdated)]
            with m.Elif(self.tell):
                m.d.sync += outdated.eq(1)
        with m.Elif(self.waiting & (low == LOW_CYCLES - 1)):
            m.d.sync += asking.eq(1)
        with m.If(self.tell | ~self.link_up):
            m.d.sync += acknowledged.eq(0)
        return m
