"""Checks the CRC of incoming DL flits (UALink_200 §6.3.7)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.flit.crc import CRC_BITS, TO_ROOT, CrcAccumulator, accumulator_latency, crc_field_map
from ualink.dl.flit.format import FLIT_BEAT_LAYOUT

__all__ = ["CrcChecker"]

ALL_ONES = (1 << CRC_BITS) - 1


class CrcChecker(wiring.Component):
    """Recomputes the CRC of every DL flit with zeros in the CRC field and compares it with the received one.

    There is no constant residue to run into, because the CRC is sent in the reverse of Ethernet's order. Instead the
    received CRC is added to the register as the value that would have led to it, so that a match leaves one constant.

    Latency: ``done`` and ``good`` ``stages`` cycles after the last beat. One beat per cycle, flits back to back, gaps
    anywhere.

    Parameters
    ----------
    covers_zero_field : as of ``CrcGenerator`` (ruling A-05 (DL)).
    stages : registers between ``beat`` and ``done``, 1 to 4 (``accumulator_latency``); from 3 on ``good`` is one.

    Members
    -------
    beat : stream of ``FLIT_BEAT_LAYOUT``, always ready.
    done : pulse, one per beat with ``last``.
    good : valid with ``done``: all 32 bits agree.
    """

    def __init__(self, covers_zero_field: bool = True, stages: int = 2):
        self._accumulated = accumulator_latency(stages)
        self._field = crc_field_map(covers_zero_field).inverse()
        self._stages = stages
        super().__init__(
            {
                "beat": In(stream.Signature(FLIT_BEAT_LAYOUT, always_ready=True)),
                "done": Out(1),
                "good": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
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
        return m
