"""Proof that no credit is made, lost or spent twice, for every claim and return and for ever."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from support.formal import BITWUZLA, prove
from ualink.config import Credits, TLConfig
from ualink.lib.select import select_one
from ualink.tl.credit.credits import TransmitCredits
from ualink.tl.format.fields import CREDIT_CLASSES
from ualink.tl.internal import CREDIT_UPDATE_LAYOUT

NARROW = TLConfig(
    **{name: Credits(pool=4) for name in CREDIT_CLASSES},
    cmd_counter_bits=4,
    data_counter_bits=4,
)


DATA_POOLS = [("req_data", None), ("rsp_data", None)]


class ClaimBench(wiring.Component):
    """A partner that gives and returns at will, more than it may as well, and claims at will.

    Of each bucket ``out`` credits are spent and not returned; with the counter they make what was announced, until the
    partner returns one too many.
    """

    update: In(CREDIT_UPDATE_LAYOUT)
    done: In(1)
    shared: In(1)
    enable: In(1)
    valid: In(3)
    vc: In(data.ArrayLayout(2, 3))
    beats: In(data.ArrayLayout(3, 2))
    take: In(3)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = TransmitCredits(NARROW)
        done, shared, initial = Signal(), Signal(), Signal(init=1)
        m.d.sync += [done.eq(done | self.done), initial.eq(~done & ~self.done)]
        with m.If(~done):
            m.d.sync += shared.eq(self.shared)
        m.d.comb += [
            dut.update.eq(self.update),
            dut.peer_init_done.eq(done),
            dut.peer_shared_data.eq(shared),
            dut.enable.eq(self.enable),
        ]
        # An update of the cycle in which peer_init_done rises still announces.
        announcing, merged = Signal(init=1), Signal()
        m.d.sync += [announcing.eq(~done), merged.eq(done & shared)]
        m.d.comb += [
            Assert(announcing | (done & (merged == shared))),
            Assert((dut.init_done == ~announcing) & (dut.shared == merged) & (~merged | ~announcing)),
        ]
        claims = (dut.request, dut.read, dut.write)
        m.d.comb += Assume(~(self.valid[1] & self.valid[2]))
        for n, claim in enumerate(claims):
            if n < len(self.beats):
                m.d.comb += [Assume(self.beats[n] <= 4), claim.beats.eq(self.beats[n])]
            m.d.comb += [
                claim.valid.eq(self.valid[n]),
                claim.vc.eq(self.vc[n]),
                claim.take.eq(self.valid[n] & self.take[n] & claim.granted),
                Assert(~claim.granted | (done & self.enable)),
            ]

        flagged, wrong, apart = Signal(), Const(0), Signal()
        m.d.comb += apart.eq(~shared)

        def account(name, members, spent, when=1):
            return self._account(m, dut, name, members, spent, announcing, when, flagged)

        for credit_class in CREDIT_CLASSES:
            claimants = claims[1:] if credit_class.startswith("rsp") else claims[:1]
            is_data = credit_class.endswith("data")
            # All VCs are alike: the partner gives credits of two, which both claims name at will.
            for vc in (0, 2):
                m.d.comb += Assume(self.update[credit_class].vc[vc] == 0)
                m.d.comb += [
                    Assert(counts[credit_class].vc[vc] == 0) for counts in (dut.gross, dut.spent, dut.announced)
                ]
                m.d.comb += Assert((dut.at_least[credit_class].vc[vc] == 0) & ~dut.exceeds[credit_class].vc[vc])
            for vc in (1, 3):
                spent = sum(
                    Mux(claim.take & ~claim.pool & (claim.vc == vc), claim.beats if is_data else 1, 0)
                    for claim in claimants
                )
                wrong |= account(f"{credit_class}_{vc}", [(credit_class, vc)], spent)
            if not is_data:
                taken = Cat(claim.take & claim.pool for claim in claimants).any()
                wrong |= account(f"{credit_class}_pool", [(credit_class, None)], taken)
        spent = [Mux(claim.take & claim.pool, claim.beats, 0) for claim in claims[:2]]
        for n, pool in enumerate(DATA_POOLS):
            wrong |= account(f"data_pool_{n}", [pool], spent[n], apart)
        wrong |= account("data_pools", DATA_POOLS, spent[0] + spent[1], shared)

        # Once merged, all of the joint Pool is in the counter that both claim from, and Responses find some there.
        total, joint = dut.announced.req_data.pool, Signal(signed(9))
        m.d.comb += joint.eq(dut.gross.req_data.pool - told(dut.spent.req_data.pool))
        data_pools = [(dut.counts[name], dut.announced[name]) for name, _ in DATA_POOLS]
        settled, kept, kept_before = Signal(), Signal(range(5)), Signal(range(5))
        certain = Signal(signed(8))
        m.d.sync += [
            settled.eq(merged),
            kept_before.eq(kept),
            certain.eq(joint - spent[0] - Mux(merged, spent[1], 0)),
        ]
        m.d.comb += kept.eq(Mux(total >= 8, 4, 0))
        asked = dut.request.beats
        m.d.comb += [Assert(~settled | merged), Assert(dut.kept >= kept_before)]
        m.d.comb += Assert(dut.merges == (merged & ~settled))
        with m.If(merged & ~settled):
            m.d.comb += [Assert(counts.pool == all_of.pool) for counts, all_of in data_pools]
            m.d.comb += Assert((dut.spent.req_data.pool == 0) & (dut.spent.rsp_data.pool == 0))
        with m.If(settled):
            m.d.comb += Assert((dut.gross.rsp_data.pool == 0) & (dut.announced.rsp_data.pool == 0))
            m.d.comb += Assert(dut.spent.rsp_data.pool == 0)
            # A claim is decided by what is certain: the counter of one cycle ago, less what was taken then. Whatever a
            # partner returns, these were there. If it returns so many that the counter overflows, they are no longer
            # in the counter itself; then it was told of an error, and only then.
            with m.If(dut.request.take & dut.request.pool & (asked != 0)):
                m.d.comb += [Assert(certain >= asked + kept_before), Assert(flagged | (joint >= asked + kept))]

        m.d.sync += flagged.eq(flagged | wrong)
        m.d.comb += Assert(~flagged | ~announcing)
        self._tell(m, dut, flagged)
        # What was claimed in the cycle before is one number for each bucket.
        spent, less = (
            [
                bucket
                for name in CREDIT_CLASSES
                for bucket in (counts[name].pool, *(counts[name].vc[n] for n in range(4)))
            ]
            for counts in (dut.spent, dut.less)
        )
        m.d.comb += [Assert((one & (one - 1)) == 0) for one in spent]
        m.d.comb += [Assert(minus + told(one) == 0) for one, minus in zip(spent, less, strict=True)]
        m.d.comb += Assert(settled | (dut.spent.req_data.pool[4:] == 0))
        with m.If(announcing):
            m.d.comb += [Assert(one == 0) for one in spent]
        flags = dut.at_least.req_data.pool
        m.d.comb += [Assert(flag == (certain > n)) for n, flag in enumerate(flags)]
        for credit_class in CREDIT_CLASSES:
            flags, counts = dut.at_least[credit_class], dut.counts[credit_class]
            buckets = [(flags.pool, counts.pool), *((flags.vc[vc], counts.vc[vc]) for vc in range(4))]
            with m.If(~flagged):
                m.d.comb += [
                    Assert(~flag | (count > n)) for at_least, count in buckets for n, flag in enumerate(at_least)
                ]
        return m

    def _tell(self, m, dut, flagged):
        """The error is told two cycles after the counts: an excess is seen beside them, then in a register, then told
        for ever."""
        counted, told = Signal(), Signal()
        exceeds, excess = dut.exceeds.as_value().any(), dut.excess.as_value().any()
        m.d.sync += [counted.eq(flagged), told.eq(counted)]
        m.d.comb += [
            Assert((counted <= flagged) & (told <= counted)),
            Assert(counted | (exceeds == flagged)),
            Assert(told | (excess == counted)),
            Assert(dut.protocol_error == told),
        ]

    def _account(self, m, dut, name, members, spent, announcing, when, flagged):
        """Assert what is true of a bucket; return whether the partner returns too much in this cycle."""

        def number(counts):
            return sum((counts[c].pool if b is None else counts[c].vc[b] for c, b in members), start=Const(0))

        count, announced = Signal(7, name=f"{name}_count"), Signal(7, name=f"{name}_announced")
        out, gained = Signal(7, name=f"{name}_out"), Signal(7, name=f"{name}_gained")
        # Of what is out, that of the cycle before: it has left the counter, and not yet what the counter is made of.
        # What comes back in the cycle in which it is spent makes ``early`` negative for a cycle.
        late, gross = (Signal(7, name=f"{name}_{part}") for part in ("late", "gross"))
        early = Signal(signed(8), name=f"{name}_early")
        claimed = [dut.spent[c].pool if b is None else dut.spent[c].vc[b] for c, b in members]
        m.d.sync += late.eq(spent)
        m.d.comb += [
            out.eq(early + late),
            gross.eq(number(dut.gross)),
            count.eq(number(dut.counts)),
            announced.eq(number(dut.announced)),
            gained.eq(Mux(self.update.valid, number(self.update), 0)),
        ]
        with m.If(announcing):
            m.d.comb += [Assume(announced + gained <= 15), Assert((early == 0) & (late == 0) & (spent == 0))]
        with m.Else():
            m.d.sync += early.eq(early + late - gained)
        with m.If((when | announcing) & ~flagged):
            m.d.comb += [
                Assert(late == sum(map(told, claimed), start=Const(0))),
                Assert(gross + early == announced),
                Assert(early + late >= 0),
                Assert(late <= gross),
                Assert(spent <= count),
                Assert(announced <= 15),
            ]
        # Of a bucket that takes too many the block says so in the next cycle, if it is the first.
        wrong, too_many, before = Signal(), Signal(), Signal()
        m.d.comb += wrong.eq(when & ~announcing & (gained > out + spent))
        m.d.sync += [too_many.eq(wrong), before.eq(flagged)]
        with m.If((when | announcing) & ~before):
            m.d.comb += Assert((number(dut.exceeds) != 0) == too_many)
        return wrong


def told(spent):
    """How many credits ``spent`` says."""
    return select_one(spent, range(1, len(spent) + 1))


@pytest.mark.req("TL-159", "TL-160", "TL-165", "TL-218", "TL-219")
def test_credits_in_hand_and_credits_out_are_those_announced():
    """By induction: no counter falls below zero or exceeds what was announced, nor is an honest partner accused."""
    prove(ClaimBench(), mode="prove", depth=1, engine=BITWUZLA)
