"""The transmitter's slots against nothing but a count of owed half-flits, for every input and for ever."""

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.tl.pack.half_flit_slots import HalfFlitSlots, LowerSlot, UpperSlot


class SlotsBench(wiring.Component):
    """D half-flits owed, as UALink_200 §5.1.1 counts them, and the Control half-flit that was taken, if any."""

    offered: In(1)
    request_half_flits: In(6)
    response_half_flits: In(data.ArrayLayout(6, 2))
    tagged: In(1)
    outstanding: In(1)
    advance: In(1)
    available: In(2)
    authentication: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = HalfFlitSlots()
        for name in self.signature.members:
            if name != "authentication":
                m.d.comb += getattr(dut, name).eq(getattr(self, name))
        half_flits = Signal(8)
        m.d.comb += [
            half_flits.eq(self.request_half_flits + sum(self.response_half_flits)),
            Assume(self.request_half_flits <= 36),
            *(Assume(owed <= 32) for owed in self.response_half_flits),
            dut.some.eq(half_flits != 0),
            dut.two.eq(half_flits == 2),
        ]
        known, authentication = Signal(), Signal()
        m.d.sync += [known.eq(1), authentication.eq(self.authentication)]
        flow_control_only = (half_flits == 0) & ~self.tagged
        m.d.comb += [
            Assume(~known | (self.authentication == authentication)),
            Assume((half_flits <= 72) & (half_flits != 1) & (self.available <= 2)),
            Assume(self.authentication | ~self.tagged),
            # With authentication fields with data are Requests or Responses, which have tags.
            Assume(~self.authentication | (half_flits == 0) | self.tagged),
            Assume(self.offered | flow_control_only),
            Assume(~(dut.swap_next & self.authentication) | flow_control_only),
        ]

        owed = Signal(8)
        taken, brings, has_tags, for_swap = Signal(), Signal(8), Signal(), Signal()
        m.d.comb += [
            Assert(dut.state.owed == owed),
            Assert(dut.state.many == (owed > 1)),
            Assert(dut.state.holds == taken),
            Assert(~taken | (dut.state.held_by_requests + sum(dut.state.held_by_responses) == brings)),
            Assert(~taken | ((dut.state.held_some == (brings != 0)) & (dut.state.held_two == (brings == 2)))),
            Assert(~taken | ((brings != 1) & (dut.state.held_tagged == has_tags))),
            Assert(brings <= 72),
            Assert(~has_tags | authentication),
            Assert(~(taken & authentication) | (brings == 0) | has_tags),
            # What was taken for a swap slot waits for one, and a swap slot finds what was taken for it.
            Assert(~taken | (for_swap == (owed == 1))),
            Assert((owed != 1) | taken),
            Assert(~taken | (owed <= 1)),
            Assert(~(taken & for_swap & authentication) | ((brings == 0) & ~has_tags)),
        ]

        # Of the flit that is to leave next.
        control = owed <= 1
        new = Mux(control & taken, brings, 0)
        tags = control & taken & has_tags
        first_data = (owed == 0) & (new != 0) & ~tags
        data_slots = Mux(owed > 1, 2, (owed == 1) | first_data)
        next_owed = Signal(8)
        m.d.comb += next_owed.eq(owed + new - data_slots)
        m.d.comb += [
            Assert(dut.state.one == (taken & (data_slots == 1))),
            Assert(dut.state.none == (taken & (data_slots == 0))),
        ]
        with m.If(dut.flit):
            m.d.comb += [
                Assert(self.advance & (self.available >= data_slots)),
                Assert(dut.wanted == data_slots),
                Assert((dut.lower == LowerSlot.DATA) == (owed > 1)),
                Assert(~control | taken),
                Assert(dut.control == control),
                Assert((dut.upper == UpperSlot.TAGS) == tags),
                Assert((dut.upper == UpperSlot.DATA) == (data_slots != 0)),
            ]
            m.d.sync += owed.eq(next_owed)
        with m.Else():
            m.d.comb += Assert(~dut.control)

        # What is foreseen of ``between``, for those who look a cycle ahead.
        between_next, flit, packed, past = (Signal(name=name) for name in ("between_next", "flit", "packed", "past"))
        m.d.sync += [between_next.eq(dut.between_next), flit.eq(dut.flit), packed.eq(dut.pack), past.eq(1)]
        before = Signal()
        m.d.sync += before.eq(dut.between)
        m.d.comb += Assert(~past | (dut.between == (between_next | (before & ~flit))))
        m.d.comb += Assert(~(past & packed) | ~dut.between)

        # Nothing is taken twice, dropped or overwritten; only a swap slot, or a flit that pushes others on, takes what
        # is not offered. Between what was taken and what is taken now no other flit stands but one between.
        idle = (owed == 0) & ~taken
        m.d.comb += [
            Assert(~dut.pack | ~taken | dut.control),
            Assert(~dut.pack | idle | (dut.flit & (next_owed <= 1))),
            Assert(~dut.pack | self.offered | self.outstanding | dut.swap_next),
            Assert(dut.between == (owed > 1)),
            Assert(~dut.pack | idle | (dut.swap_next == (next_owed == 1))),
            Assert(~(dut.pack & idle) | ~dut.swap_next),
        ]
        with m.If(dut.pack):
            m.d.sync += [
                taken.eq(1),
                brings.eq(half_flits),
                has_tags.eq(self.tagged),
                for_swap.eq(dut.swap_next),
            ]
        with m.Elif(dut.control):
            m.d.sync += taken.eq(0)

        # What can leave does; what is offered, or pushes others on, is taken in time for its slot.
        wished = self.offered | self.outstanding
        in_time = dut.flit & (next_owed <= 1)
        m.d.comb += [
            Assert(~(~idle & self.advance & (self.available >= data_slots)) | dut.flit),
            Assert(~(idle & wished) | dut.pack),
            Assert(~(in_time & wished) | dut.pack),
            Assert(~(in_time & dut.swap_next) | dut.pack),
        ]
        return m


@pytest.mark.req(
    *("TL-015", "TL-039", "TL-040", "TL-042", "TL-043", "TL-044", "TL-045", "TL-048", "TL-049", "TL-050", "TL-051"),
)
def test_every_slot_is_what_the_count_of_owed_half_flits_says():
    prove(SlotsBench(), mode="prove", depth=2)
