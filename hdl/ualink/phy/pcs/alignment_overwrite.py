"""Turn received markers into the first blocks of an AM flit (UALink_200 §7.2.4.6, §7.3.2)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import ALIGNMENT_BLOCK, BLOCKS_PER_BEAT
from ualink.phy.pcs.interface import PCS_BEAT_LAYOUT, check_framing, pcs_beat_signature
from ualink.phy.pcs.marker_span import HALF_BEAT, MarkerSpan

__all__ = ["AlignmentOverwrite"]


class AlignmentOverwrite(wiring.Component):
    """Replaces ``marker_blocks`` blocks from a beat with ``marker`` on by ``ALIGNMENT_BLOCK``, damaged or not.

    The rest of the flit stays as it was received (ruling R7-05). It stands before the descrambler, which these blocks
    bypass. Latency one cycle.

    Parameters
    ----------
    marker_blocks : 16, 20, 32 or 64.

    Members
    -------
    input, output : streams of ``PCS_BEAT_LAYOUT``, always ready.
    """

    def __init__(self, *, marker_blocks: int):
        check_framing(marker_blocks=marker_blocks)
        self._marker_blocks = marker_blocks
        super().__init__(
            {"input": In(pcs_beat_signature(always_ready=True)), "output": Out(pcs_beat_signature(always_ready=True))}
        )

    def elaborate(self, platform):
        m = Module()
        span = MarkerSpan(m, self.input.p.marker, self.input.valid, self._marker_blocks)
        # What is not reset otherwise, and has this init, can be set to it by its reset, without a gate for each bit.
        beat = Signal(PCS_BEAT_LAYOUT, init={"blocks": [ALIGNMENT_BLOCK] * BLOCKS_PER_BEAT}, reset_less=True)
        m.d.sync += self.output.valid.eq(self.input.valid)
        m.d.comb += self.output.p.eq(beat)
        with m.If(self.input.valid):
            m.d.sync += beat.eq(self.input.p)
            for n in range(BLOCKS_PER_BEAT):
                with m.If(span.low if n < HALF_BEAT else span.high):
                    m.d.sync += beat.blocks[n].eq(ALIGNMENT_BLOCK)
        return m
