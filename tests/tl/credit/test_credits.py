"""Transmit credit counters: random claims, Shared Data Buffer mode and errors."""

import random

import pytest
from amaranth.sim import Simulator

from ualink.config import Credits, TLConfig
from ualink.tl.credit.credits import TransmitCredits
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
        response = self.dut.read if beats else self.dut.write
        port = {"req": self.dut.request, "rsp": response}[kind]
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
        for port in (self.dut.request, self.dut.read, self.dut.write):
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
