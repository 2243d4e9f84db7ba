"""Find the Start flits in what the reconciliation sublayer sends (UALink_200 §7.2.4.5, §7.3.2)."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCKS_PER_BEAT, BLOCKS_PER_FLIT, START_BLOCK
from ualink.phy.interface import BLOCKS_LAYOUT
from ualink.phy.pcs.interface import pcs_beat_signature

__all__ = ["StartDetector"]

_BEATS = BLOCKS_PER_FLIT // BLOCKS_PER_BEAT


class StartDetector(wiring.Component):
    """Marks the beats with which Start flits begin, and groups 80 blocks per codeword from them on.

    A Start flit begins with a beat of eight blocks of type 0x78 whose seven other octets are 00. ``codeword`` is set on
    that beat and on every tenth one after it, on none before the first Start flit; a Start flit anywhere begins a new
    group. Latency one cycle, a beat per cycle.

    Members
    -------
    input : stream of ``BLOCKS_LAYOUT``; ``port`` is dropped.
    output : stream of ``PCS_BEAT_LAYOUT``.
    """

    def __init__(self):
        super().__init__({"input": In(stream.Signature(BLOCKS_LAYOUT)), "output": Out(pcs_beat_signature())})

    def elaborate(self, platform):
        m = Module()
        start, last, synchronised = Signal(), Signal(), Signal()
        beat = Signal(range(_BEATS))
        blocks = self.input.p.blocks
        m.d.comb += [
            start.eq(Cat(blocks[n] == START_BLOCK for n in range(BLOCKS_PER_BEAT)).all()),
            last.eq(beat == _BEATS - 1),
            self.input.ready.eq(~self.output.valid | self.output.ready),
        ]
        with m.If(self.input.ready):
            m.d.sync += self.output.valid.eq(self.input.valid)
        with m.If(self.input.ready & self.input.valid):
            m.d.sync += [
                self.output.p.blocks.eq(blocks),
                self.output.p.marker.eq(start),
                self.output.p.codeword.eq(start | (synchronised & (beat == 0))),
                beat.eq(beat + 1),
            ]
            with m.If(start):
                m.d.sync += [synchronised.eq(1), beat.eq(1)]
            with m.Elif(last):
                m.d.sync += beat.eq(0)
        return m
