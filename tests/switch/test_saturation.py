"""Throughput of the planes with every source always offering (UALink_200 §10.9.3)."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from support.switch.bench import coded, pack, random_request, random_response
from ualink.config import UPLIConfig
from ualink.switch.grid import Grid
from ualink.switch.queue_depths import QueueDepths
from ualink.switch.request_plane import RequestPlane
from ualink.switch.response_plane import ResponsePlane

LINE_RATE = 1280 / 1344 * 157 / 160
"""Beats in a cycle that a link brings at best: TL efficiency (Tables 5-18 to 5-22) times DL sectors for TL flits."""


DEPTHS = QueueDepths.of_credits(UPLIConfig())


def make_plane(channel, ports, ports_per_row=32):
    """The plane of ``channel`` as a switch of ``ports`` ports has it."""
    grid = Grid(ports, ports_per_row)
    if channel == "req":
        return RequestPlane(grid, DEPTHS)
    return ResponsePlane(channel, grid, getattr(DEPTHS, channel), DEPTHS.shared)


def wrapped(plane):
    """``plane`` with tables by which ID n is at port n."""
    m = Module()
    m.submodules.plane = plane
    for lookup in plane.lookup:
        with m.If(lookup.look):
            m.d.sync += lookup.egress.eq(lookup.dst_phys_acc_id)
    return m


def saturate(plane, channel, destination, beats, *, warm_up, cycles, seed=0):
    """Beats sent by each egress port per cycle, with transfers of ``beats()`` beats to ``destination(ingress)``."""
    rng = random.Random(f"saturation {seed}")
    plural = range(plane.ports)
    channels = ("req", "orig_data") if channel == "req" else (channel,)
    ports = {name: "rsp" if name.endswith("rsp") else name for name in channels}
    inputs = {name: getattr(plane, f"in_{port}") for name, port in ports.items()}
    outputs = {name: getattr(plane, f"out_{port}") for name, port in ports.items()}
    waiting = {(name, n): [] for name in channels for n in plural}
    sent = dict.fromkeys(channels, 0)

    def refill(n):
        if channel == "req":
            request, data = random_request(rng, n, destination(n), beats())
            waiting["req", n].append(coded("req", pack("req", request)))
            waiting["orig_data", n].extend(coded("orig_data", pack("orig_data", beat)) for beat in data)
        else:
            items = random_response(rng, channel, n, destination(n), beats())
            waiting[channel, n].extend(coded(channel, pack(channel, beat)) for beat in items)

    async def bench(ctx):
        for name in channels:
            for n in plural:
                ctx.set(outputs[name][n].ready, 1)
                ctx.set(inputs[name][n].valid, 1)
        taken = {key: True for key in waiting}
        for cycle in range(warm_up + cycles):
            for (name, n), was_taken in taken.items():
                if was_taken:
                    while not waiting[name, n]:
                        refill(n)
                    ctx.set(inputs[name][n].payload.as_value(), waiting[name, n].pop(0))
            for key in taken:
                taken[key] = bool(ctx.get(inputs[key[0]][key[1]].ready))
            if cycle >= warm_up:
                for name in channels:
                    sent[name] += sum(ctx.get(output.valid) for output in outputs[name])
            await ctx.tick()

    simulator = Simulator(wrapped(plane))
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return {name: count / cycles / plane.ports for name, count in sent.items()}


@pytest.mark.req("SW-084", "SW-085")
@pytest.mark.parametrize(
    ("channel", "beats", "ports_per_row"),
    [
        *(("req", 1, 4), ("req", 4, 4), ("rd_rsp", 1, 4), ("rd_rsp", 4, 4), ("wr_rsp", 1, 4)),
        *(("req", 1, 2), ("req", 4, 2), ("rd_rsp", 1, 2), ("rd_rsp", 4, 2), ("wr_rsp", 1, 2)),
    ],
)
def test_pairwise_line_rate(channel, beats, ports_per_row):
    """Each port sends to one other: every egress port sends a beat in every cycle."""
    plane = make_plane(channel, 4, ports_per_row)
    rates = saturate(plane, channel, lambda n: (n + 1) % 4, lambda: beats, warm_up=20, cycles=40)
    assert rates["orig_data" if channel == "req" else channel] == 1.0
    if channel == "req":
        assert rates["req"] == 1 / beats


@pytest.mark.req("SW-038", "SW-085")
@pytest.mark.parametrize(("channel", "beats"), [("wr_rsp", 1), ("rd_rsp", 1), ("rd_rsp", 4)])
def test_uniform_random_in_a_group_of_8(channel, beats):
    """More than links can bring, with destinations drawn at random; one queue for each port would stop at 58.6 %."""
    rng = random.Random(1)
    rates = saturate(
        make_plane(channel, 8), channel, lambda n: rng.randrange(8), lambda: beats, warm_up=200, cycles=400
    )
    assert rates[channel] >= LINE_RATE
