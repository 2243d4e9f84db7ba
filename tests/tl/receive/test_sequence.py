"""Half-flit sequence of the receiver against nothing but a count of owed half-flits, for every flit there can be."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.tl.receive.control_decoder import DATA_FIELD_LAYOUT
from ualink.tl.receive.error import ReceiveError
from ualink.tl.receive.sequence import ReceiveSequence


class SequenceBench(wiring.Component):
    """D owed half-flits, as UALink_200 §5.1.1 counts them, decide what every half-flit is."""

    def __init__(self, authentication):
        self.authentication = authentication
        super().__init__(
            {
                "valid": In(1),
                "message": In(2),
                "types": In(data.ArrayLayout(8, 2)),
                "upper_is_zero": In(1),
                "fields": In(8),
                "field": In(data.ArrayLayout(DATA_FIELD_LAYOUT, 8)),
                "tagged": In(1),
                "too_many": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = ReceiveSequence()
        m.d.comb += [
            dut.valid.eq(self.valid),
            dut.message.eq(self.message),
            dut.lower_type.eq(self.types[0]),
            dut.upper_type.eq(self.types[1]),
            dut.upper_is_zero.eq(self.upper_is_zero),
            dut.data_fields.eq(self.fields),
            dut.data_field.eq(self.field),
            dut.tagged.eq(self.tagged),
            dut.too_many_tagged.eq(self.too_many),
            dut.authentication.eq(self.authentication),
            # Fields with data are Requests or Responses.
            Assume((self.fields == 0) | self.tagged),
            Assume(self.tagged | ~self.too_many),
        ]
        for field in self.field:
            m.d.comb += Assume((field.left == 1) | (field.left == 2))
        # Short fields in few sectors take the sequence through all its turns within a few flits.
        m.d.comb += Assume((self.fields & 0b01011010) == 0)

        owed, after_lower = Signal(8), Signal(8)
        brought = sum(Mux(self.fields[n], self.field[n].left + 1, 0) for n in range(8))
        poison = [self.message[n] & (self.types[n] == 0x20) for n in range(2)]
        takes = [~self.message[n] | poison[n] for n in range(2)]
        control_slot = owed < 2
        control = control_slot & ~self.message[0]
        lower = ~control_slot & takes[0]
        m.d.comb += after_lower.eq(owed + Mux(control, brought, 0) - lower)
        # With one half-flit owed the upper slot is its own, or else that of the first half-flit just brought.
        carries_tags = control & self.tagged if self.authentication else Const(0)
        tags = carries_tags & (owed == 0)
        upper = (after_lower > 0) & takes[1] & ~tags
        with m.If(self.valid):
            m.d.sync += owed.eq(after_lower - upper)
            m.d.comb += [
                Assert(dut.control == control),
                Assert(dut.tags == tags),
                Assert(dut.lower.valid == lower),
                Assert(dut.upper.valid == upper),
                Assert(~lower | (dut.lower.poison == poison[0])),
                Assert(~upper | (dut.upper.poison == poison[1])),
                Assert(~(dut.lower.valid & dut.lower.last & dut.upper.valid & dut.upper.last)),
            ]
            nop_broken = (after_lower == 0) & ~tags & ~self.message[1] & ~self.upper_is_zero
            stray = (poison[0] & control_slot) | (poison[1] & (after_lower == 0))
            on_enables = (poison[0] & lower & dut.lower.byte_enables) | (poison[1] & upper & dut.upper.byte_enables)
            with m.If(carries_tags & (owed == 1)):
                m.d.comb += Assert(dut.error == ReceiveError.AUTH_TAG_SWAP)
            with m.Elif(carries_tags & self.too_many):
                m.d.comb += Assert(dut.error == ReceiveError.AUTH_TAG_COUNT)
            with m.Elif(tags & self.message[1]):
                m.d.comb += Assert(dut.error == ReceiveError.AUTH_TAG_MESSAGE)
            with m.Elif(stray | on_enables):
                m.d.comb += Assert(dut.error == ReceiveError.POISON_SLOT)
            with m.Elif(nop_broken):
                m.d.comb += Assert(dut.error == ReceiveError.MANDATORY_NOP)
            with m.Else():
                m.d.comb += Assert(dut.error == ReceiveError.NONE)
        with m.Else():
            m.d.comb += Assert(Cat(dut.control, dut.lower.valid, dut.upper.valid, dut.unknown_message, dut.tags) == 0)
            m.d.comb += Assert(dut.error == ReceiveError.NONE)
        return m


@pytest.mark.req(
    *("TL-015", "TL-039", "TL-040", "TL-042", "TL-043", "TL-044", "TL-045", "TL-056", "TL-059", "TL-060", "TL-061"),
    *("TL-062", "TL-063", "TL-081", "TL-220"),
)
def test_every_half_flit_is_what_the_count_of_owed_ones_says():
    prove(SequenceBench(authentication=0), mode="bmc", depth=5)


@pytest.mark.req("TL-048", "TL-049", "TL-050", "TL-052", "TL-064", "TL-059", "TL-063", "TL-220")
def test_so_it_is_with_authentication_tags():
    prove(SequenceBench(authentication=1), mode="bmc", depth=4)
