"""Two TL transaction layers facing each other, and producers and consumers of beats at both ends."""

import functools
from collections import deque

import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.sim import Simulator

from support.tl.stimulus import (
    CHANNELS,
    COMMANDS,
    WRITE_FULL,
    Stimulus,
    near_request,
    read_response,
    request,
    write_response,
)
from ualink.config import AddressCacheConfig, Credits, TLConfig
from ualink.dl.interface import TL_FLIT_LAYOUT
from ualink.tl.layer import TransactionLayer

SMALL = TLConfig(
    req_cmd=Credits(pool=3, vc=(1, 0, 2, 1)),
    rsp_cmd=Credits(pool=5, vc=(1, 1, 0, 3)),
    req_data=Credits(pool=5, vc=(4, 0, 1, 2)),
    rsp_data=Credits(pool=4, vc=(1, 4, 0, 2)),
    device="either",
    tx_cache=AddressCacheConfig(rows=2, ways=2),
    rx_cache=AddressCacheConfig(rows=8, ways=4),
)
ALL_ONES = (1 << 64) - 1
WIRE_CYCLES = 3


class Link(Elaboratable):
    """Two layers with ``WIRE_CYCLES`` registers each way, the second that of a switch; ``stall`` holds the transmitter
    of a side."""

    def __init__(self, *configs):
        self.ends = [TransactionLayer(config) for config in configs]
        self.stall = Signal(2)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.ends[1].control.is_switch.eq(1)
        for n, end in enumerate(self.ends):
            m.submodules[f"end_{n}"] = end
            other = self.ends[1 - n]
            payload, valid = end.tx_flit.p, end.tx_flit.valid & ~self.stall[n]
            m.d.comb += end.tx_flit.ready.eq(~self.stall[n])
            for k in range(WIRE_CYCLES):
                next_payload, next_valid = Signal(TL_FLIT_LAYOUT, name=f"wire_{n}_{k}"), Signal(name=f"valid_{n}_{k}")
                m.d.sync += [next_payload.eq(payload), next_valid.eq(valid)]
                payload, valid = next_payload, next_valid
            m.d.comb += [other.rx_flit.p.eq(payload), other.rx_flit.valid.eq(valid)]
        return m


class _Bench:
    """A link and its simulator, compiled once and reset for every run."""

    def __init__(self, *configs):
        self.link = Link(*configs)
        self.used = False
        self.simulator = Simulator(self.link)
        self.simulator.add_clock(1e-9)
        self.simulator.add_testbench(self.drive)

    async def drive(self, ctx):
        await self.body(ctx, self.link)

    def run(self, body):
        self.body = body
        if self.used:
            self.simulator.reset()
        self.used = True
        self.simulator.run()


_bench = functools.cache(_Bench)
LAYERS = pytest.mark.xdist_group("tl_layers")
"""Tests that call ``simulate`` carry it, so that one worker of a parallel run makes their simulators."""


def simulate(body, *configs):
    """Run ``body(ctx, link)`` on a link whose ends have ``configs``, from reset."""
    _bench(*configs).run(body)


def short(beat):
    """A beat of a Response as it arrives: of status OKAY it goes compressed, without its source (UALink_200 §5.9.4)."""
    return beat if beat["status"] else {**beat, "src_phys_acc_id": 0}


def arriving(stimulus):
    """Beats that must come out at the far end (UALink_200 §5.3, §5.9, rulings D07 and D30)."""
    beats = {channel: [] for channel in CHANNELS}
    for req, data in stimulus.requests:
        beats["req"].append(req)
        for beat in data:
            enables = ALL_ONES if req["cmd"] == WRITE_FULL else beat["byte_en"]
            beats["orig_data"].append({**beat, "byte_en": enables, "data": 0 if beat["error"] else beat["data"]})
    for response in stimulus.reads:
        beats["rd_rsp"] += [{**short(beat), "data": 0 if beat["data_error"] else beat["data"]} for beat in response]
    beats["wr_rsp"] = [short(beat) for beat in stimulus.writes]
    return beats


def check_beats(got, stimulus):
    """All beats of ``stimulus`` came in order, and nothing else."""
    for channel, expected in arriving(stimulus).items():
        names = expected[0] if expected else ()
        assert [{name: beat[name] for name in names} for beat in got[channel]] == expected, channel


def traffic(rng, count, errors=0.1, **members):
    """``count`` random transfers of each kind, the beats of which are bad with probability ``errors``."""

    def bad(beats):
        return [n for n in range(beats) if rng.random() < errors]

    stimulus = Stimulus()
    for _ in range(count):
        beats = rng.randint(1, 4)
        if rng.random() < 0.5:
            stimulus.requests.append(near_request(rng, **members))
        else:
            stimulus.requests.append(request(rng.choice(COMMANDS), beats=beats, errors=bad(beats), rng=rng, **members))
        beats = rng.randint(1, 4)
        stimulus.reads.append(read_response(beats, errors=bad(beats), rng=rng, **members))
        stimulus.writes.append(write_response(rng=rng, **members))
    return stimulus


class Side:
    """One end's producers and consumers; ``got`` has the beats received, ``blocked`` the channels that take none,
    ``held`` those that offer no new beat."""

    def __init__(self, end, rng, valid, ready):
        self.end, self.rng, self.valid, self.ready = end, rng, valid, ready
        self.waiting = {channel: deque() for channel in CHANNELS}
        self.offered = dict.fromkeys(CHANNELS, False)
        self.got = {channel: [] for channel in CHANNELS}
        self.blocked = self.held = ()

    def accepts(self, channel):
        """Whether a beat of ``channel`` is taken in this cycle, should there be one."""
        return channel not in self.blocked and self.rng.random() < self.ready

    def received(self, channel, beat):
        self.got[channel].append(beat)

    def drive(self, ctx):
        for channel in CHANNELS:
            port = getattr(self.end, f"tx_{channel}")
            free = self.waiting[channel] and not self.offered[channel] and channel not in self.held
            if free and self.rng.random() < self.valid:
                ctx.set(port.payload, self.waiting[channel][0])
                self.offered[channel] = True
            ctx.set(port.valid, self.offered[channel])
            ctx.set(getattr(self.end, f"rx_{channel}").ready, self.accepts(channel))

    def sample(self, ctx):
        for channel in CHANNELS:
            if self.offered[channel] and ctx.get(getattr(self.end, f"tx_{channel}").ready):
                self.waiting[channel].popleft()
                self.offered[channel] = False
            port = getattr(self.end, f"rx_{channel}")
            if ctx.get(port.valid) and ctx.get(port.ready):
                beat = ctx.get(port.payload)
                self.received(channel, {name: beat[name] for name, _ in port.payload.shape()})
        assert not ctx.get(self.end.status.transmit_error) and not ctx.get(self.end.status.receive_error_valid)

    def count(self, *channels):
        """Beats received on ``channels``, or on all of them."""
        return sum(len(self.got[channel]) for channel in channels or CHANNELS)


async def step(ctx, sides):
    """One cycle of both sides."""
    for side in sides:
        side.drive(ctx)
    for side in sides:
        side.sample(ctx)
    await ctx.tick()


async def run_for(ctx, sides, cycles):
    """So many cycles of both sides."""
    for _ in range(cycles):
        await step(ctx, sides)
