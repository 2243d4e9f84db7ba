"""Drives a TL receiver with flits and collects what it gives: consumers, configurations, the run itself."""

import functools
import random
from dataclasses import dataclass, field

import pytest
from amaranth.sim import Simulator

from support.tl.flits import tl_flit
from ualink.config import AddressCacheConfig, Credits, TLConfig
from ualink.tl.receive.error import ReceiveError
from ualink.tl.receive.top import Receive

CHANNELS = ("req", "orig_data", "rd_rsp", "wr_rsp")
CLASSES = ("req_cmd", "rsp_cmd", "req_data", "rsp_data")
COMMANDS = (0x03, 0x08, 0x0F, 0x28, 0x29, 0x2A, 0x2C, 0x2F, 0x30, 0x32, 0x3C, 0x3F)
READS = (0x03, 0x08)
ALL_ONES = (1 << 64) - 1
LOG = ("last_error", "error_count", "unknown_messages", "half_poisoned_beats", "block_crossings")
OPENS = 4
"""Cycles of a session before the receiver has any credits to give; a field that comes earlier has none."""

STAGES = 3
"""Cycles from a flit to what it writes."""

OFFLINE = "offline"
"""In the place of a flit: ``online`` is low in this cycle."""


NO_CACHE = AddressCacheConfig(rows=0)
CACHE = AddressCacheConfig(rows=8, ways=4)
ROOMY = TLConfig(
    rx_cache=NO_CACHE,
    **{name: Credits(pool=200, vc=(80,) * 4) for name in ("req_cmd", "rsp_cmd", "req_data", "rsp_data")},
)
SMALL = TLConfig(
    rx_cache=NO_CACHE,
    req_cmd=Credits(pool=3, vc=(1, 0, 2, 1)),
    rsp_cmd=Credits(pool=5, vc=(1, 1, 0, 3)),
    req_data=Credits(pool=5, vc=(4, 0, 1, 2)),
    rsp_data=Credits(pool=4, vc=(1, 4, 0, 2)),
)


@dataclass
class Got:
    """What came out: beats with the cycle of their transfer, credits, pulses, errors with the cycle they rose in.

    ``offered`` has the cycles with valid, ``peer`` (peer_init_done, peer_shared_data) of every cycle, and so has
    ``buffers_free``; ``log`` is the log of the receiver (``LOG``) at the end.
    """

    req: list = field(default_factory=list)
    orig_data: list = field(default_factory=list)
    rd_rsp: list = field(default_factory=list)
    wr_rsp: list = field(default_factory=list)
    offered: dict = field(default_factory=lambda: {channel: [] for channel in CHANNELS})
    fc: list = field(default_factory=list)
    releases: list = field(default_factory=list)
    unknown_messages: int = 0
    half_poisoned: int = 0
    errors: list = field(default_factory=list)
    peer: list = field(default_factory=list)
    buffers_free: list = field(default_factory=list)
    log: tuple = ()

    def beats(self, channel):
        return [beat for _, beat in getattr(self, channel)]


class Consumer:
    """Ready signals: ``free`` always, ``agent`` stalls between transfers only, ``random`` anywhere, ``never``."""

    def __init__(self, mode, seed=0):
        self.mode = mode
        self.random = random.Random(seed)
        self.in_burst = {"orig_data": False, "rd_rsp": False}

    def readies(self):
        if self.mode == "free":
            return dict.fromkeys(CHANNELS, 1)
        if self.mode == "never":
            return dict.fromkeys(CHANNELS, 0)
        if self.mode == "random":
            return {channel: int(self.random.random() < 0.5) for channel in CHANNELS}
        start = int(self.random.random() < 0.4)
        return {
            "req": start,
            "orig_data": int(start or self.in_burst["orig_data"]),
            "rd_rsp": int(self.in_burst["rd_rsp"] or self.random.random() < 0.4),
            "wr_rsp": int(self.random.random() < 0.4),
        }

    def saw(self, channel, beat):
        if channel in self.in_burst:
            beats_to_come = channel == "orig_data" or beat["num_beats"]
            self.in_burst[channel] = bool(beats_to_come and not beat["last"])


class _Bench:
    """One receiver and its simulator, compiled once and reset for every run."""

    def __init__(self, config):
        self.dut = Receive(config)
        self.used = False
        self.simulator = Simulator(self.dut)
        self.simulator.add_clock(1e-9)
        self.simulator.add_testbench(self.drive)

    def run(self, flits, consumer, drain, watch, levels):
        self.source, self.consumer, self.left, self.watch = iter(flits), consumer, drain + STAGES, watch
        self.got, self.failed, self.levels = Got(), 0, levels
        if self.used:
            self.simulator.reset()
        self.used = True
        self.simulator.run()
        return self.got

    async def drive(self, ctx):
        for name, level in self.levels.items():
            ctx.set(getattr(self.dut, name), level)
        # The Rx Address Cache must have been cleared.
        await ctx.tick().repeat(self.dut.config.rx_cache.rows + 4)
        ctx.set(self.dut.online, 1)
        await ctx.tick().repeat(OPENS)
        cycle = 0
        while self.left:
            self.feed(ctx, next(self.source, StopIteration))
            readies = self.consumer.readies()
            for channel in CHANNELS:
                ctx.set(getattr(self.dut, f"rx_{channel}").ready, readies[channel])
            for channel in CHANNELS:
                self.collect(ctx, channel, readies[channel], cycle)
            self.observe(ctx, cycle)
            await ctx.tick()
            cycle += 1

    def feed(self, ctx, item):
        if item is StopIteration:
            self.left -= 1
            item = None
        if callable(item):
            item(ctx)
            item = None
        ctx.set(self.dut.online, int(item is not OFFLINE))
        flit = self.dut.rx_flit
        present = item is not None and item is not OFFLINE
        ctx.set(flit.valid, int(present))
        if present:
            payload = tl_flit(int.from_bytes(item[0], "little"), *item[1:3])
            for name in item[3:]:
                payload[name] ^= 1
            ctx.set(flit.payload, payload)

    def collect(self, ctx, channel, ready, cycle):
        out = getattr(self.dut, f"rx_{channel}")
        if not ctx.get(out.valid):
            return
        self.got.offered[channel].append(cycle)
        if ready:
            payload = ctx.get(out.payload)
            beat = {name: payload[name] for name, _ in out.payload.shape()}
            getattr(self.got, channel).append((cycle, beat))
            self.consumer.saw(channel, beat)

    def observe(self, ctx, cycle):
        got, status = self.got, self.dut.status
        if ctx.get(status.release.as_value()):
            for name, event in ((name, ctx.get(status.release[name])) for name, _ in status.release.shape()):
                if event.valid:
                    release = name.replace("rd_", "").replace("wr_", ""), event.pool, event.vc, event.count
                    got.releases.append(release)
                    if self.watch:
                        self.watch(*release)
        if ctx.get(status.fc.valid):
            credits = ctx.get(status.fc)
            got.fc.append({name: (credits[name].pool, *credits[name].vc) for name in CLASSES})
        got.unknown_messages += ctx.get(self.dut.unknown_message)
        got.half_poisoned += ctx.get(self.dut.half_poisoned)
        got.peer.append((ctx.get(status.peer_init_done), ctx.get(status.peer_shared_data)))
        got.buffers_free.append(ctx.get(status.buffers_free))
        failed = ctx.get(self.dut.error_valid)
        if failed and not self.failed:
            got.errors.append((cycle, ReceiveError(ctx.get(self.dut.error))))
        self.failed = failed
        got.log = tuple(ctx.get(getattr(self.dut, name)) for name in LOG)


_bench = functools.cache(_Bench)
RECEIVE = pytest.mark.xdist_group("tl_receive")
"""Tests that call ``run`` carry it, so that one worker of a parallel run makes their simulators."""
LEVELS = {"authentication": 0, "encryption": 0, "disable_rx_cache": 0, "is_switch": 0}


def run(config, flits, *, consumer="free", seed=0, drain=40, watch=None, **levels):
    """Feed ``flits`` ((64 bytes, message bits), with an ``error`` bit third and behind it the names of fields of
    which one bit is wrong; None: an idle cycle; a function: an idle cycle in which it is called with the context of the
    simulator), then drain.

    ``watch`` is called with (class, pool, vc, count) of each release, in the cycle in which it comes. ``levels`` are
    inputs of the receiver that keep their value, those in ``LEVELS``.
    """
    consumer = consumer if isinstance(consumer, Consumer) else Consumer(consumer, seed)
    return _bench(config).run(flits, consumer, drain, watch, {**LEVELS, **levels})
