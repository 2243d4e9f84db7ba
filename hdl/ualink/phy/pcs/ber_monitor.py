"""The bit error rate monitor of the PCS (IEEE 802.3 82.2.19.3, Figure 82-13)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, is_integer
from ualink.phy.blocks import BLOCKS_PER_BEAT

__all__ = ["BER_LIMIT", "BER_WINDOW_SECONDS", "BitErrorRateMonitor"]

BER_LIMIT = 97
"""Bad sync headers in a window that make a high bit error rate."""
BER_WINDOW_SECONDS = 500e-6
"""Length of a window; in blocks it depends on the line rate."""


class BitErrorRateMonitor(wiring.Component):
    """Counts bad sync headers in windows of ``window`` blocks.

    ``hi_ber`` rises one cycle after the beat with the 97th bad one of a window, and falls with the end of a window that
    has fewer. UALink_200 does not name this monitor: it is to be switched on.

    Parameters
    ----------
    window : blocks, a multiple of 8: 500 us of the port's rate.
    blocks_per_word : 1, 2, 4 or 8.

    Members
    -------
    enable : low: ``hi_ber`` low, the window begins anew.
    bad : a bit per block of this beat: its sync header is 00 or 11.
    valid : there is a beat.
    hi_ber : 0 after reset.
    """

    def __init__(self, *, window: int, blocks_per_word: int = BLOCKS_PER_BEAT):
        if not is_integer(window, 128) or window % BLOCKS_PER_BEAT:
            raise ConfigError(f"window is {window!r}; it must be a multiple of 8 blocks, 128 or more")
        self._blocks, self._beats = blocks_per_word, window // blocks_per_word
        super().__init__({"enable": In(1), "bad": In(blocks_per_word), "valid": In(1), "hi_ber": Out(1)})

    def elaborate(self, platform):
        m = Module()
        beat = Signal(range(self._beats))
        count = Signal(range(BER_LIMIT + 1))
        total = Signal(range(BER_LIMIT + self._blocks + 1))
        reached, last = Signal(), Signal()
        m.d.comb += [
            total.eq(count + sum(self.bad)),
            reached.eq(total >= BER_LIMIT),
            last.eq(beat == self._beats - 1),
        ]
        with m.If(~self.enable):
            m.d.sync += [self.hi_ber.eq(0), beat.eq(0), count.eq(0)]
        with m.Elif(self.valid):
            m.d.sync += [beat.eq(beat + 1), count.eq(total)]
            with m.If(reached):
                m.d.sync += [count.eq(BER_LIMIT), self.hi_ber.eq(1)]
            with m.If(last):
                m.d.sync += [beat.eq(0), count.eq(0), self.hi_ber.eq(reached)]
        return m
