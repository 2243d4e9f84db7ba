"""The rules of multi-beat transfers on one channel, seen by its receiver (UALink_200 §2.7.8)."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.calendar import check_ports

__all__ = ["BurstCheck"]


class BurstCheck(wiring.Component):
    """Checks that the beats of every transfer fill consecutive slots of their port, count up and end with Last.

    Per port it keeps how many beats are to come and the offset of the next. ``error`` is of the same cycle.

    Attributes
    ----------
    known, slot : from the ``CalendarCheck`` of the group; nothing is checked before the phase is known.
    start : 1 bit, a transfer of ``num_beats`` + 1 beats begins in this cycle and its first beat must be here.
    num_beats : beats minus one of the transfer that begins.
    vld, offset, last : the beat of this cycle.
    busy : 1 bit, a transfer that began earlier owns this slot.
    error : 1 bit, a beat is missing, too many, out of order, with the wrong Last, or two transfers overlap. What comes
        outside of a transfer is for the user of this block to judge (``vld & ~start & ~busy``).
    """

    def __init__(self, ports: int):
        self.ports = check_ports("burst", ports)
        super().__init__(
            {
                "known": In(1),
                "slot": In(2),
                "start": In(1),
                "num_beats": In(2),
                "vld": In(1),
                "offset": In(2),
                "last": In(1),
                "busy": Out(1),
                "error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        to_come = Array(Signal(2, name=f"port{port}_to_come") for port in range(self.ports))
        offsets = Array(Signal(2, name=f"port{port}_offset") for port in range(self.ports))
        port = self.slot if self.ports > 1 else 0
        left, expected_offset = Signal(2), Signal(2)
        m.d.comb += [
            self.busy.eq(self.known & (to_come[port] != 0)),
            left.eq(Mux(self.busy, to_come[port], self.num_beats + 1)),
            expected_offset.eq(Mux(self.busy, offsets[port], 0)),
        ]
        wrong = ~self.vld | (self.offset != expected_offset) | (self.last != (left == 1))
        with m.If(self.known & (self.busy | self.start)):
            m.d.comb += self.error.eq(wrong | (self.busy & self.start))
            m.d.sync += [to_come[port].eq(left - 1), offsets[port].eq(expected_offset + 1)]
        return m
