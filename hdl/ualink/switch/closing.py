"""What an ingress does after a beat that it cannot trust."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["QUIET", "Closing"]

QUIET = 32
"""Cycles without a beat after which nothing is left of a transfer: four beats of one port of four take 13 on UPLI."""


class Closing(wiring.Component):
    """Keeps an ingress closed from a Switch Core Control Error until Drop Mode of its agent ends (UALink_200 §3.1.4).

    Who leads a transfer and whose code is wrong cannot say how many beats are its own. So what follows belongs to
    nobody knows whom, and all is dropped until the agent before the ingress, which ``upset`` puts into Drop Mode, has
    given away whatever it holds: then transfers begin anew. An agent that is taken out of Drop Mode earlier, before
    ``QUIET`` cycles without a beat, goes into it again.

    Members
    -------
    close : 1 bit: the first beat of a transfer was wrong, and has been dropped.
    dropping : 1 bit: the agent is in Drop Mode.
    waits : 1 bit: a beat is here or waits before the ingress.
    closed : 1 bit, a register, reset value 0: from the cycle after ``close`` on every beat is taken and dropped.
    upset : 1 bit, a register, reset value 0: high from ``close`` on until ``dropping``.
    """

    def __init__(self):
        super().__init__(
            {
                "close": In(1),
                "dropping": In(1),
                "waits": In(1),
                "closed": Out(1),
                "upset": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        quiet = Signal(range(QUIET))
        rested = Signal()
        stays = Signal()
        m.d.comb += stays.eq(self.close | (self.closed & ~(rested & ~self.dropping & ~self.waits)))
        m.d.sync += [
            rested.eq(quiet == QUIET - 1),
            self.closed.eq(stays),
            self.upset.eq(stays & ~self.dropping),
        ]
        with m.If(~self.dropping | self.waits | self.close):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != QUIET - 1):
            m.d.sync += quiet.eq(quiet + 1)
        return m
