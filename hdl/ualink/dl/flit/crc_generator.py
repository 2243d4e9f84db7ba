"""Puts the CRC into outgoing DL flits (UALink_200 §6.3.7, §6.7.4)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice
from ualink.dl.flit.crc import CRC_BITS, FROM_ROOT, CrcAccumulator, accumulator_latency, crc_field_map
from ualink.dl.flit.crc_steps import CYCLES_PER_BEAT, CrcSteps
from ualink.lib.delay_line import DelayLine
from ualink.lib.gf2 import LinearMap
from ualink.phy.interface import TxKind

__all__ = ["CRC_GENERATOR_LAYOUT", "CrcGenerator"]

DATA_BITS = 512

CRC_GENERATOR_LAYOUT = data.StructLayout({"data": DATA_BITS, "first": 1, "last": 1, "kind": TxKind})
"""A beat of a DL flit with its headers in place; the bytes of the CRC field are ignored at the input. ``kind`` only
travels along."""


class CrcGenerator(wiring.Component):
    """Inserts the CRC into the last four bytes of every DL flit.

    Latency: ``stages`` cycles in which ``beats_out`` is ready, which must not wait for ``valid``. One beat per cycle,
    flits back to back. A cycle without input leaves a gap that moves along.

    With ``cycles_per_beat`` above 1 it has one beat in hand, which turns by a part of 512 / ``cycles_per_beat`` bits a
    cycle, for the CRC to pass over it, until it is whole again. It is offered ``cycles_per_beat`` - 1 cycles after it
    was taken, and ``beats_in.ready``, a register, is low until it is gone: so it keeps what the wire does not take, and
    a stall is heard a cycle late.

    Parameters
    ----------
    covers_zero_field : the CRC covers all 640 bytes with zeros in its own place, and not the first 636 alone
        (ruling A-05 (DL)).
    stages : registers between input and output, 1 to 4 (``accumulator_latency``); from 3 on the output is a register.
        It has no meaning with ``cycles_per_beat`` above 1.
    unhurried : what no CRC is put into passes two or three stages in a memory (``DelayLine``), and leaves out of it.
    cycles_per_beat : a beat comes and goes at most every so many cycles: 1, 2 or 4.

    Members
    -------
    beats_in, beats_out : streams of ``CRC_GENERATOR_LAYOUT``.
    invert : of the beat taken last, from the next cycle until another is taken: if it is the last of its flit, all 32
        CRC bits are inverted, so that the partner must reject the flit.
    flush : drop the beats inside; the next beat must have ``first`` set.
    """

    def __init__(
        self,
        covers_zero_field: bool = True,
        stages: int = 2,
        cycles_per_beat: int = 1,
        *,
        unhurried: bool = False,
    ):
        check_choice("cycles_per_beat", cycles_per_beat, CYCLES_PER_BEAT)
        self._accumulated = accumulator_latency(stages)
        self._field = crc_field_map(covers_zero_field)
        self._finish = self._field @ FROM_ROOT
        self._stages = stages
        self._waiting = slice(0, DATA_BITS - CRC_BITS) if unhurried and stages in (2, 3) else slice(0)
        self._cycles_per_beat = cycles_per_beat
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
        if self._cycles_per_beat == 1:
            self._at_once(m)
        else:
            self._in_steps(m)
        return m

    def _at_once(self, m):
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
                m.d.sync += [valid_after.eq(valid), *self._kept(beat_after, beat)]
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
        if self._waiting.stop:
            m.submodules.waiting = waiting = DelayLine(self._waiting.stop, self._stages)
            m.d.comb += [
                waiting.move.eq(move),
                waiting.value.eq(self.beats_in.p.data[self._waiting]),
                self.beats_out.p.data[self._waiting].eq(waiting.delayed),
            ]

    def _kept(self, register, beat):
        """``register`` takes what of ``beat`` is not ``waiting``."""
        others = [register[name].eq(beat[name]) for name, _ in CRC_GENERATOR_LAYOUT if name != "data"]
        return [*others, register.data[self._waiting.stop :].eq(beat.data[self._waiting.stop :])]

    def _finished(self, m, beat, root, invert):
        """``beat`` with the CRC, if it is the last."""
        finished = Signal(CRC_GENERATOR_LAYOUT)
        m.d.comb += finished.eq(beat)
        with m.If(beat.last):
            m.d.comb += finished.data[-CRC_BITS:].eq(~self._finish.emit(m, root) ^ invert.replicate(CRC_BITS))
        return finished

    def _in_steps(self, m):
        n = self._cycles_per_beat
        m.submodules.steps = steps = CrcSteps(LinearMap.zero(CRC_BITS, CRC_BITS), n)
        # The beat in hand, turned by the parts that the CRC has passed; one bit a step, the last of which offers it.
        beat = Signal(CRC_GENERATOR_LAYOUT, reset_less=True)
        step = Signal(n - 1)
        idle = Signal(init=1)
        taken, gone = Signal(), Signal()
        part_bits = len(steps.part)
        came = self.beats_in.p
        whole = beat.data.rotate_right(part_bits)
        m.d.comb += [
            self.beats_in.ready.eq(idle),
            taken.eq(idle & self.beats_in.valid),
            gone.eq(step[-1] & self.beats_out.ready),
            steps.add.eq(taken | Mux(step[-1], self.beats_out.ready, ~idle)),
            steps.part.eq(Mux(idle, came.data[:part_bits], beat.data[:part_bits])),
            steps.first.eq(idle & came.first),
            steps.last.eq(step[-1] & beat.last),
            self.beats_out.valid.eq(step[-1]),
            self.beats_out.p.eq(beat),
            self.beats_out.p.data.eq(whole),
        ]
        with m.If(beat.last):
            crc = ~self._field.emit(m, steps.remainder)
            m.d.comb += self.beats_out.p.data[-CRC_BITS:].eq(crc ^ self.invert.replicate(CRC_BITS))
        with m.If(idle):
            m.d.sync += [beat.eq(came), beat.data.eq(came.data.rotate_right(part_bits))]
        with m.Elif(~step[-1]):
            m.d.sync += beat.data.eq(whole)
        with m.If(taken):
            m.d.sync += [step.eq(1), idle.eq(0)]
        with m.Elif(gone):
            m.d.sync += [step.eq(0), idle.eq(1)]
        with m.Elif(~step[-1]):
            m.d.sync += step.eq(step << 1)
        with m.If(self.flush):
            m.d.sync += [step.eq(0), idle.eq(1)]
