"""Which directions are open, and the rules of the handshake (UALink_200 §4.1, §4.3)."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink.upli.checker.watched import WatchedSignature

__all__ = ["ConnectionCheck"]


class ConnectionCheck(wiring.Component):
    """Follows the four control signals.

    Members
    -------
    seen : the interface, out of registers that are 0 in reset.
    outward, homeward : 1 bit, combinational: the Originator's, the Completer's direction is open in the cycle seen.
    broken : the rules that were broken in the cycle before that, out of registers.
    """

    def __init__(self):
        super().__init__(
            {
                "seen": In(WatchedSignature()),
                "outward": Out(1),
                "homeward": Out(1),
                "broken": Out(data.StructLayout({"reset_state": 1, "handshake_order": 1, "handshake_sticky": 1})),
            }
        )

    def elaborate(self, platform):
        m = Module()
        seen = self.seen
        now = Cat(seen.orig_clk_req, seen.comp_clk_ack, seen.comp_clk_req, seen.orig_clk_ack)
        before, counted = Signal(4), Signal(2)
        channels = [getattr(seen, name) for name in CHANNEL_LAYOUTS]
        quiet = ~Cat(now, *((c.vld, c.credit.vld, c.credit.init_done) for c in channels)).any()
        # Count 0: nothing has been seen since reset; 1: the first cycle is seen.
        with m.If(counted != 2):
            m.d.sync += counted.eq(counted + 1)
        m.d.comb += [
            self.outward.eq(seen.orig_clk_req & seen.comp_clk_ack),
            self.homeward.eq(seen.comp_clk_req & seen.orig_clk_ack),
        ]
        m.d.sync += [
            before.eq(now),
            self.broken.reset_state.eq((counted == 1) & ~quiet),
            self.broken.handshake_order.eq(
                (seen.comp_clk_ack & ~seen.orig_clk_req & ~before[0])
                | (seen.orig_clk_ack & ~seen.comp_clk_req & ~before[2])
            ),
            self.broken.handshake_sticky.eq((before & ~now).any()),
        ]
        return m
