"""The 64B/66B interface between two clocks (UALink_200 §7.3.4, §7.3.5)."""

from amaranth.hdl import Cat, DomainRenamer, Module
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.fifo import AsyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCKS_PER_BEAT
from ualink.phy.interface import BlocksSignature
from ualink.phy.pcs.rate_matcher import RateMatcher

__all__ = ["BlocksCrossing"]

_RECEIVE_BEATS = 16
_TRANSMIT_BEATS = 8


class BlocksCrossing(wiring.Component):
    """Brings beats from a reconciliation sublayer in domain "rs" to a PCS in domain "pcs", and matches rates on the way
    back.

    Receive: ``rs.rx`` has a beat in every cycle. Where the partner is faster than "rs", beats of Idle, or of ordered
    sets, are left out, where it is slower beats of Idle are put in (``RateMatcher``). Latency 9 cycles of "rs", more or
    less by five.

    Transmit: nothing is left out or put in, as the distance of alignment markers on the wire is that of the Start flits
    which the reconciliation sublayer sends (ruling on §7.3.2); the pace of the lanes comes through as ``rs.tx.ready``,
    by a FIFO of 8 beats. So "rs" must not be slower than the lanes that this PCS sends on. Latency four cycles of "pcs"
    while the FIFO is empty, and up to eight beats once it waits for the lanes.

    "pcs" may be up to twice as fast as "rs": without alignment it gives a Local Fault ordered set in every cycle, of
    which every other one is left out.

    Members
    -------
    rs : [rs] the reconciliation sublayer's side.
    pcs : [pcs] the PCS's side.
    errors : [pcs] 2 bit, sticky: ``full`` and ``empty`` of ``RateMatcher``.
    """

    def __init__(self):
        super().__init__({"rs": In(BlocksSignature()), "pcs": Out(BlocksSignature()), "errors": Out(2)})

    def elaborate(self, platform):
        m = Module()
        matcher = RateMatcher(blocks=BLOCKS_PER_BEAT, depth=_RECEIVE_BEATS)
        m.submodules.matcher = DomainRenamer({"write": "pcs", "read": "rs"})(matcher)
        empty = self.errors[1]
        m.submodules.empty = FFSynchronizer(matcher.empty, empty, o_domain="pcs")
        m.d.comb += [
            matcher.input.eq(Cat(self.pcs.rx.p.blocks)),
            matcher.input_valid.eq(self.pcs.rx.valid),
            Cat(self.rs.rx.p.blocks).eq(matcher.output),
            self.rs.rx.valid.eq(1),
            self.errors[0].eq(matcher.full),
        ]
        m.submodules.fifo = fifo = AsyncFIFOBuffered(
            width=len(matcher.input), depth=_TRANSMIT_BEATS + 1, w_domain="rs", r_domain="pcs", exact_depth=True
        )
        m.d.comb += [
            fifo.w_data.eq(Cat(self.rs.tx.p.blocks)),
            fifo.w_en.eq(self.rs.tx.valid),
            self.rs.tx.ready.eq(fifo.w_rdy),
            Cat(self.pcs.tx.p.blocks).eq(fifo.r_data),
            self.pcs.tx.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.pcs.tx.ready),
        ]
        return m
