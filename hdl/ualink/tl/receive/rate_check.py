"""Receive side of the source rate limit: does the partner send more fields of a kind than it may?"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError

__all__ = ["RateCheck"]


class RateCheck(wiring.Component):
    """The account of a catch buffer of ``limit`` that retires one field per flit (UALink_200 §5.7).

    The real one retires one in every cycle, so that a sender within the limit never overruns it.

    Attributes
    ----------
    flit : a flit is checked; ``fields`` of this kind are in it, 0 to ``limit``.
    accept : the flit is accepted; may depend on ``overrun``.
    restart : the link restarts: nothing is outstanding.
    overrun : combinational: the flit has more fields than the rate limit allows.
    """

    def __init__(self, limit: int):
        if limit < 1:
            raise ConfigError(f"rate check of {limit!r} fields; the limit must be one or more")
        self.limit = limit
        count = range(limit + 1)
        super().__init__(
            {"flit": In(1), "fields": In(count), "accept": In(1), "restart": In(1), "overrun": Out(1)},
        )

    def elaborate(self, platform):
        m = Module()
        # How many fields the next flit may have: as many as the catch buffer has free when it has retired one.
        room = Signal(range(self.limit + 1), init=self.limit)
        m.d.comb += self.overrun.eq(self.flit & (self.fields > room))
        with m.If(self.restart):
            m.d.sync += room.eq(self.limit)
        with m.Elif(self.accept):
            idle = (room == self.limit) & (self.fields == 0)
            m.d.sync += room.eq(Mux(idle, self.limit, room - self.fields + 1))
        return m
