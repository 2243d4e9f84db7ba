"""LEDs of a design with a link."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..board import LED_MEANINGS
from .board_phy import BoardPhy

__all__ = ["LinkLeds"]

_SHOWN_BITS = 24


class LinkLeds(wiring.Component):
    """*reference*, *signal* and *words* are lit when that is so on every lane, *locked* when the link is up; *traffic*
    and *error* for 2**24 cycles after each event, a third of a second at 50 MHz; *loopback* when a lane has one;
    *alive* blinks.

    Parameters
    ----------
    phy : what the lanes are seen of.

    Members
    -------
    online : 1 bit, the link is up.
    traffic : 1 bit, something was asked for in this cycle.
    error : 1 bit, something beside the flit slots that ``phy`` has lost was wrong in this cycle.
    leds : one of ``LED_MEANINGS`` each, from registers.
    """

    def __init__(self, phy: BoardPhy):
        self._phy = phy
        super().__init__({"online": In(1), "traffic": In(1), "error": In(1), "leds": Out(len(LED_MEANINGS))})

    def elaborate(self, platform):
        m = Module()
        phy = self._phy
        alive, traffic, error = (Signal(_SHOWN_BITS, name=name) for name in ("alive", "traffic_shown", "error_shown"))
        m.d.sync += alive.eq(alive + 1)
        for shown, event in ((traffic, self.traffic), (error, phy.bad | self.error)):
            m.d.sync += shown.eq(shown - shown.any())
            with m.If(event):
                m.d.sync += shown.eq(-1)
        meanings = {
            "alive": alive[-1],
            "reference": phy.reference,
            "signal": phy.signal,
            "words": phy.words,
            "locked": self.online,
            "traffic": traffic.any(),
            "error": error.any(),
            "loopback": phy.looped,
        }
        m.d.sync += [led.eq(meanings[meaning]) for led, meaning in zip(self.leds, LED_MEANINGS)]
        return m
