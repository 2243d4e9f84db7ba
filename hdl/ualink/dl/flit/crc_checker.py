"""Checks the CRC of incoming DL flits (UALink_200 §6.3.7)."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice
from ualink.dl.flit.crc import CRC_BITS, TO_ROOT, CrcAccumulator, accumulator_latency, crc_field_map
from ualink.dl.flit.crc_steps import CYCLES_PER_BEAT, CrcSteps
from ualink.dl.flit.format import BEAT_BYTES, FLIT_BEAT_LAYOUT
from ualink.lib.contract import apart, contract

__all__ = ["CrcChecker"]

ALL_ONES = (1 << CRC_BITS) - 1


class CrcChecker(wiring.Component):
    """Recomputes the CRC of every DL flit with zeros in the CRC field and compares it with the received one.

    There is no constant residue to run into, because the CRC is sent in the reverse of Ethernet's order. Instead the
    received CRC is added to the register as the value that would have led to it, so that a match leaves one constant.

    Latency: ``done`` and ``good`` ``stages`` cycles after the last beat. One beat per cycle, flits back to back, gaps
    anywhere.

    With ``cycles_per_beat`` above 1 a beat goes into a shift register, of which the CRC takes a part a cycle; ``done``
    and ``good``, a register, come ``cycles_per_beat`` + 1 cycles after the last beat.

    Parameters
    ----------
    covers_zero_field : as of ``CrcGenerator`` (ruling A-05 (DL)).
    stages : registers between ``beat`` and ``done``, 1 to 4 (``accumulator_latency``); from 3 on ``good`` is one.
        They have no meaning with ``cycles_per_beat`` above 1.
    cycles_per_beat : from one beat to the next are so many cycles or more: 1, 2 or 4.

    Members
    -------
    beat : stream of ``FLIT_BEAT_LAYOUT``, always ready.
    done : pulse, one per beat with ``last``.
    good : valid with ``done``: all 32 bits agree.
    """

    def __init__(self, covers_zero_field: bool = True, stages: int = 2, cycles_per_beat: int = 1):
        check_choice("cycles_per_beat", cycles_per_beat, CYCLES_PER_BEAT)
        self._accumulated = accumulator_latency(stages)
        self._field = crc_field_map(covers_zero_field).inverse()
        self._stages = stages
        self._cycles_per_beat = cycles_per_beat
        super().__init__(
            {
                "beat": In(stream.Signature(FLIT_BEAT_LAYOUT, always_ready=True)),
                "done": Out(1),
                "good": Out(1),
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
        m.submodules.accumulator = accumulator = CrcAccumulator(self._field, self._accumulated)
        m.d.comb += [
            accumulator.enable.eq(1),
            accumulator.valid.eq(self.beat.valid),
            accumulator.data.eq(self.beat.p.data),
            accumulator.first.eq(self.beat.p.first),
            accumulator.last.eq(self.beat.p.last),
        ]

        good = accumulator.root == TO_ROOT(self._field(ALL_ONES))
        if self._stages == self._accumulated:
            m.d.comb += self.good.eq(good)
        else:
            m.d.sync += self.good.eq(good)

        ended = self.beat.valid & self.beat.p.last
        for n in range(self._stages - 1):
            ended_after = Signal(name=f"ended_{n}")
            m.d.sync += ended_after.eq(ended)
            ended = ended_after
        m.d.sync += self.done.eq(ended)

    def _in_steps(self, m):
        n = self._cycles_per_beat
        contract(m, apart(self.beat.valid, n), f"From one beat to the next are {n} cycles or more")
        m.submodules.steps = steps = CrcSteps(self._field, n)
        waiting = Signal(8 * BEAT_BYTES, reset_less=True)
        first, last = Signal(reset_less=True), Signal(reset_less=True)
        # One bit a part.
        step = Signal(n)
        m.d.comb += [
            steps.add.eq(step.any()),
            steps.part.eq(waiting[: len(steps.part)]),
            steps.first.eq(first & step[0]),
            steps.last.eq(last & step[-1]),
        ]
        m.d.sync += [
            step.eq(Cat(self.beat.valid, step[:-1])),
            waiting.eq(waiting >> len(steps.part)),
            self.done.eq(steps.last),
            self.good.eq(steps.remainder == self._field(ALL_ONES)),
        ]
        with m.If(self.beat.valid):
            m.d.sync += [waiting.eq(self.beat.p.data), first.eq(self.beat.p.first), last.eq(self.beat.p.last)]
