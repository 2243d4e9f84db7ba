"""Credits for the partner: the initial release, returns to the very bucket, FC fields that may share a half-flit."""

import random

import pytest
from amaranth.sim import Simulator

from ualink.config import Credits, TLConfig
from ualink.tl.credit.release import FC_FIELDS, CreditRelease
from ualink_sim.model.tl.credits import BUCKETS, CLASSES, check_flow_control, combine
from ualink_sim.model.tl.fields import FlowControl

MIXED = TLConfig(
    req_cmd=Credits(pool=9, vc=(1, 0, 2, 3)),
    rsp_cmd=Credits(vc=(8, 1, 1, 1)),
    req_data=Credits(pool=70, vc=(0, 0, 0, 4)),
    rsp_data=Credits(pool=4, vc=(5, 6, 7, 8)),
)
RELEASES = {"req_cmd": "req_cmd", "rd_rsp_cmd": "rsp_cmd", "wr_rsp_cmd": "rsp_cmd"}
RELEASES |= {"req_data": "req_data", "rsp_data": "rsp_data"}


def totals(config):
    return {(kind, b): (getattr(config, kind).pool, *getattr(config, kind).vc)[n] for kind in CLASSES
            for n, b in enumerate(BUCKETS)}  # fmt: skip


class Bench:
    """Takes FC fields at random; ``owned`` is what the partner has been given and has not spent."""

    def __init__(self, ctx, dut, rng):
        self.ctx, self.dut, self.rng = ctx, dut, rng
        self.owned = {(kind, bucket): 0 for kind in CLASSES for bucket in BUCKETS}
        self.taken = self.cycles = 0

    async def cycle(self, probability=0.5, freed=()):
        ctx, dut = self.ctx, self.dut
        self.cycles += 1
        assert self.cycles < 1000, "there is always something to return"
        ctx.set(dut.release, {name: {"valid": 1, "pool": b is None, "vc": b or 0, "count": c} for name, b, c in freed})
        valid = ctx.get(dut.valid)
        take = sum(1 << n for n in range(FC_FIELDS) if valid >> n & 1 and self.rng.random() < probability)
        fields = [FlowControl.decode(ctx.get(dut.fields[n].as_value())) for n in range(FC_FIELDS) if valid >> n & 1]
        check_flow_control(fields)  # not only those taken: any of them may share a half-flit
        ctx.set(dut.take, take)
        chosen = [n for n in range(FC_FIELDS) if take >> n & 1]
        for n in chosen:
            for account, count in combine([FlowControl.decode(ctx.get(dut.fields[n].as_value()))]).items():
                self.owned[account] += count
        self.taken += len(chosen)
        await ctx.tick()
        ctx.set(dut.release, {})
        ctx.set(dut.take, 0)


def simulate(config, body, seed=0):
    dut = CreditRelease(config)

    async def bench(ctx):
        ctx.set(dut.enable, 1)
        await body(ctx, dut, Bench(ctx, dut, random.Random(seed)))

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.req("TL-153", "TL-155", "TL-157", "TL-158")
@pytest.mark.parametrize("config", [MIXED, TLConfig()])
def test_initial_release(config):
    async def body(ctx, dut, bench):
        ctx.set(dut.enable, 0)
        await ctx.tick().repeat(3)
        assert not ctx.get(dut.valid) and not ctx.get(dut.complete)  # held while buffers are still in use
        ctx.set(dut.enable, 1)
        cycles = 0
        while not ctx.get(dut.complete):
            assert not ctx.get(dut.init_sent)
            await bench.cycle()
            cycles += 1
            assert cycles < 200
        assert bench.owned == totals(config)
        assert not ctx.get(dut.valid)
        ctx.set(dut.complete_taken, 1)
        await ctx.tick()
        ctx.set(dut.complete_taken, 0)
        assert ctx.get(dut.init_sent) and not ctx.get(dut.complete)

    simulate(config, body)


@pytest.mark.req("TL-016", "TL-017", "TL-018", "TL-019", "TL-020", "TL-021", "TL-022", "TL-152", "TL-163")
@pytest.mark.parametrize("seed", [1, 2])
def test_returns_go_to_their_buckets(seed):
    async def body(ctx, dut, bench):
        while not ctx.get(dut.complete):
            await bench.cycle()
        ctx.set(dut.complete_taken, 1)
        await bench.cycle()
        ctx.set(dut.complete_taken, 0)
        busy = dict.fromkeys(bench.owned, 0)  # buffers the partner has filled
        for _ in range(400):
            for account in bench.rng.sample(sorted(busy, key=str), 4):
                spent = min(bench.rng.randint(0, 4), bench.owned[account])
                bench.owned[account] -= spent
                busy[account] += spent
            freed = []
            for name, kind in RELEASES.items():
                choices = [b for b in BUCKETS if busy[kind, b]]
                if choices and bench.rng.random() < 0.5:
                    bucket = bench.rng.choice(choices)
                    count = bench.rng.randint(1, min(4, busy[kind, bucket]))
                    busy[kind, bucket] -= count
                    freed.append((name, bucket, count))
            await bench.cycle(freed=freed)
        for _ in range(30):
            await bench.cycle(1.0)
        assert {k: bench.owned[k] + busy[k] for k in busy} == totals(MIXED)
        assert not ctx.get(dut.complete) and not ctx.get(dut.valid)

    simulate(MIXED, body, seed)


@pytest.mark.req("TL-152", "TL-170")
def test_one_field_returns_up_to_its_counts():
    async def body(ctx, dut, bench):
        field = FlowControl.decode(ctx.get(dut.fields[0].as_value()))
        assert (field.req_cmd.count, field.rsp_cmd.count) == (7, 7)
        assert (field.req_data.count, field.rsp_data.count) == (31, 31)
        while ctx.get(dut.valid):
            await bench.cycle(1.0)
        assert all(ctx.get(field.as_value()) == 0 for field in dut.fields)  # nothing to return: the NOP field

    simulate(TLConfig(), body)


def test_no_bucket_is_starved_by_another():
    """With one FC field at a time, a bucket waits for at most the four others of its class."""

    async def body(ctx, dut, bench):
        while not ctx.get(dut.complete):
            await bench.cycle(1.0)
        ctx.set(dut.release, {"rsp_data": {"valid": 1, "pool": 0, "vc": 3, "count": 1}})
        await ctx.tick()
        waited = 0
        for _ in range(12):
            ctx.set(dut.release, {"rsp_data": {"valid": 1, "pool": 1, "vc": 0, "count": 1}})
            field = FlowControl.decode(ctx.get(dut.fields[0].as_value()))
            ctx.set(dut.take, 1)
            await ctx.tick()
            if field.rsp_data.vc == 3:
                break
            waited += 1
        assert waited <= 4

    simulate(MIXED, body)


async def finish_release(ctx, dut, bench):
    while not ctx.get(dut.complete):
        assert ctx.get(dut.urgent)  # all that is still to be announced
        await bench.cycle(1.0)
    assert not ctx.get(dut.urgent)
    ctx.set(dut.complete_taken, 1)
    await ctx.tick()
    ctx.set(dut.complete_taken, 0)


@pytest.mark.req("TL-152", "TL-163")
@pytest.mark.parametrize(
    "name, bucket, total, patient",
    [
        ("req_cmd", None, 64, 6),  # seven fill the field, a quarter would be 16
        ("wr_rsp_cmd", None, 16, 3),
        ("req_data", 2, 12, 2),
        ("req_data", None, 300, 30),  # 31 fill the field
        ("rsp_data", None, 100, 24),
        ("rsp_data", None, 4, 0),  # a partner with the least does not wait at all
        ("rd_rsp_cmd", 3, 1, 0),
        ("req_cmd", None, 5, 1),  # a quarter of five is more than one
    ],
)
def test_credits_wait_for_company_but_not_for_long(name, bucket, total, patient):
    """``patient`` credits may wait, the next one makes them urgent; each alone is urgent after the delay."""
    kind = RELEASES[name]
    vcs = tuple(total if vc == bucket else 0 for vc in range(4))
    others = {"req_cmd": Credits(pool=1), "rsp_cmd": Credits(pool=1)}
    credits = Credits(pool=total if bucket is None else 4, vc=vcs)
    config = TLConfig(**{**others, kind: credits}, credit_return_delay=40)

    async def body(ctx, dut, bench):
        await finish_release(ctx, dut, bench)
        for n in range(patient + 1):
            await bench.cycle(0.0, freed=[(name, bucket, 1)])
            assert ctx.get(dut.urgent) == (n == patient)
        while ctx.get(dut.valid):
            assert ctx.get(dut.urgent)
            await bench.cycle(1.0)
        assert not ctx.get(dut.urgent)
        if patient:
            await bench.cycle(0.0, freed=[(name, bucket, 1)])
            for _ in range(config.credit_return_delay):
                assert not ctx.get(dut.urgent) and ctx.get(dut.valid)
                await bench.cycle(0.0)
            assert ctx.get(dut.urgent)
            await bench.cycle(1.0)
            assert not ctx.get(dut.urgent) and not ctx.get(dut.valid)

    simulate(config, body)


@pytest.mark.req("TL-163")
def test_the_delay_counts_from_the_oldest_credit():
    """Company that comes later does not make the first one wait again, and what comes after it has its own time."""
    config = TLConfig(credit_return_delay=10)

    async def body(ctx, dut, bench):
        await finish_release(ctx, dut, bench)
        await bench.cycle(0.0, freed=[("req_data", None, 1)])
        for n in range(config.credit_return_delay):
            assert not ctx.get(dut.urgent)
            await bench.cycle(0.0, freed=[("req_data", None, 1)] if n % 3 == 0 else [])
        assert ctx.get(dut.urgent)
        await bench.cycle(1.0, freed=[("req_data", None, 1)])
        for _ in range(config.credit_return_delay):
            assert not ctx.get(dut.urgent)
            await bench.cycle(0.0)
        assert ctx.get(dut.urgent)

    simulate(config, body)


def test_a_field_that_is_passed_over_comes_first():
    """The first and the last field leave, those between do not: they do not wait behind the others again."""
    config = TLConfig(rsp_data=Credits(pool=8, vc=(8, 8, 8, 8)))

    async def body(ctx, dut, bench):
        await finish_release(ctx, dut, bench)
        seen = set()
        for _ in range(4):
            freed = [{"valid": 1, "pool": b is None, "vc": b or 0, "count": 1} for b in BUCKETS]
            for event in freed:
                ctx.set(dut.release.rsp_data, event)
                await ctx.tick()
            ctx.set(dut.release.rsp_data, {})
            for n in (0, 4):
                field = FlowControl.decode(ctx.get(dut.fields[n].as_value()))
                seen.add(field.rsp_data.vc)
            ctx.set(dut.take, 0b10001)
            await ctx.tick()
            ctx.set(dut.take, 0)
        assert seen == set(BUCKETS)

    simulate(config, body)


@pytest.mark.req("TL-022", "TL-163", "TL-165", "TL-166")
def test_the_joint_pool_returns_as_the_class_of_the_transaction():
    """All of the Pool is announced as RspData; Requests have it, and it comes home as ReqData (ruling D15)."""
    config = TLConfig(rsp_data=Credits(pool=40), req_data=Credits(pool=4), shared_data_buffer=True)

    async def body(ctx, dut, bench):
        await finish_release(ctx, dut, bench)
        assert bench.owned["rsp_data", None] == 40 and bench.owned["req_data", None] == 4
        bench.owned = dict.fromkeys(bench.owned, 0)
        for _ in range(11):
            await bench.cycle(0.0, freed=[("req_data", None, 4)])  # nothing leaves until all 44 wait
        assert ctx.get(dut.urgent)
        while ctx.get(dut.valid):
            await bench.cycle(1.0)
        assert bench.owned["req_data", None] == 44 and sum(bench.owned.values()) == 44

    simulate(config, body)


@pytest.mark.req("TL-153", "TL-155", "TL-166", "TL-168")
@pytest.mark.parametrize("empty", ["req_data", "rsp_data"])
def test_a_data_class_that_announces_nothing(empty):
    """Its Pool is that of the other class; what its transactions free goes home all the same."""
    config = TLConfig(
        shared_data_buffer=True, **{"req_data": Credits(pool=16), "rsp_data": Credits(pool=16), empty: Credits()}
    )

    async def body(ctx, dut, bench):
        await finish_release(ctx, dut, bench)
        assert bench.owned == totals(config) and bench.owned[empty, None] == 0
        await bench.cycle(0.0, freed=[(empty, None, 4)])
        await bench.cycle(1.0)
        assert bench.owned[empty, None] == 4

    simulate(config, body)
