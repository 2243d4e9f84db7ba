"""What a TL receiver does about errors: the first one stops it, and firmware can read about them later."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .error import ReceiveError

__all__ = ["ReceiveErrors"]

COUNTER_MAX = 255


class ReceiveErrors(wiring.Component):
    """State and log of fatal errors, and counts of what is wrong but not fatal (UALink_200 §5.3, ruling D21).

    An error with a flit (``early``) stops the acceptance of flits, with that one; one found later with a field
    (``late``) holds what is behind that field too. Both last until the link goes down; the log lasts until the reset of
    the domain, and its counters stay at 255.

    Attributes
    ----------
    online : DL channel 0 is online; flush : it is not, or what came before is still being cleared away.
    early, late : combinational, the error of this cycle or ``NONE``. A late one belongs to an older flit.
    unknown_messages, half_poisoned, block_crossings, isolate : events of this cycle, one per bit; counted in the next.
    error_valid, error : level, the first error since ``online`` rose.
    halted : level: nothing may be forwarded that is not in the queues yet.
    last_error, error_count : log: the last of these errors, how many there were, one cycle later.
    unknown_message_count, half_poisoned_count, block_crossing_count, isolate_count : log: how many events there were.
    """

    def __init__(self):
        super().__init__(
            {
                "online": In(1),
                "flush": In(1),
                "early": In(ReceiveError),
                "late": In(ReceiveError),
                "unknown_messages": In(2),
                "half_poisoned": In(2),
                "block_crossings": In(4),
                "isolate": In(1),
                "error_valid": Out(1),
                "error": Out(ReceiveError),
                "halted": Out(1),
                "last_error": Out(ReceiveError),
                "error_count": Out(8),
                "unknown_message_count": Out(8),
                "half_poisoned_count": Out(8),
                "block_crossing_count": Out(8),
                "isolate_count": Out(8),
            }
        )

    def elaborate(self, platform):
        m = Module()
        found = Signal(ReceiveError)
        is_late = self.late != ReceiveError.NONE
        with m.If(is_late):
            m.d.comb += found.eq(self.late)
        with m.Else():
            m.d.comb += found.eq(self.early)

        fails = Signal()
        m.d.comb += fails.eq(self.online & ~self.error_valid & (found != ReceiveError.NONE))
        with m.If(~self.online):
            m.d.sync += [self.error_valid.eq(0), self.error.eq(ReceiveError.NONE)]
        with m.Elif(fails):
            m.d.sync += [self.error_valid.eq(1), self.error.eq(found), self.last_error.eq(found)]

        with m.If(self.flush):
            m.d.sync += self.halted.eq(0)
        with m.Elif(is_late):
            m.d.sync += self.halted.eq(1)

        for counter, events in (
            (self.error_count, fails),
            (self.unknown_message_count, self.unknown_messages),
            (self.half_poisoned_count, self.half_poisoned),
            (self.block_crossing_count, self.block_crossings),
            (self.isolate_count, self.isolate),
        ):
            seen = Signal(len(events))
            following = Signal(9)
            m.d.sync += seen.eq(events)
            m.d.comb += following.eq(counter + sum(seen[1:], start=seen[0]))
            with m.If(following[8]):
                m.d.sync += counter.eq(COUNTER_MAX)
            with m.Else():
                m.d.sync += counter.eq(following)
        return m
