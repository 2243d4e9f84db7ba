"""Fields in sight are eligible within the source rate limit, and have their rows of the Requests' share, whenever flits
leave and half-flits are taken."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.tl.credit.rate_limit import SourceRateLimit
from ualink.tl.format.half_flits import REQUEST_FIELD_LAYOUT
from ualink.tl.pack.fields_in_sight import FieldsInSight
from ualink.tl.pack.request_share import SHARE

MOST = 4


class InSightBench(wiring.Component):
    """Any flits, half-flits and fields in any cycle. Of the slots no more than ``SlotsBench`` proves of them: what
    ``between`` becomes, and that nothing is between what was taken and what is taken next."""

    pack: In(1)
    flit: In(1)
    between_next: In(1)
    goes: In(MOST)
    comes: In(1)
    compressed: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.limit = limit = SourceRateLimit(MOST)
        m.submodules.fields = fields = FieldsInSight(REQUEST_FIELD_LAYOUT, MOST)
        between = Signal()
        m.d.sync += between.eq(self.between_next | (between & ~self.flit))
        m.d.comb += [
            Assume(~self.between_next | (self.flit & ~self.pack)),
            Assume(~(self.pack & between) | self.flit),
            Assume((self.goes & (self.goes + 1)) == 0),
            Assume((self.goes & ~fields.eligible) == 0),
            fields.limits.compressed.eq(MOST),
            fields.limits.uncompressed.eq(MOST),
            fields.i.valid.eq(self.comes),
            fields.i.p.compressed.eq(self.compressed),
            fields.allowance.eq(limit.allowance),
            fields.grows.eq(self.between_next),
            fields.chosen.eq(Cat(~self.pack, self.pack)),
            fields.takes[0].eq(self.goes),
            limit.taken.eq(self.pack),
            limit.issued.eq(self.goes),
            limit.between.eq(between),
            limit.flit.eq(self.flit & between),
            Assert((fields.valid & (fields.valid + 1)) == 0),
            *(Assert((bits & (bits + 1)) == 0) for bits in (limit.allowance, limit.allowed)),
            Assert(limit.allowed[0]),
            Assert(fields.eligible == (fields.valid & limit.allowance)),
            *(Assert(match == self._stand(fields, row.forms)) for match, row in zip(fields.rows, SHARE)),
        ]
        return m

    def _stand(self, fields, wanted):
        """The oldest fields have these forms, and may go."""
        may = [
            one & (form.compressed == (wish == "C")) for one, form, wish in zip(fields.eligible, fields.forms, wanted)
        ]
        return Cat(Const(1), may).all()


@pytest.mark.req("TL-131", "TL-133")
def test_eligible_fields_are_those_of_the_allowance():
    prove(InSightBench(), mode="prove", depth=2)
