"""How long a beat takes through an idle switch core, and an item through a crowded one."""

import pytest

from support.switch.bench import pack, random_beat
from support.switch.traffic import RESPONSES, CoreBench, straight
from ualink.switch.grid import Grid
from ualink.switch.service import served_within


@pytest.mark.parametrize("channel", ["req", "orig_data", "rd_rsp", "wr_rsp"])
@pytest.mark.parametrize(("ports_per_row", "cycles"), [(16, 6), (1, 7)])
def test_latency(channel, ports_per_row, cycles):
    """A single beat in an idle core takes 6 cycles from being accepted to being offered, in several rows 7."""
    bench = CoreBench(2, 1, routes=straight(2, 1), ports_per_row=ports_per_row)
    if channel in RESPONSES:
        bench.response(channel, 0, 1)
    else:
        bench.request(0, 1, 1 if channel == "orig_data" else None)

    async def scenario(ctx):
        accepted = getattr(bench.dut, f"in_{channel.replace('orig_data', 'req')}")[0]
        offered = getattr(bench.dut, f"out_{channel}")[1]
        seen = []
        while not seen or not seen[-1][1]:
            _, _, *now = await ctx.tick().sample(accepted.valid & accepted.ready, offered.valid)
            seen.append(now)
        assert [now[0] for now in seen].index(1) + cycles == len(seen) - 1

    bench.run(scenario)


@pytest.mark.req("UPLI-319")
def test_each_beat_in_single_beat_mode_goes_on_at_once():
    """Beats of one Read Response with pauses between them, the last offset first: each takes as long as one alone."""
    bench = CoreBench(2, 1, routes=straight(2, 1))
    fields = {"dst_phys_acc_id": 1, "tag": 5, "num_beats": 0}
    beats = [random_beat(bench.random, "rd_rsp", **fields, offset=n, last=int(n == 0)) for n in (3, 2, 1, 0)]

    async def scenario(ctx):
        sink, latencies = bench.response_sinks["rd_rsp"][1], []
        for count, beat in enumerate(beats, 1):
            bench.expected["rd_rsp", 1][0].append([pack("rd_rsp", beat)])
            bench.sources["rd_rsp"][0].beats.append(pack("rd_rsp", beat))
            begun = sink.cycle
            await ctx.tick().repeat(9 + 5 * count)
            assert len(sink.received) == count
            latencies.append(sink.times[-1] - begun)
        # One cycle to be offered, six through the core.
        assert latencies == [7] * 4

    bench.run(scenario)
    bench.check()


@pytest.mark.req("SW-039", "SW-041")
@pytest.mark.parametrize("kind", ["req", "orig_data", *RESPONSES])
def test_an_item_is_served_within_what_is_said_of_two_rows(kind):
    """Ingress port 0, alone in its row, keeps egress port 0 busy for longer than that; what port 1 has for it goes."""
    bench = CoreBench(2, 1, routes=straight(2, 1), ports_per_row=1)
    within = served_within(Grid(2, 1))

    def send(ingress):
        if kind in RESPONSES:
            bench.response(kind, ingress, 0)
        else:
            bench.request(ingress, 0, 1 if kind == "orig_data" else None)

    async def scenario(ctx):
        plane = kind if kind in RESPONSES else "req"
        for _ in range(within + 40):
            send(0)
        await ctx.tick().repeat(30)
        send(1)
        ((mine,), served) = bench.expected[plane, 0][1], bench.received(plane, 0)
        before = len(served)
        while mine not in served[before:]:
            await ctx.tick()
            assert len(served) - before <= within
        assert bench.sources[kind][0].sent < len(bench.sources[kind][0].beats), "port 0 has gone on all the time"

    bench.run(scenario)
