"""How long Requests took: a table of counts."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.traffic.interface import TIME_BITS

__all__ = ["BIN_BITS", "COUNT_BITS", "Histogram"]

BIN_BITS = 7
COUNT_BITS = 32


class Histogram(wiring.Component):
    """Counts latencies by class, of Reads and AtomicRs in the first 128 counts, of Writes in the others.

    A latency below 4 is a class of its own; above, the class is four times the number of its highest bit less one,
    plus the two bits below that: classes are a quarter of their power of two wide. Counts wrap around. A latency is
    counted two cycles after ``event``.

    Members
    -------
    event : 1 bit, count ``latency``, of a Request answered on WrRsp if ``write``.
    sweep, swept : 1 bit, count ``swept`` becomes 0; nothing is counted meanwhile.
    index : the count to show; ``count`` follows one cycle later.
    """

    def __init__(self):
        super().__init__(
            {
                "event": In(1),
                "write": In(1),
                "latency": In(TIME_BITS),
                "sweep": In(1),
                "swept": In(BIN_BITS + 1),
                "index": In(BIN_BITS + 1),
                "count": Out(COUNT_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.counts = counts = memory.Memory(shape=COUNT_BITS, depth=2 << BIN_BITS, init=[])
        shown, read, write = counts.read_port(), counts.read_port(), counts.write_port()
        place = Signal(BIN_BITS)
        above: Value = Const(0)
        classes = []
        for high in reversed(range(2, TIME_BITS)):
            highest = self.latency[high] & ~above
            classes.append(Mux(highest, Cat(self.latency[high - 2 : high], Const(high - 1, BIN_BITS - 2)), 0))
            above = above | self.latency[high]
        m.d.comb += place.eq(reduce(or_, classes, Mux(above, 0, self.latency[:2])))

        valid, adding = Signal(), Signal()
        address, written = Signal(BIN_BITS + 1), Signal(BIN_BITS + 1)
        last, total = Signal(COUNT_BITS), Signal(COUNT_BITS)
        m.d.sync += [
            valid.eq(self.event),
            address.eq(Cat(place, self.write)),
            adding.eq(valid),
            written.eq(address),
            last.eq(total),
        ]
        again = Signal()
        m.d.sync += again.eq(adding & valid & (address == written))
        m.d.comb += [
            shown.en.eq(1),
            shown.addr.eq(self.index),
            self.count.eq(shown.data),
            read.en.eq(1),
            read.addr.eq(address),
            # What was written in the cycle of the look is not in it.
            total.eq(Mux(again, last, read.data) + 1),
            write.en.eq(adding | self.sweep),
            write.addr.eq(Mux(self.sweep, self.swept, written)),
            write.data.eq(Mux(self.sweep, 0, total)),
        ]
        return m
