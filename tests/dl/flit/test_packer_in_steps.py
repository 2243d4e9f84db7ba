"""A packer that works in two or four steps against the executable model: throughput, stalls, flush in each of them."""

import random

import pytest
from amaranth.sim import Simulator

from support.dl.packing_bench import BEATS, PackerRun, compare, flit_payload, random_flits
from ualink.dl.flit.packer import Packer
from ualink_sim.model.dl import packing as dl_packing


@pytest.mark.req("DL-001", "DL-009", "DL-010", "DL-011", "DL-019", "DL-021", "DL-023", "DL-026", "DL-029", "DL-031")
@pytest.mark.parametrize("n", [2, 4])
def test_saturated_throughput_in_steps(n):
    """As many sectors, a beat every ``n`` cycles; messages now and then."""
    rng = random.Random(21)
    run = PackerRun(
        random_flits(rng, 120),
        [rng.getrandbits(32) for _ in range(20)],
        dl_flits=11,
        n=n,
        offer_message=lambda cycle: cycle > 50 * n and rng.random() < 0.1 / n,
    )
    results = compare(run)
    assert sum(tick["taken"] for tick in run.ticks[: 5 * BEATS]) == -(-157 * 5 // 16)
    assert len({carry for _, carry in results}) > 6
    assert any(header & 1 for packed, _ in results for header in packed.segment_headers)
    assert run.beat_cycles == [n + n * k for k in range(11 * BEATS)]


@pytest.mark.req(
    "DL-001", "DL-013", "DL-014", "DL-015", "DL-016", "DL-017", "DL-018", "DL-019", "DL-020", "DL-021", "DL-022",
    "DL-023", "DL-024", "DL-025", "DL-026", "DL-027", "DL-028", "DL-029", "DL-030", "DL-031"
)  # fmt: skip
@pytest.mark.parametrize(
    ("n", "load", "message_load", "accept", "online", "ready"),
    [
        (2, 0.9, 0.5, 0.9, 0.95, 0.8),
        (4, 0.6, 0.8, 1, 1, 0.7),
        (4, 0.95, 0.3, 0.9, 0.95, 1),
        (4, 0.1, 0.1, 0.9, 1, 0.3),
    ],
)
def test_random_traffic_in_steps_agrees_with_model(n, load, message_load, accept, online, ready):
    """What is offered comes in every step of a beat, so does a stall, and the answer whether there is room."""
    rng = random.Random(f"{n} {load} {message_load}")
    dl_flits = 30
    run = PackerRun(
        random_flits(rng, 10 * dl_flits),
        [rng.getrandbits(32) for _ in range(5 * dl_flits)],
        dl_flits=dl_flits,
        n=n,
        offer_flit=lambda cycle: rng.random() < load / n,
        offer_message=lambda cycle: rng.random() < message_load / 2 / n,
        accept=lambda cycle: rng.random() < accept,
        online=lambda cycle: rng.random() < online,
        ready=lambda cycle: rng.random() < ready,
    )
    results = compare(run)
    assert any(packed.payload for packed, _ in results)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("beats", [0, 1, 9])
def test_flush_in_each_cycle_of_a_beat(n, beats):
    """``beats`` have gone and the next is being made, or waits: none of it is left in the DL flit after the flush."""
    dut = Packer(n)
    rng = random.Random(beats)
    flits = random_flits(rng, 40)

    async def bench(ctx):
        for name in ("accept_one", "accept_two", "channel_online"):
            ctx.set(getattr(dut, name), 1)
        for cycle in range(n + 2):
            ctx.set(dut.flit.valid, 1)
            ctx.set(dut.message.valid, 1)
            ctx.set(dut.message.payload, 0xFFFF_FFFF)
            ctx.set(dut.beat.ready, 1)
            gone = 0
            while gone < beats:
                ctx.set(dut.flit.p, flit_payload(flits[gone], error=True))
                gone += ctx.get(dut.beat.valid)
                await ctx.tick()
            ctx.set(dut.beat.ready, 0)
            for _ in range(cycle):
                await ctx.tick()
            ctx.set(dut.flush, 1)
            assert not ctx.get(dut.flit.ready) and not ctx.get(dut.message.ready)
            await ctx.tick()
            assert not ctx.get(dut.beat.valid)
            ctx.set(dut.flush, 0)
            ctx.set(dut.message.valid, 0)
            ctx.set(dut.beat.ready, 1)
            ctx.set(dut.flit.p, flit_payload(flits[20 + cycle]))
            assert not ctx.get(dut.flit.ready)
            await ctx.tick()
            assert ctx.get(dut.flit.ready)
            wire, wait = b"", 0
            while len(wire) < 640:
                *_, valid, beat = await ctx.tick().sample(dut.beat.valid, dut.beat.p)
                ctx.set(dut.flit.valid, 0)
                wait += 1
                if valid:
                    assert wait == (n if wire else n + 1) and beat.first == (not wire) and not beat.error
                    wire, wait = wire + beat.data.to_bytes(64, "little"), 0
            packed = dl_packing.Packer().pack([flits[20 + cycle]] + [None] * 9)
            assert wire == packed.flit().encode()[:636] + bytes(4)
            ctx.set(dut.flush, 1)
            await ctx.tick()
            ctx.set(dut.flush, 0)
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
