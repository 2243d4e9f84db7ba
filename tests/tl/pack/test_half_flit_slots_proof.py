"""The transmitter's slots against nothing but a count of owed half-flits, for every input and for ever."""

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.tl.pack.half_flit_slots import HalfFlitSlots, LowerSlot, UpperSlot


class SlotsBench(wiring.Component):
    """D half-flits owed, as UALink_200 §5.1.1 counts them, and the Control half-flit that was taken, if any."""

    authentication: In(1)
    offered: In(1)
    half_flits: In(7)
    tagged: In(1)
    outstanding: In(1)
    advance: In(1)
    available: In(2)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = HalfFlitSlots()
        for name in ("authentication", "offered", "half_flits", "tagged", "outstanding", "advance", "available"):
            m.d.comb += getattr(dut, name).eq(getattr(self, name))
        known, authentication = Signal(), Signal()
        m.d.sync += [known.eq(1), authentication.eq(self.authentication)]
        flow_control_only = (self.half_flits == 0) & ~self.tagged
        m.d.comb += [
            Assume(~known | (self.authentication == authentication)),
            Assume((self.half_flits <= 72) & (self.half_flits != 1) & (self.available <= 2)),
            Assume((self.half_flits == 0) | self.tagged),  # fields with data are Requests or Responses
            Assume(self.offered | flow_control_only),
            Assume(~(dut.swap_next & self.authentication) | flow_control_only),
        ]

        owed = Signal(8)
        taken, brings, for_swap = Signal(), Signal(8), Signal()
        m.d.comb += [
            Assert(dut.state.owed == owed),
            Assert(dut.state.holds == taken),
            Assert(~taken | ((dut.state.held == brings) & (brings != 1))),
            Assert(brings <= 72),
            # With authentication nothing is held but FC fields for a swap slot.
            Assert(~(taken & authentication) | (for_swap & (brings == 0))),
            # What was taken for a swap slot waits for one, and a swap slot finds what was taken for it.
            Assert(~taken | (for_swap == (owed == 1))),
            Assert((owed != 1) | taken),
            Assert(~taken | (owed <= 1)),
        ]

        # The Control half-flit of this flit, if it has a control slot: the one taken before, or that formed now.
        direct = ~taken & (owed == 0)
        new, tags = Signal(8), Signal()
        m.d.comb += [
            new.eq(Mux(owed > 1, 0, Mux(direct, self.half_flits, brings))),
            tags.eq(direct & self.tagged & self.authentication),
        ]
        first_data = (owed == 0) & (new != 0) & ~tags
        data_slots = Mux(owed > 1, 2, (owed == 1) | first_data)
        with m.If(dut.flit):
            m.d.comb += [
                Assert(self.advance & (self.available >= data_slots)),
                Assert(dut.take == data_slots),
                Assert((dut.lower == LowerSlot.DATA) == (owed > 1)),
                Assert((dut.lower == LowerSlot.HELD) == taken),
                Assert((dut.lower == LowerSlot.FORMED) == direct),
                Assert(~direct | (dut.pack & ~dut.hold & (self.offered | self.outstanding) & (data_slots == 0))),
                Assert((dut.upper == UpperSlot.TAGS) == tags),
                Assert((dut.upper == UpperSlot.DATA) == (data_slots != 0)),
            ]
            m.d.sync += owed.eq(owed + new - data_slots)
        with m.Else():
            m.d.comb += Assert(dut.take == 0)

        # Nothing is taken twice, dropped or overwritten; only a swap slot, or a flit that pushes others on, takes what
        # is not offered.
        leaves = dut.flit & taken
        m.d.comb += [
            Assert(dut.pack == (dut.hold | (dut.flit & direct))),
            Assert(~dut.hold | ~taken | leaves),
            Assert(~dut.pack | self.offered | dut.swap_next | (direct & self.outstanding)),
            Assert(dut.ahead == ~direct),
            Assert(dut.held_leaves == taken),
            Assert(~(dut.pack & dut.ahead) | dut.flit),
            Assert(~dut.pack | self.advance),
        ]
        with m.If(dut.hold):
            m.d.sync += [taken.eq(1), brings.eq(self.half_flits), for_swap.eq(dut.swap_next)]
        with m.Elif(leaves):
            m.d.sync += taken.eq(0)
        m.d.comb += Assert(~dut.hold | ~self.authentication | ~self.tagged)

        # What can leave does, and what is offered is there in time for its slot.
        next_control = dut.flit & dut.ahead & (owed + new - data_slots <= 1)
        m.d.comb += [
            Assert(~(dut.ahead & self.advance & (self.available >= data_slots)) | dut.flit),
            Assert(~(direct & self.offered & self.advance) | dut.pack),
            Assert(~(next_control & self.offered & ~self.authentication) | dut.pack),
            Assert(~(next_control & dut.swap_next) | dut.pack),
            # Fields outstanding are pushed on with every cycle, or by what is taken in it for the next one.
            Assert(~(direct & self.outstanding & self.advance) | dut.flit | (dut.hold & self.offered)),
        ]
        return m


@pytest.mark.req(
    *("TL-015", "TL-039", "TL-040", "TL-042", "TL-043", "TL-044", "TL-045", "TL-048", "TL-049", "TL-050", "TL-051"),
)
def test_every_slot_is_what_the_count_of_owed_half_flits_says():
    prove(SlotsBench(), mode="prove", depth=2)
