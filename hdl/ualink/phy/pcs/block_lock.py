"""Find the blocks of a lane by their sync headers (IEEE 802.3 49.2.9, 82.2.12)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["BAD_HEADERS", "GOOD_HEADERS", "HEADER_WINDOW", "BlockLock"]

GOOD_HEADERS = 64
"""Good sync headers in a row that make a lock."""
HEADER_WINDOW, BAD_HEADERS = 1024, 65
"""The lock is lost with so many bad sync headers in a window; windows follow each other from the lock on."""


class BlockLock(wiring.Component):
    """Locks on sync headers, and slips where it finds bad ones. Domain "rx"; outputs one cycle after the header.

    Not locked, each bad header slips one bit; 64 good ones in a row lock. Locked, 65 bad ones among 1,024 lose the lock
    and slip one bit.

    Members
    -------
    enable : low: no lock, no slip.
    header, valid : sync header of a block, if there is one in this cycle.
    slip : one cycle; a header in that cycle is ignored.
    locked : 0 after reset.
    """

    def __init__(self):
        super().__init__(
            {"enable": In(1), "header": In(2), "valid": In(1), "slip": Out(1), "locked": Out(1)},
        )

    def elaborate(self, platform):
        m = Module()
        seen, bad = Signal(range(HEADER_WINDOW)), Signal(range(BAD_HEADERS))
        last_good, last_seen, last_bad = Signal(), Signal(), Signal()
        wrong = Signal()
        restart = Signal()
        m.d.comb += wrong.eq(self.header[0] == self.header[1])
        m.d.rx += self.slip.eq(0)
        with m.If(~self.enable):
            m.d.rx += self.locked.eq(0)
            m.d.comb += restart.eq(1)
        with m.Elif(self.valid & ~self.slip):
            # Each limit is recognised one header ahead.
            m.d.rx += [
                seen.eq(seen + 1),
                last_good.eq(seen == GOOD_HEADERS - 2),
                last_seen.eq(seen == HEADER_WINDOW - 2),
            ]
            with m.If(wrong):
                m.d.rx += [bad.eq(bad + 1), last_bad.eq(bad == BAD_HEADERS - 2)]
            with m.If(~self.locked):
                with m.If(wrong):
                    m.d.rx += self.slip.eq(1)
                    m.d.comb += restart.eq(1)
                with m.Elif(last_good):
                    m.d.rx += self.locked.eq(1)
                    m.d.comb += restart.eq(1)
            with m.Elif(wrong & last_bad):
                m.d.rx += [self.locked.eq(0), self.slip.eq(1)]
                m.d.comb += restart.eq(1)
            with m.Elif(last_seen):
                m.d.comb += restart.eq(1)
        with m.If(restart):
            m.d.rx += [seen.eq(0), bad.eq(0), last_good.eq(0), last_seen.eq(0), last_bad.eq(0)]
        return m
