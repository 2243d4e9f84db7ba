"""A transaction layer for slow clocks, or out of memories alone, beside a fast one: the same in every cycle."""

import random
from collections import deque

import pytest
from amaranth.sim import Simulator

from support.lockstep import Lockstep
from ualink.config import AddressCacheConfig
from ualink.presets import station_preset
from ualink.tl.layer import TransactionLayer
from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink.upli.commands import ReqCmd

COMPACT = station_preset("compact").tl
LARGER = COMPACT.replace(
    requests_in_sight=3,
    responses_in_sight=3,
    shared_data_buffer=True,
    authentication=True,
    tx_cache=AddressCacheConfig(rows=4, ways=2),
    rx_cache=AddressCacheConfig(rows=4, ways=2),
)
CHANNELS = ("req", "orig_data", "rd_rsp", "wr_rsp")
WIRE = 6
"""Cycles from a flit that leaves to the same flit that comes."""


class Beats:
    """Beats that wait to be sent, which belong together as UPLI has them, at rates that change."""

    def __init__(self, rng):
        self.rng, self.waiting, self.offered = rng, {channel: deque() for channel in CHANNELS}, {}

    def beat(self, channel, **fields):
        drawn = CHANNEL_LAYOUTS[channel].const(fields).as_value().value
        rest = self.rng.getrandbits(CHANNEL_LAYOUTS[channel].size)
        for name in fields:
            field = CHANNEL_LAYOUTS[channel][name]
            rest &= ~(((1 << field.width) - 1) << field.offset)
        self.waiting[channel].append(drawn | rest)

    def request(self):
        rng, accelerators = self.rng, {"src_phys_acc_id": self.rng.randrange(6), "dst_phys_acc_id": 3}
        cmd, length = rng.choice((ReqCmd.READ, ReqCmd.WRITE, ReqCmd.WRITE_FULL)), rng.randint(1, 4)
        line = rng.randrange(5 - length)
        # All of 64 bytes, so that some of them can be sent compressed, and of few regions.
        addr = rng.randrange(3) << 30 | line << 6
        is_read, vc = cmd == ReqCmd.READ, rng.randrange(4)
        fields = {"cmd": cmd.value, "num_beats": length - 1, "len": 16 * length - 1, "addr": addr, "vc": vc}
        self.beat("req", **fields, attr=0xFF if is_read else 0, **accelerators)
        for n in range(0 if is_read else length):
            self.beat("orig_data", offset=n, last=n == length - 1, vc=vc, error=rng.random() < 0.05)

    def response(self):
        length, vc = self.rng.randint(1, 4), self.rng.randrange(4)
        ids = {"src_phys_acc_id": 1, "dst_phys_acc_id": 2, "tag": self.rng.getrandbits(11), "status": 0}
        if self.rng.random() < 0.5:
            self.beat("wr_rsp", **ids, vc=vc)
            return
        for n in range(length):
            fields = {"num_beats": length - 1, "offset": n, "last": n == length - 1, "vc": vc, "data_error": 0}
            self.beat("rd_rsp", **ids, **fields)

    def offer(self, ctx, inputs, rate):
        while len(self.waiting["req"]) < 2:
            self.request()
        while min(len(self.waiting["rd_rsp"]), len(self.waiting["wr_rsp"])) < 2:
            self.response()
        for channel in CHANNELS:
            waits = bool(self.waiting[channel])
            self.offered[channel] = waits and (self.offered.get(channel) or self.rng.random() < rate)
            ctx.set(inputs[f"tx_{channel}.valid"], self.offered[channel])
            ctx.set(inputs[f"tx_{channel}.payload"], self.waiting[channel][0] if waits else 0)

    def taken(self, ctx, outputs):
        for channel in CHANNELS:
            if self.offered[channel] and ctx.get(outputs[f"tx_{channel}.ready"]):
                self.waiting[channel].popleft()
                self.offered[channel] = False


@pytest.mark.parametrize(
    ("config", "cycles", "change"),
    [
        (COMPACT, 500, {"lean": True}),
        (LARGER, 150, {"lean": True}),
        (LARGER.replace(catch_in_lines=False), 150, {"unhurried": True}),
    ],
    ids=["compact", "larger", "unhurried"],
)
def test_the_same_at_a_link_that_comes_back(config, cycles, change):
    """All that it sends comes back over a wire, at changing rates; sometimes a bit is wrong, and the link restarts."""
    rng = random.Random(cycles)
    meaning = {f"rx_{channel}.payload": f"rx_{channel}.valid" for channel in CHANNELS}
    beside = Lockstep(
        TransactionLayer(config),
        TransactionLayer(config.replace(**change)),
        unless={**meaning, "tx_flit.payload": "tx_flit.valid"},
    )
    inputs, outputs = beside.inputs, beside.outputs
    seen = dict.fromkeys((*(f"rx_{channel}.valid" for channel in CHANNELS), "tx_flit.valid", "error"), 0)

    async def bench(ctx):
        beats, wire, down, rates = Beats(rng), deque([0] * WIRE), 3, (1, 1, 1)
        ctx.set(inputs["control.authentication"], config.authentication)
        for cycle in range(cycles):
            if cycle % 40 == 0:
                rates = [rng.choice((0.1, 0.5, 1, 1)) for _ in range(3)]
            down = max(0, down - 1)
            ctx.set(inputs["online"], down == 0)
            ctx.set(inputs["control.clear_drop"], down == 10)
            beats.offer(ctx, inputs, rates[0])
            ctx.set(inputs["tx_flit.ready"], rng.random() < rates[1])
            for channel in CHANNELS:
                ctx.set(inputs[f"rx_{channel}.ready"], rng.random() < rates[2])
            sent, flit = ctx.get(outputs["tx_flit.valid"]) & ctx.get(inputs["tx_flit.ready"]), wire.popleft()
            wire.append(ctx.get(outputs["tx_flit.payload"]) | 1 << 600 if sent else 0)
            if flit and cycle > cycles // 2 and rng.random() < 0.04:
                flit ^= 1 << rng.randrange(512)
            ctx.set(inputs["rx_flit.valid"], flit != 0)
            ctx.set(inputs["rx_flit.payload"], flit & ((1 << 580) - 1))
            beside.check(ctx, cycle)
            for name in seen:
                seen[name] += ctx.get(outputs[name])
            if ctx.get(outputs["error"]) and not down:
                down, wire = 20, deque([0] * WIRE)
            beats.taken(ctx, outputs)
            await ctx.tick()

    simulator = Simulator(beside)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert all(seen.values()), seen
