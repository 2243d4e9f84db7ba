"""Turn received markers into the first blocks of an AM flit (UALink_200 §7.2.4.6, §7.3.2)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import ALIGNMENT_BLOCK, BLOCKS_PER_BEAT
from ualink.phy.pcs.interface import check_framing, pcs_beat_signature
from ualink.phy.pcs.marker_span import MarkerSpan, span_blocks

__all__ = ["AlignmentOverwrite"]


class AlignmentOverwrite(wiring.Component):
    """Replaces ``marker_blocks`` blocks from a beat with ``marker`` on by ``ALIGNMENT_BLOCK``, damaged or not.

    The rest of the flit stays as it was received (ruling R7-05). It stands before the descrambler, or behind it: these
    blocks bypass that one. Latency one cycle.

    Parameters
    ----------
    marker_blocks : 16, 20, 32 or 64.
    blocks_per_word : 1, 2, 4 or 8.

    Members
    -------
    input, output : streams of ``pcs_beat_layout``, always ready.
    """

    def __init__(self, *, marker_blocks: int, blocks_per_word: int = BLOCKS_PER_BEAT):
        check_framing(marker_blocks=marker_blocks, blocks_per_word=blocks_per_word)
        self._blocks = blocks_per_word
        self._marker_blocks = marker_blocks
        super().__init__(
            {
                "input": In(pcs_beat_signature(blocks_per_word, always_ready=True)),
                "output": Out(pcs_beat_signature(blocks_per_word, always_ready=True)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        span = MarkerSpan(m, self.input.p.marker, self.input.valid, self._marker_blocks, self._blocks)
        # What is not reset otherwise, and has this init, can be set to it by its reset, without a gate for each bit.
        beat = Signal.like(self.input.p, init={"blocks": [ALIGNMENT_BLOCK] * self._blocks}, reset_less=True)
        m.d.sync += self.output.valid.eq(self.input.valid)
        m.d.comb += self.output.p.eq(beat)
        with m.If(self.input.valid):
            m.d.sync += beat.eq(self.input.p)
            for n in range(self._blocks):
                with m.If(span.parts[n // span_blocks(self._blocks)]):
                    m.d.sync += beat.blocks[n].eq(ALIGNMENT_BLOCK)
        return m
