"""Sender and receiver accounts: initial release, qualification, returns, and the invariant proved."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from support.upli.pair import simulate
from ualink.config import Credits
from ualink.upli.credits import ReceiverCredits, SenderCredits
from ualink.upli.parity import credit_parity


def drive_return(ctx, credit, returns, others=lambda: (0, 0, 1)):
    """Put ``returns`` {port: (pool, vc, number)} on a credit interface, with right parity.

    ``others()`` is what stands there for each port that returns nothing.
    """
    vld = sum(1 << port for port in returns)
    shown = {port: returns[port] if port in returns else others() for port in range(4)}
    pool = sum(pool << port for port, (pool, _, _) in shown.items())
    ctx.set(credit.vld, vld)
    ctx.set(credit.pool, pool)
    ones = bin(pool).count("1")
    for port in range(4):
        _, vc, number = shown[port]
        ctx.set(credit.port_vc[port], vc)
        ctx.set(credit.port_num[port], number - 1)
        ones += bin(vc).count("1") + bin(number - 1).count("1")
    ctx.set(credit.vld_parity, bin(vld).count("1") % 2)
    ctx.set(credit.parity, ones % 2)


@pytest.mark.req("UPLI-093", "UPLI-094", "UPLI-096", "UPLI-097", "UPLI-098", "UPLI-099", "UPLI-100", "UPLI-101")
@pytest.mark.req("UPLI-102", "UPLI-108", "UPLI-121", "UPLI-300", "UPLI-376")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_sender_accounts(ports):
    """Random returns for any ports at once and random spends, against five counts per port.

    Class, VC and number of a port without a return are random, too, and mean nothing.
    """
    rng = random.Random(ports)
    dut = SenderCredits(ports, 2)

    def some():
        return rng.randrange(2), rng.randrange(4), rng.randrange(1, 5)

    async def bench(ctx):
        held = {(port, kind): 0 for port in range(ports) for kind in ("pool", 0, 1, 2, 3)}
        ctx.set(dut.listen, 1)
        ctx.set(dut.credit.init_done, 15)
        for cycle in range(2):
            ctx.set(dut.port, cycle % ports)
            assert not ctx.get(dut.available)
            await ctx.tick()
        coming = {}
        for cycle in range(400):
            returns = {port: some() for port in range(4) if rng.random() < (0.5 if cycle < 100 else 0.1)}
            drive_return(ctx, dut.credit, returns, some)
            port, vc = cycle % ports, rng.randrange(4)
            ctx.set(dut.port, port)
            ctx.set(dut.vc, 1 << vc)
            usable = held[port, "pool"] + held[port, vc]
            assert ctx.get(dut.available) == (1 << min(usable, 4)) - 1
            if usable:
                assert ctx.get(dut.pool) == (held[port, "pool"] > 0)
            spend = usable > 0 and rng.random() < 0.9
            ctx.set(dut.spend, spend)
            assert not ctx.get(dut.control_error) and not ctx.get(dut.overflow)
            if spend:
                held[port, "pool" if held[port, "pool"] else vc] -= 1
            # Returns are counted one cycle after they came.
            for returned, (pool, at, number) in coming.items():
                if returned < ports:
                    held[returned, "pool" if pool else at] += number
            coming = returns
            await ctx.tick()
        counts = [ctx.get(account) for accounts in dut.accounts for account in accounts]
        assert counts == [held[port, kind] for port in range(ports) for kind in ("pool", 0, 1, 2, 3)]

    simulate(dut, bench)


@pytest.mark.req("UPLI-112", "UPLI-113", "UPLI-114", "UPLI-115", "UPLI-110")
@pytest.mark.parametrize("qualification", [2, 3, 7])
def test_qualification(qualification):
    """Only as many consecutive cycles of CreditInitDone make a port usable; credits count before, and glitches after do
    not matter."""
    dut = SenderCredits(2, qualification)

    async def bench(ctx):
        async def cycles(number, *available):
            """So many, in each of which the port whose turn it is has of ``available`` what is its own."""
            for _ in range(number):
                await ctx.tick()
                port = 1 - ctx.get(dut.port)
                ctx.set(dut.port, port)
                assert ctx.get(dut.available) == available[port]

        ctx.set(dut.listen, 1)
        drive_return(ctx, dut.credit, {0: (1, 0, 3), 1: (1, 0, 2)})
        await cycles(1, 0, 0)
        drive_return(ctx, dut.credit, {})
        await cycles(1, 0, 0)
        for _ in range(3):
            ctx.set(dut.credit.init_done, 1)
            await cycles(qualification - 1, 0, 0)
            ctx.set(dut.credit.init_done, 0)
            await cycles(1, 0, 0)
        ctx.set(dut.credit.init_done, 1)
        await cycles(qualification - 1, 0, 0)
        await cycles(2, 0b111, 0)
        ctx.set(dut.credit.init_done, 0)
        await cycles(4, 0b111, 0)
        ctx.set(dut.credit.init_done, 2)
        await cycles(qualification - 1, 0b111, 0)
        await cycles(2, 0b111, 0b11)

    simulate(dut, bench)


@pytest.mark.req("UPLI-174", "UPLI-175", "RST-046")
def test_wrong_or_early_returns_do_not_count():
    dut = SenderCredits(4, 2)

    async def bench(ctx):
        drive_return(ctx, dut.credit, {0: (1, 0, 4)})
        await ctx.tick()
        assert not any(ctx.get(a) for a in dut.accounts[0])
        ctx.set(dut.credit.parity, ~ctx.get(dut.credit.parity) & 1)
        await ctx.tick()
        assert not any(ctx.get(a) for a in dut.accounts[0])
        assert not ctx.get(dut.control_error)
        ctx.set(dut.listen, 1)
        await ctx.tick()
        assert ctx.get(dut.control_error)
        drive_return(ctx, dut.credit, {0: (1, 0, 4)})
        await ctx.tick()
        assert not ctx.get(dut.control_error)
        assert not any(ctx.get(a) for a in dut.accounts[0])
        await ctx.tick()
        assert ctx.get(dut.accounts[0][0]) == 4
        # A partner that returns what it never got cannot make the account wrap.
        for _ in range(254):
            assert not ctx.get(dut.overflow)
            await ctx.tick()
        assert ctx.get(dut.overflow)
        await ctx.tick()
        assert ctx.get(dut.accounts[0][0]) == 1023

    simulate(dut, bench)


RELEASES = [
    Credits(pool=6, vc=(0, 2, 0, 0)),
    Credits(pool=1),
    Credits(pool=16),
    Credits(vc=(1, 4, 5, 9)),
    Credits(vc=(0, 0, 0, 1)),
    Credits(pool=9, vc=(3, 0, 0, 4)),
]


@pytest.mark.req("UPLI-095", "UPLI-103", "UPLI-104", "UPLI-106", "UPLI-109", "UPLI-111", "UPLI-108", "RST-003")
@pytest.mark.parametrize("ports", [1, 4])
@pytest.mark.parametrize("credits", RELEASES, ids=str)
def test_initial_release(credits, ports):
    """Nothing before ``open``; then just the buffers, four at most in a cycle; InitDone after the last and for good."""
    dut = ReceiverCredits(credits, ports)

    async def bench(ctx):
        for _ in range(3):
            await ctx.tick()
            assert not ctx.get(dut.credit.vld) and not ctx.get(dut.credit.init_done)
        ctx.set(dut.open, 1)
        released = [{} for _ in range(ports)]
        cycles = sum(-(-count // 4) for count in (credits.pool, *credits.vc))
        for _ in range(cycles):
            await ctx.tick()
            assert ctx.get(dut.credit.vld) == (1 << ports) - 1
            assert not ctx.get(dut.credit.init_done)
            for port in range(ports):
                key = ctx.get(dut.credit.pool) >> port & 1, ctx.get(dut.credit.port_vc[port])
                released[port][key] = released[port].get(key, 0) + ctx.get(dut.credit.port_num[port]) + 1
        expected = {(0, vc): count for vc, count in enumerate(credits.vc) if count}
        if credits.pool:
            expected[1, 0] = credits.pool
        assert released == [expected] * ports
        for _ in range(5):
            await ctx.tick()
            assert not ctx.get(dut.credit.vld)
            assert ctx.get(dut.credit.init_done) == (1 << ports) - 1

    simulate(dut, bench)


@pytest.mark.req("UPLI-120", "UPLI-097", "UPLI-098")
def test_replay():
    """A popped beat's VC and class come back one cycle later, for all ports in one cycle."""
    rng = random.Random(1)
    dut = ReceiverCredits(Credits(pool=1), 4)

    async def bench(ctx):
        ctx.set(dut.open, 1)
        await ctx.tick().repeat(4)
        for _ in range(60):
            pops, pools, vcs = rng.getrandbits(4), rng.getrandbits(4), [rng.randrange(4) for _ in range(4)]
            ctx.set(dut.pop, pops)
            ctx.set(dut.pop_pool, pools)
            for port in range(4):
                ctx.set(dut.pop_vc[port], vcs[port])
            await ctx.tick()
            assert ctx.get(dut.credit.vld) == pops
            assert ctx.get(dut.credit.pool) & pops == pools & pops
            for port in range(4):
                if pops >> port & 1:
                    assert ctx.get(dut.credit.port_vc[port]) == vcs[port]
                    assert ctx.get(dut.credit.port_num[port]) == 0

    simulate(dut, bench)


class AccountBench(wiring.Component):
    """One account, any, of an honest partner: held + in use = released, whatever the order of releases and returns."""

    vld: In(4)
    pool: In(4)
    vc: In(2)
    num: In(2)
    spend_vc: In(2)
    spend: In(1)

    def __init__(self, watched_port, watched):
        self.watched_port, self.watched = watched_port, watched
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = SenderCredits(2, 2)
        turn = Signal()
        m.d.sync += turn.eq(~turn)
        m.d.comb += [
            dut.listen.eq(1),
            dut.credit.init_done.eq(15),
            dut.credit.vld.eq(self.vld),
            dut.credit.pool.eq(self.pool),
            dut.port.eq(turn),
            dut.vc.eq(1 << self.spend_vc),
            dut.spend.eq(self.spend),
            Assume(~self.spend | (dut.available != 0)),
        ]
        for port in range(4):
            m.d.comb += [dut.credit.port_vc[port].eq(self.vc), dut.credit.port_num[port].eq(self.num)]
        m.d.comb += [getattr(dut.credit, name).eq(value) for name, value in credit_parity(dut.credit).items()]
        held = dut.accounts[self.watched_port][self.watched]
        is_pool = self.watched == 0
        released, in_use = Signal(8), Signal(8)
        coming, returned = Signal(3), Signal(3)
        matches = (
            self.pool[self.watched_port] if is_pool else (~self.pool[self.watched_port] & (self.vc == self.watched - 1))
        )
        spent = (
            self.spend
            & (turn == self.watched_port)
            & (dut.pool if is_pool else ~dut.pool & (self.spend_vc == self.watched - 1))
        )
        with m.If(self.vld[self.watched_port] & matches):
            m.d.comb += coming.eq(self.num + 1)
        m.d.sync += returned.eq(coming)
        # A return is either of what is in use or, up to 200 in all, a first release.
        fresh = Signal()
        m.d.comb += fresh.eq(returned > in_use)
        with m.If(fresh):
            m.d.comb += Assume(released <= 200)
            m.d.sync += [released.eq(released + returned), in_use.eq(in_use + spent)]
        with m.Else():
            m.d.sync += in_use.eq(in_use + spent - returned)
        for accounts, flags in zip(dut.accounts, dut.more):
            for account, more in zip(accounts, flags):
                m.d.comb += Assert(more == Cat(account > n for n in range(4)))
        m.d.comb += [
            Assert(held + in_use == released),
            Assert(released <= 204),
            Assert(~spent | (held != 0)),
        ]
        return m


@pytest.mark.req("UPLI-051", "UPLI-119", "UPLI-376")
@pytest.mark.parametrize(("port", "account"), [(0, 0), (1, 0), (1, 3)])
def test_invariant(port, account):
    prove(AccountBench(port, account), mode="prove", depth=3)
