"""What stands in the place of ``Deskew`` where there is one lane, and beats are short."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCKS_PER_FLIT
from ualink.phy.pcs.interface import lane_word_layout, pcs_beat_signature

__all__ = ["OneLane"]


class OneLane(wiring.Component):
    """Gives on what the lane has from a marker on, without a register; what comes before it is lost. Aligned from the
    cycle after the first marker's beat until the lane loses its marker lock.

    Parameters
    ----------
    blocks_per_word : 1, 2, 4 or 8.
    depth : highest ``level``.

    Members
    -------
    lane, marker_lock, level, output, aligned, number, skew : as of ``Deskew`` with one lane.
    """

    def __init__(self, *, blocks_per_word: int, depth: int):
        self._blocks = blocks_per_word
        super().__init__(
            {
                "lane": In(stream.Signature(lane_word_layout(1, blocks_per_word))).array(1),
                "marker_lock": In(1),
                "level": In(range(depth + 1)).array(1),
                "output": Out(pcs_beat_signature(blocks_per_word, always_ready=True)),
                "aligned": Out(1),
                "number": Out(2).array(1),
                "skew": Out(range(depth * blocks_per_word + 1)).array(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lane, output = self.lane[0], self.output
        beats = BLOCKS_PER_FLIT // self._blocks
        beat = Signal(range(beats))
        m.d.comb += [
            lane.ready.eq(1),
            output.valid.eq(self.marker_lock & lane.valid & (self.aligned | lane.p.marker)),
            output.p.blocks.eq(lane.p.blocks),
            output.p.marker.eq(lane.p.marker),
            output.p.codeword.eq(lane.p.marker | (beat == 0)),
        ]
        with m.If(output.valid):
            m.d.sync += beat.eq(beat + 1)
            with m.If(lane.p.marker):
                m.d.sync += beat.eq(1)
            with m.Elif(beat == beats - 1):
                m.d.sync += beat.eq(0)
        with m.If(~self.marker_lock):
            m.d.sync += self.aligned.eq(0)
        with m.Elif(output.valid & ~self.aligned):
            m.d.sync += [self.aligned.eq(1), self.skew[0].eq(self.level[0] * self._blocks)]
        return m
