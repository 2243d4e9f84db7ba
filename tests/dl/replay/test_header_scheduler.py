"""Choice of flit headers against the model, and the distance of Replay Requests."""

import random

import pytest
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.dl.flit.format import FlitOp
from ualink.dl.replay.header_scheduler import HeaderScheduler
from ualink_sim.model.dl.header import CommandHeader
from ualink_sim.model.dl.replay import ReplayTransmitter

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")


@pytest.mark.parametrize("cadence", [0, 1, 8, True, 2.5])
def test_refuses_cadence(cadence):
    with pytest.raises(ConfigError, match=f"explicit_cadence is {cadence!r}"):
        HeaderScheduler(cadence)


def run(story, cadence=7):
    dut = HeaderScheduler(cadence)

    async def flit(ctx, replay=False, first=False):
        """One slot with a DL flit; returns (explicit, op, ack_req_seq)."""
        ctx.set(dut.replay, replay)
        ctx.set(dut.first_of_replay, first)
        ctx.set(dut.schedule, 1)
        await ctx.tick()
        ctx.set(dut.schedule, 0)
        chosen = ctx.get(dut.explicit), ctx.get(dut.op), ctx.get(dut.ack_req_seq)
        await slot(ctx)
        return chosen

    async def slot(ctx):
        ctx.set(dut.slot_end, 1)
        await ctx.tick()
        ctx.set(dut.slot_end, 0)

    async def bench(ctx):
        await story(ctx, dut, flit, slot)

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


async def ask(ctx, dut):
    ctx.set(dut.request_replay, 1)
    await ctx.tick()
    ctx.set(dut.request_replay, 0)


@pytest.mark.req("DL-128", "DL-131", "DL-139", "DL-140", "DL-141", "DL-161", "DL-162", "DL-164")
@pytest.mark.parametrize("cadence", [7, 3, 2])
def test_random_against_model(cadence):
    rng = random.Random(cadence)

    async def story(ctx, dut, flit, slot):
        model = ReplayTransmitter(explicit_cadence=cadence, group_flits=1)
        ctx.set(dut.codeword_group, 1)
        for _ in range(600):
            rx_last = rng.randint(1, 511)
            ctx.set(dut.rx_last_seq_calc, rx_last)
            replay = rng.random() < 0.3
            first = replay and rng.random() < 0.2
            if rng.random() < 0.1:
                await ask(ctx, dut)
                model.request_replay()
            model.tx_replay, model.tx_first_replay = replay, first
            model._replay_index, model.tx_replay_buffer = 0, [(9, "held"), (10, "held")]
            header = model.transmit(rx_last).header
            explicit, op, named = await flit(ctx, replay, first)
            if isinstance(header, CommandHeader):
                assert not explicit
                assert op == (FlitOp.REPLAY_REQUEST if header.replay_request else FlitOp.ACK)
                assert named == header.ack_req_seq
            else:
                assert explicit
                assert op == (FlitOp.REPLAY if header.replay else FlitOp.ORIGINAL)
            assert ctx.get(dut.tx_explicit_count) == model.tx_explicit_count
            assert ctx.get(dut.tx_replay_req_count) == model.tx_replay_req_count
            assert ctx.get(dut.tx_replay_req_seq_no) == model.tx_replay_req_seq_no

    run(story, cadence)


@pytest.mark.req("DL-131", "DL-139", "DL-141")
def test_cadence_without_errors():
    async def story(ctx, dut, flit, slot):
        explicit = [(await flit(ctx))[0] for _ in range(22)]
        assert [n for n, x in enumerate(explicit) if x] == [6, 13, 20]

    run(story)


@pytest.mark.req("DL-128", "DL-130", "DL-162", "DL-163")
@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("phase", range(7))
def test_three_requests_in_three_groups(group, phase):
    """Three copies with one number, in three groups wherever groups start, and within the ignore window of 11 flits."""

    async def story(ctx, dut, flit, slot):
        ctx.set(dut.codeword_group, group)
        for _ in range(phase):
            await flit(ctx)
        ctx.set(dut.rx_last_seq_calc, 511)
        await ask(ctx, dut)
        headers = []
        for n in range(20):
            headers.append(await flit(ctx))
            # Only the first copy looks at the number.
            ctx.set(dut.rx_last_seq_calc, 100 + n)
        at = [n for n, (explicit, op, _) in enumerate(headers) if not explicit and op == FlitOp.REPLAY_REQUEST]
        assert len(at) == 3
        assert [headers[n][2] for n in at] == ([1] * 3 if at[0] == 0 else [101 + at[0] - 1] * 3)
        for offset in range(group):
            assert len({(n + offset) // group for n in at}) == 3
        assert at[0] <= 1
        assert at[2] - at[0] <= 2 * group + 2
        assert at[2] - at[0] <= 11

    run(story)


@pytest.mark.req("DL-163")
def test_slots_without_flits_count():
    async def story(ctx, dut, flit, slot):
        ctx.set(dut.codeword_group, 4)
        await ask(ctx, dut)
        assert (await flit(ctx))[1] == FlitOp.REPLAY_REQUEST
        for _ in range(3):
            await slot(ctx)
        assert (await flit(ctx))[1] == FlitOp.REPLAY_REQUEST
        assert (await flit(ctx))[1] == FlitOp.ACK

    run(story)
