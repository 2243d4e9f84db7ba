"""Beats upset on the wire between the agents: what is handed on is what the executable model hands on, in order."""

import pytest
from amaranth.hdl import Value

from support.upli.pair import POISON, Pair, Traffic, field, simulate
from support.upli.wire import FIELDS, PARITY, ones
from ualink.config import Credits, UPLIConfig
from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink.upli.status import ERRORS_LAYOUT
from ualink_sim.model.upli.admission import Admission, WireBeat

MANY = Credits(pool=40, vc=(20, 20, 20, 20))
CONFIG = UPLIConfig(req=MANY, orig_data=MANY, rd_rsp=MANY, wr_rsp=MANY)
SIDES = {"completer": ("req", "orig_data"), "originator": ("rd_rsp", "wr_rsp")}
CONTROL_PARITY = {"req": "parity", "orig_data": "fields_parity", "rd_rsp": "parity", "wr_rsp": "parity"}
FRAMING = {
    "req": ("vld", "vld_parity", "cmd", "num_beats", "port_id", "addr", "addr_parity", "parity"),
    "orig_data": ("vld", "vld_parity", "offset", "last", "port_id", "fields_parity"),
    "rd_rsp": ("vld", "vld_parity", "num_beats", "offset", "last", "port_id", "parity"),
    "wr_rsp": ("vld", "vld_parity", "tag", "port_id", "parity"),
}
PATHS = [(channel, name) for channel, names in FRAMING.items() for name in names]


def on_the_wire(ctx, upli):
    """The beats of this cycle, and the channels with wrong control parity."""
    beats, wrong = {}, set()
    for channel, names in FIELDS.items():
        interface = getattr(upli, channel)
        vld = ctx.get(interface.vld)
        good = vld == ctx.get(interface.vld_parity)
        if vld:
            fields = {name: ctx.get(getattr(interface, name)) for name in names.split()}
            for name, (cover, _) in PARITY[channel].items():
                if name != "byte_en_parity":
                    good = good and sum(ones(fields[f]) for f in cover.split()) % 2 == fields[name]
            beats[channel] = WireBeat(fields, good)
        if not good:
            wrong.add(channel)
    return beats, wrong


def agrees(channel, handed, beat):
    """Whether the beat that came out is what the model hands on."""
    if handed.get("poisoned"):
        names = ("offset", "last")
        # Its data may be anything, for nobody looks at them; enables are looked at.
        assert field(channel, beat, POISON[channel]) == 1
        assert channel != "orig_data" or field(channel, beat, "byte_en") == 0
    else:
        names = CHANNEL_LAYOUTS[channel].members
    return all(field(channel, beat, name) == handed[name] for name in names)


class Bench:
    """A pair whose wire is upset, the models of both its receivers beside it, and credits counted as they go home."""

    def __init__(self, ports, seed, **more):
        self.pair = Pair(CONFIG, ports, PATHS)
        self.traffic = Traffic(self.pair, CONFIG, seed, judge=False, offer=0.7, take=0.8, **more)
        self.rng = self.traffic.rng
        self.models = {side: Admission(channels, ports) for side, channels in SIDES.items()}
        self.home = {(channel, port): [] for channel in CHANNEL_LAYOUTS for port in range(ports)}
        self.upsets = 0
        self.before = {}, set()

    def flips(self, channel):
        """Bits to flip of a beat, or of none: with wrong parity, or with its parity flipped along."""
        path = self.rng.choice([name for name in FRAMING[channel] if name != "vld"])
        flips = {path: 1}
        if self.rng.random() < 0.3:
            other = "vld" if path == "vld_parity" else "addr" if path == "addr_parity" else None
            flips[other or CONTROL_PARITY[channel]] = 1
        elif self.rng.random() < 0.2:
            flips = {"vld": 1}
        return flips

    async def run(self, ctx, cycles, *, chance=0.0, drop=lambda side: 0, more=True):
        pair, traffic = self.pair, self.traffic
        for _ in range(cycles):
            traffic.drive(ctx, more=more)
            dropping = {side: drop(side) for side in SIDES}
            for side, level in dropping.items():
                ctx.set(getattr(pair, side).drop, level)
            for path in PATHS:
                ctx.set(pair.faults[path], 0)
            open_ = {"completer": ctx.get(pair.completer.connected), "originator": ctx.get(pair.originator.connected)}
            for channel in CHANNEL_LAYOUTS:
                if all(open_.values()) and self.rng.random() < chance and self.ready(ctx, channel):
                    self.upsets += 1
                    for name, bits in self.flips(channel).items():
                        ctx.set(pair.faults[channel, name], bits)
            self.judge(ctx, dropping)
            self.credits(ctx)
            await traffic.finish(ctx)
            for side, channels in SIDES.items():
                events = getattr(pair, side).events
                seen = {(kind, c) for kind in ("control", "protocol") for c in channels if ctx.get(events[kind][c])}
                assert seen == self.models[side].events

    def judge(self, ctx, dropping):
        """The agents judge in each cycle what was on the wire in the cycle before."""
        (beats, wrong), self.before = self.before, on_the_wire(ctx, self.pair.upli)
        for side, channels in SIDES.items():
            mine = {channel: beat for channel, beat in beats.items() if channel in channels}
            self.models[side].step(mine, wrong & set(channels), bool(dropping[side]))

    def ready(self, ctx, channel):
        return ctx.get(getattr(self.pair.upli, channel).credit.init_done) != 0

    def credits(self, ctx):
        for channel in CHANNEL_LAYOUTS:
            credit = getattr(self.pair.upli, channel).credit
            for port in range(self.pair.ports):
                if ctx.get(credit.init_done) >> port & 1 and ctx.get(credit.vld) >> port & 1:
                    vc, pool = ctx.get(credit.port_vc[port]), ctx.get(credit.pool) >> port & 1
                    self.home[channel, port].append((pool, vc))

    def check(self, *, complete):
        for side in SIDES:
            model = self.models[side]
            for (channel, port), handed in model.handed.items():
                received = self.traffic.received[channel, port]
                assert len(received) == len(handed) or (not complete and len(received) < len(handed)), channel
                for wanted, beat in zip(handed, received):
                    assert agrees(channel, wanted, beat), f"{channel} of port {port}"
                if complete:
                    assert sorted(self.home[channel, port]) == sorted(model.returned[channel, port])


@pytest.mark.req("RAS-083", "RAS-109", "RAS-057", "RAS-036", "RAS-034")
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_nothing_of_a_bad_beat_is_handed_on(ports):
    """Any framing bit of any channel flipped, with its parity or without, at any place of a transfer."""

    async def bench(ctx):
        ctx.set(pair.skew, test.rng.randrange(ports))
        # Few upsets, many, and many from the very first beat on.
        for chance, cycles in ((0.02, 150), (0.3, 40)):
            await test.run(ctx, cycles * (1 if ports == 1 else 2), chance=chance)
            test.check(complete=False)
        await test.run(ctx, 60 * ports, more=False)
        test.traffic.take = 1.0
        await test.run(ctx, 80 * ports, more=False)
        test.check(complete=True)
        assert test.upsets > 50

    test = Bench(ports, f"upset {ports}")
    pair = test.pair
    simulate(pair, bench)


@pytest.mark.req("UPLI-089", "RAS-109")
@pytest.mark.parametrize("channel", ["req", "rd_rsp", "wr_rsp"])
def test_a_bad_first_beat_sets_no_phase(channel):
    """The first beat of all has a wrong PortID and wrong parity: the next good one sets the phase, and no error follows
    (ruling A-50)."""
    test = Bench(4, f"phase {channel}")
    pair, agent = test.pair, test.pair.completer if channel == "req" else test.pair.originator

    async def bench(ctx):
        hit = False
        while not hit:
            test.traffic.drive(ctx)
            hit = bool(ctx.get(getattr(pair.upli, channel).vld))
            ctx.set(pair.faults[channel, "port_id"], hit)
            test.judge(ctx, dict.fromkeys(SIDES, 0))
            test.credits(ctx)
            await test.traffic.finish(ctx)
        await test.run(ctx, 1)
        assert ctx.get(agent.control_event) and not ctx.get(agent.protocol_event)
        await test.run(ctx, 150)
        test.check(complete=False)
        assert ctx.get(agent.errors.control[channel]) and not ctx.get(agent.protocol_error)
        assert sum(map(len, test.traffic.received.values())) > 50

    simulate(pair, bench)


@pytest.mark.req("RAS-043", "RAS-044", "RAS-059", "RAS-060", "RAS-061", "RAS-085")
@pytest.mark.parametrize("chance", [0, 0.02])
@pytest.mark.parametrize("ports", [1, 4])
def test_an_agent_in_drop_mode(ports, chance):
    """Drop Mode of either agent, entered and left at any moment, with upset beats and without: what it drops comes home
    in credits, what it accepts for sending is dropped whole, and nothing is out of step afterwards."""
    test = Bench(ports, f"drop {ports} {chance}")
    levels = dict.fromkeys(SIDES, 0)

    def drop(side):
        if test.rng.random() < 0.08:
            levels[side] ^= 1
        return levels[side]

    async def bench(ctx):
        await test.run(ctx, 160 * (1 if ports == 1 else 2), chance=chance, drop=drop)
        await test.run(ctx, 60 * ports, more=False)
        test.traffic.take = 1.0
        await test.run(ctx, 80 * ports, more=False)
        test.check(complete=True)
        sent = {key: len(beats) for key, beats in test.traffic.accepted.items()}
        assert not any(test.traffic.pending.values()), "everything offered was accepted"
        assert sum(map(len, test.traffic.received.values())) < sum(sent.values()), "something was dropped"
        assert chance or not any(ctx.get(getattr(test.pair, side).protocol_error) for side in SIDES)

    simulate(test.pair, bench)


def test_events_and_what_is_kept():
    """Each error makes its event, also while its kind is still kept; an error in the cycle of the clear is kept."""
    test = Bench(1, "events")
    pair = test.pair
    agent = pair.originator
    path = ("wr_rsp", "vld_parity")
    at = ERRORS_LAYOUT["control"].offset + ERRORS_LAYOUT["control"].shape["wr_rsp"].offset

    async def bench(ctx):
        await test.run(ctx, 20)
        steps = (
            (1, 0, 1, 1),
            (0, 0, 0, 1),
            (1, 0, 1, 1),
            (1, 0, 1, 1),
            (0, 1, 0, 0),
            (1, 1, 1, 1),
            (0, 0, 0, 1),
            (0, 1, 0, 0),
            (0, 0, 0, 0),
        )
        # What is on the wire is judged in the next cycle, which is that of the clear.
        ctx.set(pair.faults[path], steps[0][0])
        await ctx.tick()
        for (_, clear, event, kept), (flip, *_) in zip(steps, (*steps[1:], (0,))):
            ctx.set(pair.faults[path], flip)
            ctx.set(agent.clear_errors, clear)
            await ctx.tick()
            assert (ctx.get(agent.control_event), ctx.get(agent.control_error)) == (event, kept)
            assert ctx.get(Value.cast(agent.events)) == event << at and ctx.get(Value.cast(agent.errors)) == kept << at

    simulate(pair, bench)
