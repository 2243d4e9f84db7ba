"""Two transaction layers facing each other: every beat of four channels, both ways, arrives once and whole."""

import random
from collections import deque

import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.sim import Simulator

from tl_transmit import CHANNELS, COMMANDS, WRITE_FULL, Stimulus, read_response, request, write_response
from ualink.config import Credits, TLConfig
from ualink.dl.interface import TL_FLIT_LAYOUT
from ualink.tl.layer import TransactionLayer

SMALL = TLConfig(
    req_cmd=Credits(pool=3, vc=(1, 0, 2, 1)),
    rsp_cmd=Credits(pool=5, vc=(1, 1, 0, 3)),
    req_data=Credits(pool=5, vc=(4, 0, 1, 2)),
    rsp_data=Credits(pool=4, vc=(1, 4, 0, 2)),
)
ALL_ONES = (1 << 64) - 1
WIRE_CYCLES = 3


class Link(Elaboratable):
    """Two layers with ``WIRE_CYCLES`` registers each way; ``stall`` holds the transmitter of a side."""

    def __init__(self, config):
        self.ends = [TransactionLayer(config), TransactionLayer(config)]
        self.stall = Signal(2)

    def elaborate(self, platform):
        m = Module()
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


def arriving(stimulus):
    """Beats that must come out at the far end (UALink_200 §5.3, §5.9, rulings D07 and D30)."""
    beats = {channel: [] for channel in CHANNELS}
    for req, data in stimulus.requests:
        beats["req"].append(req)
        for beat in data:
            enables = ALL_ONES if req["cmd"] == WRITE_FULL else beat["byte_en"]
            beats["orig_data"].append({**beat, "byte_en": enables, "data": 0 if beat["error"] else beat["data"]})
    for response in stimulus.reads:
        beats["rd_rsp"] += [{**beat, "data": 0 if beat["data_error"] else beat["data"]} for beat in response]
    beats["wr_rsp"] = list(stimulus.writes)
    return beats


def traffic(rng, count, errors=0.1):
    def bad(beats):
        return [n for n in range(beats) if rng.random() < errors]

    stimulus = Stimulus()
    for _ in range(count):
        beats = rng.randint(1, 4)
        stimulus.requests.append(request(rng.choice(COMMANDS), beats=beats, errors=bad(beats), rng=rng))
        beats = rng.randint(1, 4)
        stimulus.reads.append(read_response(beats, errors=bad(beats), rng=rng))
        stimulus.writes.append(write_response(rng=rng))
    return stimulus


class Side:
    """One end's producers and consumers; ``got`` has the beats received."""

    def __init__(self, end, rng, valid, ready):
        self.end, self.rng, self.valid, self.ready = end, rng, valid, ready
        self.waiting = {channel: deque() for channel in CHANNELS}
        self.offered = dict.fromkeys(CHANNELS, False)
        self.got = {channel: [] for channel in CHANNELS}
        self.blocked = False

    def drive(self, ctx):
        for channel in CHANNELS:
            port = getattr(self.end, f"tx_{channel}")
            if not self.offered[channel] and self.waiting[channel] and self.rng.random() < self.valid:
                ctx.set(port.payload, self.waiting[channel][0])
                self.offered[channel] = True
            ctx.set(port.valid, self.offered[channel])
            open_now = not self.blocked and self.rng.random() < self.ready
            ctx.set(getattr(self.end, f"rx_{channel}").ready, open_now)

    def sample(self, ctx):
        for channel in CHANNELS:
            if self.offered[channel] and ctx.get(getattr(self.end, f"tx_{channel}").ready):
                self.waiting[channel].popleft()
                self.offered[channel] = False
            port = getattr(self.end, f"rx_{channel}")
            if ctx.get(port.valid) and ctx.get(port.ready):
                beat = ctx.get(port.payload)
                self.got[channel].append({name: beat[name] for name, _ in port.payload.shape()})
        assert not ctx.get(self.end.transmit_error) and not ctx.get(self.end.receive_error_valid)


def simulate(link, body):
    simulator = Simulator(link)
    simulator.add_clock(1e-9)
    simulator.add_testbench(body)
    simulator.run()


def check_beats(got, stimulus):
    for channel, expected in arriving(stimulus).items():
        names = expected[0] if expected else ()
        assert [{name: beat[name] for name in names} for beat in got[channel]] == expected, channel


@pytest.mark.req(
    *("TL-001", "TL-002", "TL-024", "TL-026", "TL-031", "TL-036", "TL-042", "TL-076", "TL-077", "TL-085", "TL-101"),
    *("TL-104", "TL-146", "TL-151", "TL-157", "TL-163", "TL-164", "TL-173", "TL-177", "TL-181"),
    *("TL-182", "TL-214", "TL-217", "TL-219"),
)
@pytest.mark.parametrize("seed, valid, ready, stall", [(1, 1.0, 1.0, 0.0), (2, 0.6, 0.5, 0.3)])
def test_both_ways_at_once(seed, valid, ready, stall):
    rng = random.Random(seed)
    link = Link(SMALL)
    sides = [Side(end, rng, valid, ready) for end in link.ends]
    stimuli = [traffic(rng, 20) for _ in sides]

    async def body(ctx):
        for side, stimulus in zip(sides, stimuli):
            side.waiting = stimulus.beats()
            ctx.set(side.end.online, 1)
        for _ in range(2000):
            for side in sides:
                side.drive(ctx)
            ctx.set(link.stall, sum((rng.random() < stall) << n for n in range(2)))
            for side in sides:
                side.sample(ctx)
            await ctx.tick()
            if all(
                len(side.got[channel]) == len(beats)
                for side, stimulus in zip(sides, stimuli[::-1])
                for channel, beats in arriving(stimulus).items()
            ):
                break

    simulate(link, body)
    for side, stimulus in zip(sides, stimuli[::-1]):
        check_beats(side.got, stimulus)


@pytest.mark.req("TL-221", "TL-219")
@pytest.mark.parametrize("blocked", [False, True])
def test_restart_of_both_ends(blocked):
    """The link is down for a while amid traffic; ``blocked``: one side takes no rest of a burst till it is up."""
    rng = random.Random(3)
    link = Link(SMALL)
    sides = [Side(end, rng, 1.0, 0.7) for end in link.ends]
    later = [traffic(rng, 8) for _ in sides]

    async def run_for(ctx, cycles):
        for _ in range(cycles):
            for side in sides:
                side.drive(ctx)
            for side in sides:
                side.sample(ctx)
            await ctx.tick()

    async def body(ctx):
        for side in sides:
            ctx.set(side.end.online, 1)
            side.waiting = traffic(rng, 30).beats()
        await run_for(ctx, 60)
        burst = sides[0].end.rx_rd_rsp
        while blocked and not (ctx.get(burst.valid) and ctx.get(burst.p.num_beats) and ctx.get(burst.p.offset)):
            await run_for(ctx, 1)
        sides[0].blocked = blocked
        await run_for(ctx, 5)
        for side in sides:
            ctx.set(side.end.online, 0)
            # No more transfers from here on; the rest of those begun is still offered.
            side.waiting = {channel: _rest_of_transfer(side, channel) for channel in CHANNELS}
        await run_for(ctx, 20)
        for side in sides:
            ctx.set(side.end.online, 1)
        await run_for(ctx, 60)
        sides[0].blocked = False
        await run_for(ctx, 40)
        for side, stimulus in zip(sides, later):
            assert not any(side.waiting.values()) and ctx.get(side.end.credits_ready)
            side.got = {channel: [] for channel in CHANNELS}
            side.waiting = stimulus.beats()
        await run_for(ctx, 400)

    def _rest_of_transfer(side, channel):
        """Beats of ``channel`` up to the end of the transfers that the layer has already begun."""
        beats = side.waiting[channel]
        if channel == "rd_rsp":
            rest = deque()
            while beats and beats[0]["num_beats"] and beats[0]["offset"]:
                rest.append(beats.popleft())
        elif channel == "orig_data":
            begun = len(side.waiting["orig_data"]) - sum(
                beat["num_beats"] + 1 for beat in side.waiting["req"] if beat["cmd"] & 0x20
            )
            rest = deque(list(beats)[:begun])
        else:
            rest = deque()
        side.offered[channel] = side.offered[channel] and bool(rest)
        return rest

    simulate(link, body)
    for side, stimulus in zip(sides, later[::-1]):
        check_beats(side.got, stimulus)
