"""The multi-beat transfers of one channel, seen by its receiver: which beats are kept (UALink_200 §2.7.8, §3.1.4.2)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.contract import contract
from ualink.lib.ports_used import used_member
from ualink.lib.ring import Ring
from ualink.upli.calendar import check_ports

__all__ = ["BurstCheck"]


class BurstCheck(wiring.Component):
    """Checks that the beats of every transfer fill consecutive slots of their port, count up and end with Last, and
    says what becomes of each. Outputs are of the same cycle.

    A transfer is kept whole or dropped whole. The first wrong beat of one that was begun spoils it: from then on a
    poisoned beat is kept in place of each beat to come, whatever is on the interface (ruling A-23 of RAS), so that
    nobody behind waits for the rest. A transfer whose first beat is wrong, missing or refused is dropped. What comes
    without a first beat after a dropped beat is its rest and no error: until a slot of the port without a beat, or
    the next transfer.

    Parameters
    ----------
    ports : 1, 2 or 4.
    choosable : it does what one for as many ports does as are used; there is ``used``, as of ``ports_used``.

    Attributes
    ----------
    locked, known : from the ``CalendarCheck`` of the group; nothing is checked before the phase is known. A transfer
        that goes on asks ``locked`` alone: what it keeps it says early.
    start : 1 bit, a transfer of ``num_beats`` + 1 beats begins in this cycle and its first beat must be here; only when
        the phase is ``known``.
    alone : 1 bit, the beat of this cycle is a transfer of its own.
    num_beats : beats minus one of the transfer that begins.
    vld, offset, last : the beat of this cycle, with good control parity and of the port of the slot, as far as this is
        known.
    refuse : 1 bit, a transfer that begins in this cycle is dropped.
    upset : 1 bit, a beat of the group was dropped for a Control Error in this cycle.
    busy : 1 bit, a transfer that began earlier owns this slot.
    lost : 1 bit, a beat without a transfer is the rest of a dropped one.
    begins : 1 bit, the transfer that starts is kept.
    keep, fill : 1 bit, the beat is kept; a poisoned beat is kept in its place, with ``due_offset`` and ``due_last``.
    error : 1 bit, a beat is missing, too many, out of order, with the wrong Last, or two transfers overlap. What comes
        outside of a transfer is for the user of this block to judge (``vld & ~start & ~busy``).
    """

    def __init__(self, ports: int, *, choosable: bool = False):
        self.ports = check_ports("burst", ports, choosable)
        self._choosable = choosable
        super().__init__(
            {
                **used_member(choosable),
                "locked": In(1),
                "known": In(1),
                "start": In(1),
                "alone": In(1),
                "num_beats": In(2),
                "vld": In(1),
                "offset": In(2),
                "last": In(1),
                "refuse": In(1),
                "upset": In(1),
                "busy": Out(1),
                "lost": Out(1),
                "begins": Out(1),
                "keep": Out(1),
                "fill": Out(1),
                "due_offset": Out(2),
                "due_last": Out(1),
                "error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        used = self.used if self._choosable else None
        widths = {"to_come": 2, "offset": 2, "spoilt": 1, "lost": 1}
        rings = (Ring(m, Signal(width, name=name), self.ports, used=used) for name, width in widths.items())
        to_come, offset, spoilt, lost = rings
        contract(m, ~self.start | self.known, "start: not before the phase is known")
        # What this cycle's beat has to be, if it goes on with a transfer or begins one: both are made out at once.
        due, first = Signal(), Signal()
        m.d.comb += [
            self.busy.eq(self.locked & (to_come.now != 0)),
            self.lost.eq(lost.now),
            self.due_offset.eq(offset.now),
            self.due_last.eq(to_come.now == 1),
            due.eq(self.vld & (self.offset == self.due_offset) & (self.last == self.due_last)),
            first.eq(self.vld & (self.offset == 0) & (self.last == (self.num_beats == 0))),
            self.begins.eq(self.start & ~self.busy & first & ~self.refuse),
            self.fill.eq(self.busy & (spoilt.now | ~due)),
            self.keep.eq(self.begins | (self.busy & ~spoilt.now & due)),
            self.error.eq((self.busy & ~spoilt.now & ~due) | (self.start & (self.busy | ~first))),
        ]
        with m.If(self.busy):
            m.d.comb += [to_come.then.eq(to_come.now - 1), offset.then.eq(offset.now + 1), spoilt.then.eq(self.fill)]
        with m.Elif(self.begins):
            m.d.comb += [to_come.then.eq(self.num_beats), offset.then.eq(1), spoilt.then.eq(0)]
        with m.If(self.upset & ~self.known):
            m.d.sync += [flag.eq(1) for flag in lost.places]
        with m.Elif(self.known & (self.upset | (self.start & ~self.begins))):
            m.d.comb += lost.then.eq(1)
        with m.Elif(self.known & ~self.busy & (self.begins | self.alone | ~self.vld)):
            m.d.comb += lost.then.eq(0)
        return m
