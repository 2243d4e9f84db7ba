"""Catch buffers: the rate limit account, order and room, proved for every sender within its limit."""

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.config import ConfigError
from ualink.tl.receive.catch_buffer import CatchBuffer, places_layout, places_of
from ualink.tl.receive.rate_check import RateCheck


class CatchBench(wiring.Component):
    """Fields are numbered as they are loaded; the allowance is that of the sender (UALink_200 §5.7)."""

    def __init__(self, entries):
        self.entries = entries
        super().__init__({"flit": In(1), "valid": In(entries), "restart": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = CatchBuffer(self.entries, 6)
        m.submodules.check = check = RateCheck(self.entries)
        allowance = Signal(range(self.entries + 1), init=self.entries)
        number, expected = Signal(6), Signal(6)
        announced = Signal(6)
        present = [Mux(self.flit, self.valid[n], 0) for n in range(self.entries)]
        count, accept = Signal(range(self.entries + 1)), Signal()
        m.d.comb += [
            count.eq(sum(present)),
            accept.eq(self.flit & ~check.overrun),
            check.flit.eq(self.flit),
            check.fields.eq(count),
            check.accept.eq(accept),
            check.restart.eq(self.restart),
        ]
        # What is checked in one cycle is loaded in the next.
        places, loaded = Signal(places_layout(self.entries)), Signal(places_layout(self.entries))
        first = Signal(6)
        places_of(m, places, Mux(self.flit, self.valid, 0))
        m.d.sync += [loaded.eq(places), dut.load.eq(accept), first.eq(number)]
        m.d.comb += dut.places.eq(loaded)
        m.d.comb += [dut.field[n].eq(first + loaded.before[n]) for n in range(self.entries)]
        in_buffer = Signal(6)
        with m.If(dut.load):
            m.d.sync += in_buffer.eq(in_buffer + loaded.count)
        grown = allowance - count + 1
        with m.If(accept):
            m.d.sync += [number.eq(number + count), allowance.eq(Mux(grown > self.entries, self.entries, grown))]
        # A restart gives the whole allowance, but no field comes before those of the last session have left.
        draining = Signal()
        m.d.comb += Assume(~draining | (count == 0))
        with m.If(self.restart):
            m.d.sync += [draining.eq(1), allowance.eq(self.entries)]
        with m.Elif(number == expected):
            m.d.sync += draining.eq(0)
        with m.If(dut.output.valid):
            m.d.sync += expected.eq(expected + 1)
            m.d.comb += [Assert(dut.output.payload == expected), Assert(announced == expected)]
        m.d.sync += announced.eq(dut.following)
        m.d.comb += [
            Assert(check.overrun == (self.flit & (count > allowance))),
            Assert(dut.output.valid == (in_buffer != expected)),
        ]
        return m


@pytest.mark.req("TL-130", "TL-131", "TL-133", "TL-134", "TL-136", "TL-137", "TL-139", "TL-141", "TL-142", "TL-144")
@pytest.mark.parametrize("entries, depth", [(4, 6), (8, 4)])
def test_fields_leave_in_order_and_the_limit_is_exact(entries, depth):
    prove(CatchBench(entries), mode="bmc", depth=depth)


def test_sizes_are_checked():
    with pytest.raises(ConfigError, match="0 entries"):
        CatchBuffer(0, 8)
