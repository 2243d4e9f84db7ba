"""Find the Start flits in what the reconciliation sublayer sends (UALink_200 §7.2.4.5, §7.3.2)."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCKS_PER_BEAT, BLOCKS_PER_FLIT, START_BLOCK
from ualink.phy.interface import blocks_layout
from ualink.phy.pcs.interface import pcs_beat_signature
from ualink.phy.stage import pass_on

__all__ = ["StartDetector"]


class StartDetector(wiring.Component):
    """Marks the beats with which Start flits begin, and groups 80 blocks per codeword from them on.

    A Start flit begins with eight blocks of type 0x78 whose seven other octets are 00: with a beat of eight of them,
    or, where a beat has fewer blocks, with a beat of none but them that does not follow on another one; the
    reconciliation sublayer sends such blocks by eights alone. ``codeword`` is set on that beat and where 80 blocks have
    passed since the last one, on none before the first Start flit; a Start flit anywhere begins a new group. Latency
    one cycle, with fewer than eight blocks a beat none; a beat per cycle.

    Parameters
    ----------
    blocks_per_word : 1, 2, 4 or 8.

    Members
    -------
    input : stream of ``blocks_layout``; ``port`` is dropped.
    output : stream of ``pcs_beat_layout``.
    """

    def __init__(self, blocks_per_word: int = BLOCKS_PER_BEAT):
        self._blocks = blocks_per_word
        super().__init__(
            {
                "input": In(stream.Signature(blocks_layout(blocks_per_word))),
                "output": Out(pcs_beat_signature(blocks_per_word)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beats = BLOCKS_PER_FLIT // self._blocks
        starts, start, last, synchronised = Signal(), Signal(), Signal(), Signal()
        beat = Signal(range(beats))
        blocks = self.input.p.blocks
        m.d.comb += [
            starts.eq(Cat(blocks[n] == START_BLOCK for n in range(self._blocks)).all()),
            last.eq(beat == beats - 1),
        ]
        domain, loads, step = pass_on(m, self._blocks, self.input, self.output)
        if self._blocks == BLOCKS_PER_BEAT:
            m.d.comb += start.eq(starts)
        else:
            started = Signal()
            m.d.comb += start.eq(starts & ~started)
            with m.If(step):
                m.d.sync += started.eq(starts)
        with m.If(loads):
            domain += [
                self.output.p.blocks.eq(blocks),
                self.output.p.marker.eq(start),
                self.output.p.codeword.eq(start | (synchronised & (beat == 0))),
            ]
        with m.If(step):
            m.d.sync += beat.eq(beat + 1)
            with m.If(start):
                m.d.sync += [synchronised.eq(1), beat.eq(1)]
            with m.Elif(last):
                m.d.sync += beat.eq(0)
        return m
