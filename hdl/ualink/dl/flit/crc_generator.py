"""Puts the CRC into outgoing DL flits (UALink_200 §6.3.7, §6.7.4)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.flit.crc import CRC_BITS, FROM_ROOT, CrcAccumulator, accumulator_latency, crc_field_map
from ualink.lib.gf2 import LinearMap
from ualink.phy.interface import TxKind

__all__ = ["CRC_GENERATOR_LAYOUT", "CrcGenerator"]

CRC_GENERATOR_LAYOUT = data.StructLayout({"data": 512, "first": 1, "last": 1, "kind": TxKind})
"""A beat of a DL flit with its headers in place; the bytes of the CRC field are ignored at the input. ``kind`` only
travels along."""


class CrcGenerator(wiring.Component):
    """Inserts the CRC into the last four bytes of every DL flit.

    Latency: ``stages`` cycles in which ``beats_out`` is ready, which must not wait for ``valid``. One beat per cycle,
    flits back to back. A cycle without input leaves a gap that moves along.

    Parameters
    ----------
    covers_zero_field : the CRC covers all 640 bytes with zeros in its own place, and not the first 636 alone
        (ruling A-05 (DL)).
    stages : registers between input and output, 1 to 4 (``accumulator_latency``); from 3 on the output is a register.

    Members
    -------
    beats_in, beats_out : streams of ``CRC_GENERATOR_LAYOUT``.
    invert : of the beat taken last, from the next cycle until another is taken: if it is the last of its flit, all 32
        CRC bits are inverted, so that the partner must reject the flit.
    flush : drop the beats inside; the next beat must have ``first`` set.
    """

    def __init__(self, covers_zero_field: bool = True, stages: int = 2):
        self._accumulated = accumulator_latency(stages)
        self._finish = crc_field_map(covers_zero_field) @ FROM_ROOT
        self._stages = stages
        super().__init__(
            {
                "beats_in": In(stream.Signature(CRC_GENERATOR_LAYOUT)),
                "invert": In(1),
                "beats_out": Out(stream.Signature(CRC_GENERATOR_LAYOUT)),
                "flush": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.accumulator = accumulator = CrcAccumulator(LinearMap.zero(CRC_BITS, CRC_BITS), self._accumulated)

        move = self.beats_out.ready
        m.d.comb += [
            self.beats_in.ready.eq(move),
            accumulator.enable.eq(move),
            accumulator.valid.eq(self.beats_in.valid),
            accumulator.data.eq(self.beats_in.p.data),
            accumulator.first.eq(self.beats_in.p.first),
            accumulator.last.eq(self.beats_in.p.last),
        ]

        valid, beat, invert = self.beats_in.valid, self.beats_in.p, self.invert
        for n in range(self._stages):
            if n == self._accumulated:
                beat = self._finished(m, beat, accumulator.root, invert)
            valid_after = Signal(name=f"valid_{n}")
            beat_after = Signal(CRC_GENERATOR_LAYOUT, name=f"beat_{n}", reset_less=True)
            with m.If(move):
                m.d.sync += [valid_after.eq(valid), beat_after.eq(beat)]
            if n:
                invert_after = Signal(name=f"invert_{n}", reset_less=True)
                with m.If(move):
                    m.d.sync += invert_after.eq(invert)
                invert = invert_after
            with m.If(self.flush):
                m.d.sync += valid_after.eq(0)
            valid, beat = valid_after, beat_after
        if self._stages == self._accumulated:
            beat = self._finished(m, beat, accumulator.root, invert)

        m.d.comb += [
            self.beats_out.valid.eq(valid),
            self.beats_out.p.data.eq(beat.data),
            self.beats_out.p.first.eq(beat.first),
            self.beats_out.p.last.eq(beat.last),
            self.beats_out.p.kind.eq(beat.kind),
        ]
        return m

    def _finished(self, m, beat, root, invert):
        """``beat`` with the CRC, if it is the last."""
        finished = Signal(CRC_GENERATOR_LAYOUT)
        m.d.comb += finished.eq(beat)
        with m.If(beat.last):
            m.d.comb += finished.data[-CRC_BITS:].eq(~self._finish.emit(m, root) ^ invert.replicate(CRC_BITS))
        return finished
