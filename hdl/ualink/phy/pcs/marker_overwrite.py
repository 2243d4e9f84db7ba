"""Overwrite the first blocks of a Start flit with markers (UALink_200 §7.3.2)."""

from amaranth.hdl import Array, Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_BEAT
from ualink.phy.pcs.interface import check_framing, pcs_beat_signature
from ualink.phy.pcs.lane_marker import lane_marker
from ualink.phy.pcs.marker_span import MarkerSpan, span_blocks
from ualink.phy.stage import pass_on

__all__ = ["MarkerOverwrite"]


class MarkerOverwrite(wiring.Component):
    """Replaces the first ``marker_blocks`` blocks of each Start flit by board lane markers; nothing is inserted.

    Block k of the stream goes to lane k modulo ``lanes``; so block k of a Start flit becomes block k / ``lanes`` of the
    marker of lane k modulo ``lanes``. Latency one cycle, with fewer than eight blocks a beat none; a
    beat per cycle. A PCS with the alignment markers of IEEE
    802.3 has another component with these members here.

    Parameters
    ----------
    lanes : 1, 2 or 4.
    marker_blocks : 16, 20, 32 or 64.
    blocks_per_word : 1, 2, 4 or 8, a multiple of ``lanes``.

    Members
    -------
    input, output : streams of ``pcs_beat_layout``.
    """

    def __init__(self, *, lanes: int, marker_blocks: int, blocks_per_word: int = BLOCKS_PER_BEAT):
        check_framing(lanes=lanes, marker_blocks=marker_blocks, blocks_per_word=blocks_per_word)
        self._blocks = blocks_per_word
        self._lanes, self._marker_blocks = lanes, marker_blocks
        super().__init__(
            {"input": In(pcs_beat_signature(blocks_per_word)), "output": Out(pcs_beat_signature(blocks_per_word))}
        )

    def elaborate(self, platform):
        m = Module()
        domain, loads, step = pass_on(m, self._blocks, self.input, self.output)
        span = MarkerSpan(m, self.input.p.marker, step, self._marker_blocks, self._blocks)
        beats = -(-self._marker_blocks // self._blocks)
        # Of eight blocks a beat, the last one of 20 has a marker in its first half alone: an index past the end is not
        # sent.
        markers = [
            [
                lane_marker(
                    n % self._lanes,
                    self._lanes,
                    min(self._blocks * beat + n, self._marker_blocks - 1) // self._lanes,
                )
                for beat in range(beats)
            ]
            for n in range(self._blocks)
        ]
        # What is not reset otherwise, and has this init, can be set to it by its reset, without a gate for each bit.
        beat = Signal.like(self.input.p, init={"blocks": [first for first, *_ in markers]}, reset_less=True)
        m.d.comb += self.output.p.eq(beat)
        with m.If(loads):
            domain += beat.eq(self.input.p)
            for n, of_beat in enumerate(markers):
                with m.If(span.parts[n // span_blocks(self._blocks)]):
                    domain += beat.blocks[n].eq(_of_beat(of_beat, span.beat))
        return m


def _of_beat(markers: list[int], index):
    """``markers[index]``, with constants for the bits in which all of them agree."""
    return Cat(
        bits[0] if len({bit.value for bit in bits}) == 1 else Array(bits)[index]
        for bits in ([Const(marker >> n & 1, 1) for marker in markers] for n in range(BLOCK_BITS))
    )
