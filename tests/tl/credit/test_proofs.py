"""Proofs on the blocks that give and spend credits: none is lost, made or kept, whatever the environment does."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from support.formal import BITWUZLA, prove
from ualink.config import Credits, TLConfig
from ualink.tl.credit.release import FC_FIELDS, CreditRelease
from ualink.tl.format.fields import CREDIT_CLASSES
from ualink.tl.internal import CREDIT_RELEASE_LAYOUT

DELAY = 1
MIXED = TLConfig(
    req_cmd=Credits(pool=1),
    rsp_cmd=Credits(pool=2, vc=(0, 1, 0, 3)),
    req_data=Credits(pool=6),
    rsp_data=Credits(pool=5, vc=(0, 4, 0, 4)),
    credit_return_delay=DELAY,
)
SHARED = MIXED.replace(shared_data_buffer=True)
RELEASES = {"req_cmd": "req_cmd", "rd_rsp_cmd": "rsp_cmd", "wr_rsp_cmd": "rsp_cmd"}
RELEASES |= {"req_data": "req_data", "rsp_data": "rsp_data"}


def total(terms):
    return sum(terms, start=Const(0))


def buckets(config, credit_class):
    credits = getattr(config, credit_class)
    return (credits.pool, *credits.vc)


class ReleaseBench(wiring.Component):
    """Frees and takes at will; ``waiting`` counts what is to be returned of each bucket, from the rules alone.

    ``bound``: whatever is urgent leaves field by field, and no credit waits longer than it says.
    """

    release: In(CREDIT_RELEASE_LAYOUT)
    take: In(FC_FIELDS)
    enable: In(1)
    complete_taken: In(1)
    watch: In(1)

    def __init__(self, config, *, watched=None, bound=None):
        self.config, self.watched, self.bound = config, watched, bound
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = CreditRelease(self.config)
        take = Signal(FC_FIELDS)
        m.d.comb += [
            dut.release.eq(self.release),
            dut.enable.eq(self.enable),
            dut.take.eq(take),
            take.eq(self.take & dut.valid),
            dut.complete_taken.eq(self.complete_taken & dut.complete),
        ]
        if self.bound is not None:
            # One field leaves whenever credits are urgent, though it may be the first only.
            m.d.comb += [take.eq((self.take | dut.urgent) & dut.valid), Assume(self.enable)]
        waits, overdue = Const(0), Const(0)
        for credit_class in CREDIT_CLASSES:
            for bucket in range(5):
                account = self._account(m, dut, take, credit_class, bucket)
                waits |= account.waiting != 0
                overdue |= account.overdue
        for n, field in enumerate(dut.fields):
            for credit_class in CREDIT_CLASSES:
                empty = field[credit_class].count == 0
                m.d.comb += Assert(~empty | (field[credit_class].as_value() == 0))  # never t = 1 with count 0
            m.d.comb += Assert(dut.valid[n] == (self.enable & (field.as_value() != 0)))
            if n:
                m.d.comb += Assert(dut.valid[n - 1] | ~dut.valid[n])
        some_wait = Cat(pending.waits for pending in dut.pending.values()).any()
        m.d.comb += Assert(~(dut.waits | dut.presses) | some_wait)
        for bucket, least in dut.least.items():
            pending = dut.pending[bucket]
            m.d.comb += Assert((dut.waits | ~pending.waits) & (dut.presses | ~pending.full))
            m.d.comb += [Assert(pending[name] == (pending.count >= count)) for name, count in least.items()]
        sent = Signal()
        m.d.sync += sent.eq(sent | dut.complete_taken)
        m.d.comb += [
            Assert(dut.init_sent == sent),
            Assert(dut.complete == (self.enable & ~sent & ~waits)),
            Assert((dut.valid != 0) == (self.enable & waits)),
            Assert(~(self.enable & waits & (~sent | overdue)) | dut.urgent),
            Assert(~dut.urgent | dut.valid[0]),
        ]
        return m

    def _account(self, m, dut, take, credit_class, bucket):
        announced = buckets(self.config, credit_class)[bucket]
        most = announced
        if self.config.shared_data_buffer and credit_class.endswith("data") and bucket == 0:
            most = sum(getattr(self.config, name).pool for name in ("req_data", "rsp_data"))
        name = f"{credit_class}_{bucket}"
        waiting = Signal(range(most + 1), init=announced, name=f"{name}_waiting")
        held = Signal(range(most + 1), name=f"{name}_held")  # with the partner or in a buffer
        returned = Signal(range(most + 1), name=f"{name}_returned")
        freed = total(
            Mux(event.valid & (event.pool if bucket == 0 else ~event.pool & (event.vc == bucket - 1)), event.count, 0)
            for event in (self.release[n] for n, of in RELEASES.items() if of == credit_class)
        )

        # Fields may share a half-flit, so that a bucket has a count in one of them at most, all that fits.
        here = [
            (f[credit_class].count != 0) & (f[credit_class].is_vc == (bucket > 0))
            & ((bucket == 0) | (f[credit_class].vc == bucket - 1))
            for f in dut.fields
        ]  # fmt: skip
        offered = total(Mux(hit, f[credit_class].count, 0) for hit, f in zip(here, dut.fields))
        m.d.comb += [
            Assert(total(here) <= 1),
            Assert(offered == waiting),
            returned.eq(total(Mux(hit & take[n], waiting, 0) for n, hit in enumerate(here))),
        ]
        m.d.sync += [waiting.eq(waiting + freed - returned), held.eq(held + returned - freed)]
        if most == announced:
            m.d.comb += [Assume(freed <= held), Assert(waiting + held == most)]
        else:  # the joint Pool lends to this class, within what both have
            m.d.comb += [Assume(freed <= most - waiting)]

        quarter = max(1, -(-most // 4))
        delay = self.config.credit_return_delay
        age = Signal(range(delay + 1), name=f"{name}_age")
        m.d.sync += age.eq(Mux((waiting == 0) | (returned != 0), 0, age + (age != delay)))
        account = Signal(data.StructLayout({"waiting": len(waiting), "overdue": 1}), name=f"{name}_account")
        late = (age == delay) | (waiting >= quarter) if most else Const(0)
        m.d.comb += [account.waiting.eq(waiting), account.overdue.eq(late)]
        if (credit_class, bucket) == self.watched:
            self._watch(m, waiting, freed, returned)
        return account

    def _watch(self, m, waiting, freed, returned):
        """From some cycle on, count until all that waited or came in it has left."""
        watching = Signal()
        left = Signal.like(waiting)
        cycles = Signal(range(self.bound + 2))
        with m.If(watching):
            m.d.sync += [left.eq(Mux(returned > left, 0, left - returned)), cycles.eq(cycles + 1)]
            m.d.comb += Assert((left == 0) | (cycles <= self.bound))
            with m.If(left == 0):
                m.d.sync += [watching.eq(0), cycles.eq(0)]
        with m.Elif(self.watch):
            m.d.sync += [watching.eq(1), left.eq(waiting + freed - returned), cycles.eq(0)]


@pytest.mark.req("TL-022", "TL-153", "TL-155", "TL-157", "TL-163")
@pytest.mark.parametrize("config", [MIXED, SHARED], ids=["separate", "shared"])
def test_each_credit_comes_home_exactly_once(config):
    """By induction: of each bucket, what waits and what the partner has are together what was announced."""
    prove(ReleaseBench(config), mode="prove", depth=DELAY + 1, engine=BITWUZLA)


TWO = TLConfig(
    req_cmd=Credits(pool=1),
    rsp_cmd=Credits(pool=1),
    req_data=Credits(pool=4),
    rsp_data=Credits(pool=5, vc=(0, 0, 0, 7)),
    credit_return_delay=1,
)


@pytest.mark.req("TL-163")
@pytest.mark.parametrize("bucket", [0, 4])
def test_no_credit_waits_without_bound(bucket):
    """By induction: as many half-flits as the class has buckets, with room for one FC field each, take along whatever
    has waited for the delay."""
    bound = TWO.credit_return_delay + 1
    prove(ReleaseBench(TWO, watched=("rsp_data", bucket), bound=bound), mode="prove", depth=bound + 2)
