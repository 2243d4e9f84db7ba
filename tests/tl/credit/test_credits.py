"""Transmit credit counters: random claims, Shared Data Buffer mode, errors, proof that no bucket is overdrawn."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from ualink.config import Credits, TLConfig
from ualink.tl.credit.credits import TransmitCredits
from ualink.tl.format.fields import CREDIT_CLASSES
from ualink.tl.internal import CREDIT_UPDATE_LAYOUT
from ualink_sim.model.tl.credits import BUCKETS, CLASSES

SMALL = TLConfig(
    **{name: Credits(pool=4) for name in CLASSES},
    cmd_counter_bits=5,
    data_counter_bits=5,
)


class Driver:
    """One transmit-credit block with its ports, and a ledger kept from the rules of the standard."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.shared = False
        self.ledger = {(kind, bucket): 0 for kind in CLASSES for bucket in BUCKETS}
        self.fresh = dict(self.ledger)

    def update(self, counts):
        self.ctx.set(
            self.dut.update,
            {
                "valid": bool(counts),
                **{
                    kind: {"pool": counts.get((kind, None), 0), "vc": [counts.get((kind, vc), 0) for vc in range(4)]}
                    for kind in CLASSES
                },
            },
        )
        self.fresh = dict.fromkeys(self.ledger, 0)
        for (kind, bucket), count in counts.items():
            self.ledger[self.account(kind, bucket)] += count
            self.fresh[self.account(kind, bucket)] += count

    def old(self):
        """What can be claimed now: all but the credits of the last ``update``."""
        return {account: count - self.fresh[account] for account, count in self.ledger.items()}

    def account(self, kind, bucket):
        return ("req_data", None) if self.shared and (kind, bucket) == ("rsp_data", None) else (kind, bucket)

    def claim(self, kind, vc, beats):
        """Offer a claim, take it when granted; return the bucket or False."""
        port = {"req": self.dut.request, "rsp": self.dut.response}[kind]
        self.ctx.set(port.valid, 1)
        self.ctx.set(port.vc, vc)
        self.ctx.set(port.beats, beats)
        granted, pool = self.ctx.get(port.granted), self.ctx.get(port.pool)
        self.ctx.set(port.take, granted)
        if not granted:
            return False
        bucket = None if pool else vc
        self.ledger[kind + "_cmd", bucket] -= 1
        self.ledger[self.account(kind + "_data", bucket)] -= beats
        return bucket

    def idle(self):
        self.update({})
        for port in (self.dut.request, self.dut.response):
            self.ctx.set(port.valid, 0)
            self.ctx.set(port.take, 0)

    def check(self):
        counts = self.ctx.get(self.dut.counts)
        seen = {}
        for kind in CLASSES:
            seen[kind, None] = counts[kind].pool
            seen |= {(kind, vc): counts[kind].vc[vc] for vc in range(4)}
        assert seen == self.ledger


def simulate(config, body):
    dut = TransmitCredits(config)

    async def bench(ctx):
        await body(ctx, dut, Driver(ctx, dut))

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


async def start(ctx, dut, driver, counts, shared=False):
    driver.update(counts)
    await ctx.tick()
    driver.idle()
    ctx.set(dut.peer_init_done, 1)
    ctx.set(dut.peer_shared_data, shared)
    ctx.set(dut.enable, 1)
    await ctx.tick()
    if shared:
        driver.shared = True
        driver.ledger["req_data", None] += driver.ledger["rsp_data", None]
        driver.ledger["rsp_data", None] = 0
        await ctx.tick()
    await ctx.tick()


@pytest.mark.req(
    *("TL-024", "TL-025", "TL-146", "TL-149", "TL-150", "TL-156", "TL-158", "TL-159", "TL-160", "TL-164", "TL-219"),
)
@pytest.mark.parametrize("shared", [False, True])
def test_random_claims_and_returns(shared):
    rng = random.Random(shared)

    async def body(ctx, dut, driver):
        initial = {(kind, bucket): rng.randint(0, 7) for kind in CLASSES for bucket in BUCKETS}
        await start(ctx, dut, driver, initial, shared)
        spent = []
        for _ in range(400):
            before = driver.old()
            driver.idle()
            returned = {}
            for account in rng.sample(spent, min(len(spent), rng.randint(0, 3))):
                if returned.get(account, 0) < 6:
                    spent.remove(account)
                    returned[account] = returned.get(account, 0) + 1
            for kind in ("rsp", "req"):
                if rng.random() < 0.7:
                    vc, beats = rng.randrange(4), rng.randint(0, 4)
                    pool = before[kind + "_cmd", None] and before[driver.account(kind + "_data", None)] >= beats
                    own = before[kind + "_cmd", vc] and before[kind + "_data", vc] >= beats
                    bucket = driver.claim(kind, vc, beats)
                    if not shared:
                        assert (bucket is None) == bool(pool)  # the Pool first
                        assert (bucket is not False) == bool(pool or own)
                    if bucket is not False:
                        spent += [(kind + "_cmd", bucket)] + [(kind + "_data", bucket)] * beats
            driver.update(returned)
            await ctx.tick()
            driver.check()
            assert min(driver.ledger.values()) >= 0 and not ctx.get(dut.protocol_error)

    simulate(TLConfig(), body)


@pytest.mark.req("TL-146", "TL-150", "TL-160", "TL-219")
@pytest.mark.parametrize("bucket", [None, 2])
@pytest.mark.parametrize("kind", ["req", "rsp"])
def test_a_credit_that_comes_back_with_a_claim_is_not_the_one_it_takes(kind, bucket):
    """A claim in every cycle around each return: it is granted two cycles after its credits came, not before."""
    one = {(f"{kind}_cmd", bucket): 1, (f"{kind}_data", bucket): 2}

    async def body(ctx, dut, driver):
        await start(ctx, dut, driver, {account: 2 * count for account, count in one.items()})
        granted = []
        for cycle in range(16):
            driver.idle()
            granted.append(driver.claim(kind, 2, 2) is not False)
            driver.update(one if cycle in (3, 5, 6, 11) else {})
            await ctx.tick()
            driver.check()
        assert granted == [cycle in (0, 1, 5, 7, 8, 13) for cycle in range(16)]
        assert not ctx.get(dut.protocol_error)

    simulate(TLConfig(), body)


@pytest.mark.req("TL-154", "TL-161")
def test_nothing_is_granted_before_both_releases():
    async def body(ctx, dut, driver):
        driver.check()  # all zero after reset
        ctx.set(dut.enable, 1)
        driver.update({(kind, None): 7 for kind in CLASSES})
        await ctx.tick()
        driver.idle()
        await ctx.tick()
        assert driver.claim("req", 0, 1) is False and driver.claim("rsp", 0, 1) is False
        ctx.set(dut.peer_init_done, 1)
        ctx.set(dut.enable, 0)
        await ctx.tick()
        assert driver.claim("req", 0, 1) is False and driver.claim("rsp", 0, 1) is False
        ctx.set(dut.enable, 1)
        assert driver.claim("req", 0, 1) is None and driver.claim("rsp", 0, 1) is None

    simulate(TLConfig(), body)


@pytest.mark.req("TL-165", "TL-166", "TL-168")
def test_shared_data_buffer_serves_both_kinds_and_responses_first():
    async def body(ctx, dut, driver):
        initial = {("req_cmd", None): 7, ("rsp_cmd", None): 7, ("rsp_data", None): 6}
        await start(ctx, dut, driver, initial, shared=True)
        assert driver.claim("req", 0, 4) is None  # without one credit of its own class
        await ctx.tick()
        driver.check()
        driver.idle()
        assert driver.claim("rsp", 0, 2) is None
        assert driver.claim("req", 0, 1) is False  # what the Response takes is not there for the Request
        await ctx.tick()
        driver.idle()
        driver.update({("rsp_data", None): 2, ("req_data", None): 4})
        await ctx.tick()
        driver.check()
        assert ctx.get(dut.counts.req_data.pool) == 6 and not ctx.get(dut.protocol_error)

    simulate(TLConfig(), body)


@pytest.mark.req("TL-168", "TL-215")
@pytest.mark.parametrize("total, requests", [(11, [4, 3]), (8, [4]), (6, [4]), (4, [4])])
def test_requests_leave_a_largest_transfer_of_the_joint_pool_to_responses(total, requests):
    """With less than two of them in the Pool they leave what is above one."""

    async def body(ctx, dut, driver):
        initial = {("req_cmd", None): 7, ("rsp_cmd", None): 7, ("rsp_data", None): total}
        await start(ctx, dut, driver, initial, shared=True)
        for beats in requests:
            assert driver.claim("req", 0, beats) is None
            await ctx.tick()
            driver.idle()
        left = total - sum(requests)
        assert left == min(4, max(0, total - 4))
        for beats in range(1, 5):
            assert driver.claim("req", 0, beats) is False
        driver.idle()
        assert driver.claim("req", 0, 0) is None  # one without data needs nothing of the Pool
        driver.idle()
        driver.ledger["req_cmd", None] += 1
        if left:
            assert driver.claim("rsp", 0, left) is None
        await ctx.tick()
        driver.check()

    simulate(TLConfig(), body)


@pytest.mark.req("TL-219")
@pytest.mark.parametrize("account", [("req_cmd", None), ("rsp_cmd", 2), ("req_data", 3), ("rsp_data", None)])
@pytest.mark.parametrize("shared", [False, True])
def test_a_credit_too_many_is_a_protocol_error(account, shared):
    async def body(ctx, dut, driver):
        initial = {(kind, bucket): 5 for kind in CLASSES for bucket in BUCKETS}
        await start(ctx, dut, driver, initial, shared)
        driver.claim("req", 0, 4)
        await ctx.tick()
        driver.idle()
        driver.update({("req_cmd", None): 1, ("req_data", None): 4})
        await ctx.tick()
        driver.idle()
        await ctx.tick()
        assert not ctx.get(dut.protocol_error)
        driver.update({account: 1})
        await ctx.tick()
        driver.idle()
        await ctx.tick().repeat(3)
        assert ctx.get(dut.protocol_error)

    simulate(TLConfig(), body)


@pytest.mark.req("TL-219")
def test_counter_overflow_in_the_initial_release_is_a_protocol_error():
    async def body(ctx, dut, driver):
        for _ in range(2):
            driver.update({("rsp_data", 1): 15})
            await ctx.tick()
        driver.idle()
        await ctx.tick().repeat(3)
        assert not ctx.get(dut.protocol_error)
        driver.update({("rsp_data", 1): 2})
        await ctx.tick()
        driver.idle()
        await ctx.tick().repeat(2)
        assert ctx.get(dut.protocol_error)

    simulate(SMALL, body)


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
    valid: In(2)
    vc: In(data.ArrayLayout(2, 2))
    beats: In(data.ArrayLayout(3, 2))
    take: In(2)

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
        claims = (dut.request, dut.response)
        for n, claim in enumerate(claims):
            m.d.comb += [
                Assume(self.beats[n] <= 4),
                claim.valid.eq(self.valid[n]),
                claim.vc.eq(self.vc[n]),
                claim.beats.eq(self.beats[n]),
                claim.take.eq(self.valid[n] & self.take[n] & claim.granted),
                Assert(~claim.granted | (done & self.enable)),
            ]

        flagged, wrong, apart = Signal(), Const(0), Signal()
        m.d.comb += apart.eq(~shared)

        def account(name, members, spent, when=1):
            return self._account(m, dut, name, members, spent, announcing, when, flagged)

        for credit_class in CREDIT_CLASSES:
            claim = claims[credit_class.startswith("rsp")]
            amount = claim.beats if credit_class.endswith("data") else 1
            # All VCs are alike: the partner gives credits of two, which both claims name at will.
            for vc in (0, 2):
                m.d.comb += Assume(self.update[credit_class].vc[vc] == 0)
                m.d.comb += [Assert(counts[credit_class].vc[vc] == 0) for counts in (dut.counts, dut.announced)]
                m.d.comb += Assert((dut.at_least[credit_class].vc[vc] == 0) & ~dut.exceeds[credit_class].vc[vc])
            for vc in (1, 3):
                spent = Mux(claim.take & ~claim.pool & (claim.vc == vc), amount, 0)
                wrong |= account(f"{credit_class}_{vc}", [(credit_class, vc)], spent)
            if credit_class.endswith("cmd"):
                wrong |= account(f"{credit_class}_pool", [(credit_class, None)], claim.take & claim.pool)
        spent = [Mux(claim.take & claim.pool, claim.beats, 0) for claim in claims]
        for n, pool in enumerate(DATA_POOLS):
            wrong |= account(f"data_pool_{n}", [pool], spent[n], apart)
        wrong |= account("data_pools", DATA_POOLS, spent[0] + spent[1], shared)

        # Once merged, all of the joint Pool is in the counter that both claim from, and Responses find some there.
        joint, total = dut.counts.req_data.pool, dut.announced.req_data.pool
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
        with m.If(merged & ~settled):
            m.d.comb += [Assert(counts.pool == all_of.pool) for counts, all_of in data_pools]
        with m.If(settled):
            m.d.comb += Assert((dut.counts.rsp_data.pool == 0) & (dut.announced.rsp_data.pool == 0))
            # A claim is decided by what is certain: the counter of one cycle ago, less what was taken then. Whatever a
            # partner returns, these were there. If it returns so many that the counter overflows, they are no longer
            # in the counter itself; then it was told of an error, and only then.
            with m.If(dut.request.take & dut.request.pool & (asked != 0)):
                m.d.comb += [Assert(certain >= asked + kept_before), Assert(flagged | (joint >= asked + kept))]

        m.d.sync += flagged.eq(flagged | wrong)
        m.d.comb += Assert(~flagged | ~announcing)
        self._tell(m, dut, flagged)
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
        m.d.comb += [
            count.eq(number(dut.counts)),
            announced.eq(number(dut.announced)),
            gained.eq(Mux(self.update.valid, number(self.update), 0)),
        ]
        with m.If(announcing):
            m.d.comb += [Assume(announced + gained <= 15), Assert((out == 0) & (spent == 0))]
        with m.Else():
            m.d.sync += out.eq(out + spent - gained)
        with m.If((when | announcing) & ~flagged):
            m.d.comb += [Assert(spent <= count), Assert(count + out == announced), Assert(announced <= 15)]
        # Of a bucket that takes too many the block says so in the next cycle, if it is the first.
        wrong, too_many, before = Signal(), Signal(), Signal()
        m.d.comb += wrong.eq(when & ~announcing & (gained > out + spent))
        m.d.sync += [too_many.eq(wrong), before.eq(flagged)]
        with m.If((when | announcing) & ~before):
            m.d.comb += Assert((number(dut.exceeds) != 0) == too_many)
        return wrong


@pytest.mark.req("TL-159", "TL-160", "TL-165", "TL-218", "TL-219")
def test_credits_in_hand_and_credits_out_are_those_announced():
    """By induction: no counter falls below zero or exceeds what was announced, nor is an honest partner accused."""
    prove(ClaimBench(), mode="prove", depth=1)
