"""Checks the CRC of incoming DL flits (UALink_200 §6.3.7)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.crc import CRC_BITS, CrcAccumulator, crc_field_map
from ualink.dl.flit import FLIT_BEAT_LAYOUT

__all__ = ["CrcChecker"]

ALL_ONES = (1 << CRC_BITS) - 1


class CrcChecker(wiring.Component):
    """Recomputes the CRC of every DL flit with zeros in the CRC field and compares it with the received one.

    There is no constant residue to run into, because the CRC is sent in the reverse of Ethernet's order. Instead the
    received CRC is added to the register as the value that would have led to it, so that a match leaves one constant.

    Latency: ``done`` and ``good`` two cycles after the last beat. One beat per cycle, flits back to back, gaps
    anywhere.

    Parameters
    ----------
    covers_zero_field : as of ``CrcGenerator`` (ruling A-05 (DL)).

    Members
    -------
    beat : stream of ``FLIT_BEAT_LAYOUT``, always ready.
    done : pulse, one per beat with ``last``.
    good : valid with ``done``: all 32 bits agree.
    """

    def __init__(self, covers_zero_field: bool = True):
        self._field = crc_field_map(covers_zero_field).inverse()
        super().__init__(
            {
                "beat": In(stream.Signature(FLIT_BEAT_LAYOUT, always_ready=True)),
                "done": Out(1),
                "good": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.accumulator = accumulator = CrcAccumulator(self._field)

        ended = Signal()
        m.d.comb += [
            accumulator.enable.eq(1),
            accumulator.valid.eq(self.beat.valid),
            accumulator.data.eq(self.beat.p.data),
            accumulator.first.eq(self.beat.p.first),
            accumulator.last.eq(self.beat.p.last),
            self.good.eq(accumulator.register == self._field(ALL_ONES)),
        ]
        m.d.sync += [
            ended.eq(self.beat.valid & self.beat.p.last),
            self.done.eq(ended),
        ]

        return m
