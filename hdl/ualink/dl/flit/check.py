"""Checks received flit slots and takes out the flit header (UALink_200 §6.3.7, §6.6.6.2)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.flit.crc_checker import CrcChecker
from ualink.dl.flit.format import BEAT_BYTES, FLIT_HEADER_OFFSET
from ualink.phy.interface import RX_BEAT_LAYOUT, SlotStatus

__all__ = ["FlitCheck"]

HEADER_BIT = 8 * (FLIT_HEADER_OFFSET % BEAT_BYTES)
HEADER_BITS = 24
HEADER_AHEAD = 2
"""Cycles by which a header comes before the verdict."""


class FlitCheck(wiring.Component):
    """Says of every received slot what it was, ``stages`` cycles after its last beat, but two at least; with
    ``cycles_per_beat`` above 1 so many cycles after it and one.

    The flit header comes two cycles ahead of the verdict: what it asks for can be worked out meanwhile.

    A slot that the RS gave up counts like one with bad CRC (ruling A-06 (DL)).

    Parameters
    ----------
    crc_covers_zero_field, stages, cycles_per_beat : as of ``CrcChecker``.

    Members
    -------
    rx : beats from the RS, watched only.
    ended : pulse, one per slot.
    status : valid with ``ended``: GOOD with FEC and CRC good, else BAD, or CONTROL.
    lost : valid with ``ended``: the RS gave the slot up; ``status`` is BAD.
    header : flit header of a slot, two cycles before its ``ended``; without meaning unless ``status`` is GOOD then.
    """

    def __init__(self, crc_covers_zero_field: bool = True, stages: int = 2, cycles_per_beat: int = 1):
        self.crc = CrcChecker(crc_covers_zero_field, stages, cycles_per_beat)
        self._stages = stages
        self._cycles_per_beat = cycles_per_beat
        super().__init__(
            {
                "rx": In(stream.Signature(RX_BEAT_LAYOUT, always_ready=True)),
                "ended": Out(1),
                "status": Out(SlotStatus),
                "lost": Out(1),
                "header": Out(HEADER_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = self.crc
        m.d.comb += [
            crc.beat.valid.eq(self.rx.valid),
            crc.beat.p.data.eq(self.rx.p.data),
            crc.beat.p.first.eq(self.rx.p.first),
            crc.beat.p.last.eq(self.rx.p.last),
        ]

        status, header = self.rx.p.status, self.rx.p.data[HEADER_BIT : HEADER_BIT + HEADER_BITS]
        if self._cycles_per_beat > 1:
            self._keep(m, status, header)
            return m
        for n in range(self._stages):
            status_after = Signal(SlotStatus, name=f"status_{n}", reset_less=True)
            m.d.sync += status_after.eq(status)
            status = status_after
        for n in range(self._stages - HEADER_AHEAD):
            header_after = Signal(HEADER_BITS, name=f"header_{n}", reset_less=True)
            m.d.sync += header_after.eq(header)
            header = header_after
        # A verdict that comes too early for its header waits.
        domain = "sync" if self._stages < HEADER_AHEAD else "comb"
        m.d.comb += self.header.eq(header)
        m.d[domain] += [
            self.ended.eq(crc.done),
            self.status.eq(status),
            self.lost.eq(status == SlotStatus.BAD),
        ]
        with m.If((status == SlotStatus.GOOD) & ~crc.good):
            m.d[domain] += self.status.eq(SlotStatus.BAD)
        return m

    def _keep(self, m, status, header):
        """With time between the beats, what the last of a slot brought is kept until the next slot ends: the header of
        a verdict is there well before it."""
        kept = Signal(SlotStatus, reset_less=True)
        with m.If(self.rx.valid & self.rx.p.last):
            m.d.sync += [kept.eq(status), self.header.eq(header)]
        m.d.comb += [self.ended.eq(self.crc.done), self.status.eq(kept), self.lost.eq(kept == SlotStatus.BAD)]
        with m.If((kept == SlotStatus.GOOD) & ~self.crc.good):
            m.d.comb += self.status.eq(SlotStatus.BAD)
