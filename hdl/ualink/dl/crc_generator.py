"""Puts the CRC into outgoing DL flits (UALink_200 §6.3.7, §6.7.4)."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.crc import CRC_BITS, CrcAccumulator, crc_field_map
from ualink.lib.gf2 import LinearMap
from ualink.phy.interface import TxKind

__all__ = ["CRC_GENERATOR_INPUT_LAYOUT", "CRC_GENERATOR_OUTPUT_LAYOUT", "CrcGenerator"]

CRC_GENERATOR_INPUT_LAYOUT = data.StructLayout({"data": 512, "first": 1, "last": 1, "kind": TxKind, "invert": 1})
"""A beat of a DL flit with its headers in place; the bytes of the CRC field are ignored. ``invert``, valid with
``last``, inverts all 32 CRC bits so that the partner must reject the flit; ``kind`` only travels along."""

CRC_GENERATOR_OUTPUT_LAYOUT = data.StructLayout({"data": 512, "first": 1, "last": 1, "kind": TxKind})


class CrcGenerator(wiring.Component):
    """Inserts the CRC into the last four bytes of every DL flit.

    Latency: two cycles in which the output moves (``beats_out`` is ready or holds nothing). One beat per cycle, flits
    back to back. A cycle without input leaves a gap that moves along.

    Parameters
    ----------
    covers_zero_field : the CRC covers all 640 bytes with zeros in its own place, and not the first 636 alone
        (ruling A-05 (DL)).

    Members
    -------
    beats_in : stream of ``CRC_GENERATOR_INPUT_LAYOUT``.
    beats_out : stream of ``CRC_GENERATOR_OUTPUT_LAYOUT``.
    flush : drop the beats inside; the next beat must have ``first`` set.
    """

    def __init__(self, covers_zero_field: bool = True):
        self._finish = crc_field_map(covers_zero_field)
        super().__init__(
            {
                "beats_in": In(stream.Signature(CRC_GENERATOR_INPUT_LAYOUT)),
                "beats_out": Out(stream.Signature(CRC_GENERATOR_OUTPUT_LAYOUT)),
                "flush": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.accumulator = accumulator = CrcAccumulator(LinearMap.zero(CRC_BITS, CRC_BITS))

        move = Signal()
        stages = [
            (Signal(name=f"valid_{n}"), Signal(CRC_GENERATOR_INPUT_LAYOUT, name=f"beat_{n}", reset_less=True))
            for n in range(2)
        ]
        (valid_0, beat_0), (valid_1, beat_1) = stages
        m.d.comb += [
            move.eq(~valid_1 | self.beats_out.ready),
            self.beats_in.ready.eq(move),
            accumulator.enable.eq(move),
            accumulator.valid.eq(self.beats_in.valid),
            accumulator.data.eq(self.beats_in.p.data),
            accumulator.first.eq(self.beats_in.p.first),
            accumulator.last.eq(self.beats_in.p.last),
        ]
        with m.If(move):
            m.d.sync += [
                valid_0.eq(self.beats_in.valid),
                beat_0.eq(self.beats_in.p),
                valid_1.eq(valid_0),
                beat_1.eq(beat_0),
            ]
        with m.If(self.flush):
            m.d.sync += [valid_0.eq(0), valid_1.eq(0)]

        crc = ~self._finish.emit(accumulator.register) ^ beat_1.invert.replicate(CRC_BITS)
        m.d.comb += [
            self.beats_out.valid.eq(valid_1),
            self.beats_out.p.data.eq(beat_1.data),
            self.beats_out.p.first.eq(beat_1.first),
            self.beats_out.p.last.eq(beat_1.last),
            self.beats_out.p.kind.eq(beat_1.kind),
        ]
        with m.If(beat_1.last):
            m.d.comb += self.beats_out.p.data.eq(Cat(beat_1.data[:-CRC_BITS], crc))

        return m
