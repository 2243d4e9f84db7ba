"""What the transaction layer of one port knows of its session, out of registers."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Session"]


class Session(wiring.Component):
    """Tells the transmitter, the receiver and the gate what ``DropMode`` decides, one cycle later and all in the same
    cycle: whole directions are reset by it, so it comes from registers that nothing stands behind.

    Latency 1 cycle. The beats of the cycle of an event still belong to what was before it.

    Attributes
    ----------
    link_up, drop : ``DropMode.up`` and ``DropMode.dropping``.
    up : level, the session is on; reset 0.
    restart : level, it is not, from a register that thousands of others are reset by and nothing else; reset 1.
    dropping : level, beats and flits are dropped; reset 0.
    """

    def __init__(self):
        super().__init__(
            {
                "link_up": In(1),
                "drop": In(1),
                "up": Out(1),
                "restart": Out(1, init=1),
                "dropping": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.d.sync += [self.up.eq(self.link_up), self.restart.eq(~self.link_up), self.dropping.eq(self.drop)]
        return m
