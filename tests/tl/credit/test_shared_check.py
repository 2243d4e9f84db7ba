"""Receive-side account of a joint Pool: exact against a plain ledger, at random and by proof."""

import random

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from ualink.config import Credits
from ualink.tl.credit.check import SPENT_LAYOUT
from ualink.tl.credit.shared_check import SharedCreditCheck
from ualink.tl.internal import RELEASE_LAYOUT
from ualink_sim.model.tl.credits import BUCKETS, CreditError, ReceiveCredits
from ualink_sim.model.tl.fields import UncompressedRequest, UncompressedResponse

KINDS = ("request", "response")
CLASS = {"request": "req_data", "response": "rsp_data"}


def field(kind, bucket, beats):
    """A field that spends ``beats`` data credits."""
    members = {"pool": bucket is None, "vchan": bucket or 0}
    if kind == "request":
        return UncompressedRequest(cmd=0x29, num_beats=beats - 1, **members)
    return UncompressedResponse(rd_wr=1, len=beats - 1, **members)


@pytest.mark.req("TL-148", "TL-149", "TL-150", "TL-165", "TL-166", "TL-168", "TL-220")
@pytest.mark.parametrize(
    "req_data, rsp_data",
    [
        (Credits(), Credits(pool=9)),
        (Credits(pool=8, vc=(0, 4, 0, 0)), Credits()),
        (Credits(pool=3, vc=(0, 0, 5, 0)), Credits(pool=7, vc=(0, 4, 6, 0))),
    ],
)
def test_underflow_is_that_of_the_model(req_data, rsp_data):
    """Each class spends the other's Pool, down to the last credit; one more is found, whichever class it is."""
    rng = random.Random(f"{req_data} {rsp_data}")
    announced = {"request": req_data, "response": rsp_data}
    dut = SharedCreditCheck(req_data, rsp_data)
    buffers = {(CLASS[kind], b): (c.pool, *c.vc)[n] for kind, c in announced.items() for n, b in enumerate(BUCKETS)}
    cmds = {(cmd, b): 600 for cmd in ("req_cmd", "rsp_cmd") for b in BUCKETS}
    model = ReceiveCredits({**cmds, **buffers})
    found = {(kind, bucket is None): 0 for kind in KINDS for bucket in (None, 0)}

    async def bench(ctx):
        while model.any_pending:
            model.flow_control_fields()
        held = []
        for _ in range(500):
            for kind in KINDS:
                ctx.set(getattr(dut.accounts, kind).release, {})
                ctx.set(getattr(dut.accounts, kind).spent, {})
            kind, bucket, count = rng.choice(KINDS), rng.choice((None, None, 1, 2)), rng.randint(1, 4)
            spent = {"valid": 1, "pool": bucket is None, "vc": bucket or 0, "count": count}
            ctx.set(getattr(dut.accounts, kind).spent, spent)
            try:
                model.receive(field(kind, bucket, count), shared_data_buffer=True)
                fits = True
            except CreditError:
                fits = False
                found[kind, bucket is None] += 1
            for name in KINDS:
                assert ctx.get(getattr(dut.accounts, name).underflow) == (name == kind and not fits)
            if fits:
                held.append((kind, bucket, count))
            else:
                ctx.set(getattr(dut.accounts, kind).spent, {})
            if held and rng.random() < 0.45:
                kind, bucket, count = held.pop(rng.randrange(len(held)))
                release = {"valid": 1, "pool": bucket is None, "vc": bucket or 0, "count": count}
                ctx.set(getattr(dut.accounts, kind).release, release)
                model.free(field(kind, bucket, count))
            await ctx.tick()
            while model.any_pending:
                model.flow_control_fields()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert all(found.values())


class JointBench(wiring.Component):
    """Both classes spend and free at will; ``out`` is what they have of the joint Pool."""

    request_spent: In(SPENT_LAYOUT)
    response_spent: In(SPENT_LAYOUT)
    request_release: In(RELEASE_LAYOUT)
    response_release: In(RELEASE_LAYOUT)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = SharedCreditCheck(Credits(), Credits(pool=8))
        out, counts, freed = Signal(6), {}, {}
        for kind in KINDS:
            spent, release = getattr(self, f"{kind}_spent"), getattr(self, f"{kind}_release")
            m.d.comb += [
                getattr(dut.accounts, kind).spent.eq(spent),
                getattr(dut.accounts, kind).release.eq(release),
                Assume(spent.count <= 4),
                Assume(spent.pool & release.pool),
            ]
            counts[kind] = Mux(spent.valid, spent.count, 0)
            freed[kind] = Mux(release.valid, release.count, 0)
        fits = out + counts["request"] + counts["response"] <= 8
        underflow = {kind: getattr(dut.accounts, kind).underflow for kind in KINDS}
        m.d.comb += [
            Assume(freed["request"] + freed["response"] <= out),
            Assert((underflow["request"] | underflow["response"]) == ~fits),
            Assert(~underflow["response"] | (out + counts["response"] > 8)),
            Assert(out <= 8),
        ]
        m.d.sync += out.eq(out + counts["request"] + counts["response"] - freed["request"] - freed["response"])
        # An underflow is fatal: what the account says after it does not count.
        stopped = Signal()
        m.d.sync += stopped.eq(stopped | ~fits)
        m.d.comb += Assume(~stopped)
        return m


@pytest.mark.req("TL-148", "TL-165", "TL-220")
def test_an_underflow_of_both_together_is_found():
    prove(JointBench(), mode="bmc", depth=5)
