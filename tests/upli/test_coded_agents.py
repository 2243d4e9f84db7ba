"""Agents whose beats have a code: they do what those without do, in every cycle, and whatever is taken has a right one,
also what is poisoned; what is made of a wrong one is wrong."""

import random

import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator

from support.shared_simulator import SharedSimulator
from support.upli.coded_pair import CodedPair
from support.upli.pair import Traffic, field, simulate
from support.upsets import collect
from ualink.config import Credits, UPLIConfig
from ualink.lib.parity import WithoutDataParity
from ualink.upli.channels import CHANNEL_LAYOUTS, CODE_LAYOUTS, CODED_LAYOUTS, PROTECTED_BITS
from ualink.upli.commands import Status
from ualink.upli.isolation.isolate_request import IsolateRequest
from ualink.upli.receiver import OF_ANY, Receiver
from ualink.upli.sender import POISON

PROMPT = UPLIConfig(req=Credits(pool=6), orig_data=Credits(pool=6), rd_rsp=Credits(pool=18), wr_rsp=Credits(pool=4))
SLOW = PROMPT.replace(prompt_data=False)
FAULTS = {
    "req": ("parity", "vld_parity"),
    "orig_data": ("data", "byte_en_parity", "fields_parity"),
    "rd_rsp": ("data", "parity", "vld_parity"),
    "wr_rsp": ("parity",),
}


@pytest.mark.parametrize(
    ("config", "ports", "how"),
    [
        (PROMPT, 1, {"choosable": True}),
        (SLOW, 2, {}),
        (SLOW.replace(unhurried=True), 4, {}),
        (SLOW.replace(lean=True), 1, {"protected": False}),
    ],
    ids=["one_of_four", "two", "four", "without_data_parity"],
)
def test_they_do_what_agents_without_a_code_do(config, ports, how):
    """Whatever flips on the interface, so that beats are poisoned, dropped, and replaced."""
    paths = [(channel, name) for channel, names in FAULTS.items() for name in names]
    pair = CodedPair(config, ports, paths, choosable=how.get("choosable", False))
    traffic = Traffic(pair, config, f"{ports}{how}", judge=False, offer=0.9)
    rng, poisoned = traffic.rng, 0

    async def bench(ctx):
        nonlocal poisoned
        await pair.settle(ctx)
        for _ in range(2):
            traffic.take = rng.choice((0.2, 0.9))
            for cycle in range(60 * ports):
                for path in paths:
                    flips = rng.random() < 0.02 and cycle > 30
                    ctx.set(pair.faults[path], 1 << rng.randrange(512 if path[1] == "data" else 1) if flips else 0)
                traffic.drive(ctx)
                pair.check(ctx, cycle)
                await traffic.finish(ctx)
            poisoned += sum(
                beat >> CHANNEL_LAYOUTS[channel][POISON[channel]].offset & 1
                for (channel, _), beats in traffic.received.items()
                if channel in POISON
                for beat in beats
            )
            await traffic.reset(ctx)

    simulate(pair if how.get("protected", True) else WithoutDataParity(pair), bench)
    assert poisoned > 4


def control_parity(channel, beat):
    """1: the control of ``beat``, a number as of a stream with a code, does not fit its code."""
    layout = CODED_LAYOUTS[channel]
    own = sum((1 << field.width) - 1 << field.offset for name, field in layout if name in PROTECTED_BITS)
    own |= (1 << CODE_LAYOUTS[channel].size) - 2 << layout["code"].offset
    return (beat & ~own).bit_count() & 1


class Story:
    """Cycles of one simulated block of which its own registers are struck, each run from reset."""

    def __init__(self, dut):
        self.dut = dut
        fragment, registers, _ = collect(dut)
        self.registers = {place.path[0]: place for place in registers if len(place.path) == 1}
        self._bench = None
        self._simulator = Simulator(fragment)
        self._simulator.add_clock(1e-9)
        self._simulator.add_testbench(self._run)

    async def _run(self, ctx):
        await self._bench(ctx)

    def run(self, bench):
        if self._bench is not None:
            self._simulator.reset()
        self._bench = bench
        self._simulator.run()

    def flip(self, ctx, name, bit):
        signal = self.registers[name].signal
        ctx.set(signal, ctx.get(signal) ^ 1 << bit)


@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize(("here", "fill"), [(0, 1), (1, 1), (1, 0)], ids=["in_a_gap", "in_place_of_another", "itself"])
@pytest.mark.parametrize("channel", POISON)
def test_a_later_beat_of_a_transfer(channel, here, fill):
    """It has the fields of the first. It is wrong if what is kept of that one, or the VC where that of this cycle's
    beat counts, or its AuthTag or poison, changed in any cycle between; otherwise it is right."""
    dut = Receiver(channel, PROMPT, 1, coded=True)
    story, rng, layout = Story(dut), random.Random(channel), CODED_LAYOUTS[channel]
    vc = layout["vc"].offset
    strikes = [None, ("kept_code_0", 0), *(("kept_0", bit) for bit in range(story.registers["kept_0"].bits))]
    if here:
        strikes += [("vc_code", 0), ("beat", vc), ("beat", vc + 1)]
    if not fill:
        # Also if no such beat came, or its port was another one.
        strikes += [("sound", 0), ("beat", layout[POISON[channel]].offset), ("good", 0), ("in_slot", 0)]
    if "auth_tag" in layout.members:
        tag = layout["auth_tag"]
        strikes += [("auth_code", 0), ("beat", tag.offset), ("beat", tag.offset + tag.width - 1)]

    async def cycle(ctx, **inputs):
        for name in ("take", "fill"):
            ctx.set(getattr(dut, name), inputs.get(name, 0))
        ctx.set(dut.goes_on, inputs.get("goes_on", 0))
        for name, place in CHANNEL_LAYOUTS[channel]:
            ctx.set(getattr(dut.upli, name), rng.getrandbits(place.width))
        await ctx.tick()

    for strike in strikes:
        for waits in range(3):

            async def bench(ctx, strike=strike, waits=waits):
                ctx.set(dut.open, 1)
                ctx.set(dut.listen, 1)
                while not ctx.get(dut.upli.credit.init_done):
                    await cycle(ctx)
                # It is kept from the end of the cycle in which it is taken.
                await cycle(ctx, take=1)
                for n in range(3):
                    if n == 2:
                        for register in (dut.here, dut.good, dut.in_slot):
                            ctx.set(register, here)
                    own = ("beat", "vc_code", "auth_code", "sound", "good", "in_slot")
                    if strike is not None and n == (2 if strike[0] in own else waits):
                        story.flip(ctx, *strike)
                    ctx.set(dut.due_offset, rng.randrange(4))
                    ctx.set(dut.due_last, rng.randrange(2))
                    if n == 2:
                        now = {name: ctx.get(getattr(dut.beat, name)) for name in ("vc", POISON[channel])}
                        due = {"offset": ctx.get(dut.due_offset), "last": ctx.get(dut.due_last)}
                    await cycle(ctx, take=n == 2 and not fill, fill=n == 2 and fill, goes_on=n == 2)
                ctx.set(dut.beats[0].ready, 1)
                got = []
                while len(got) < 2:
                    if ctx.get(dut.beats[0].valid):
                        got.append(ctx.get(Value.cast(dut.beats[0].p)))
                    await cycle(ctx)
                if strike is None:
                    names = CHANNEL_LAYOUTS[channel].members
                    first, later = ({name: field(channel, beat, name) for name in names} for beat in got)
                    own = {**due, POISON[channel]: 1 if fill else now[POISON[channel]]}
                    own["vc"] = now["vc"] if here else first["vc"]
                    own |= {name: value for name, value in first.items() if name not in OF_ANY and name not in own}
                    assert later | own == later
                assert [control_parity(channel, beat) for beat in got] == [0, strike is not None], (strike, waits)

            story.run(bench)


@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize("channel", POISON)
def test_what_decides_of_a_beat_has_its_own_code(channel):
    """Whatever is stored, a beat as it comes or one in its place: the contract of its queue demands it."""
    dut, rng = Receiver(channel, PROMPT, 1, coded=True), random.Random(channel)

    async def bench(ctx, dut):
        for member in (dut.open, dut.listen, dut.beats[0].ready):
            ctx.set(member, 1)
        stored = 0
        while stored < 200:
            kind = rng.choice(("none", "take", "fill"))
            for name, place in CHANNEL_LAYOUTS[channel]:
                ctx.set(getattr(dut.upli, name), rng.getrandbits(place.width))
            ctx.set(dut.upli.vld, rng.randrange(2))
            for name in ("take", "fill"):
                ctx.set(getattr(dut, name), kind == name)
            ctx.set(dut.goes_on, kind == "fill" or rng.randrange(2))
            ctx.set(dut.due_offset, rng.randrange(4))
            ctx.set(dut.due_last, rng.randrange(2))
            stored += kind != "none"
            await ctx.tick()

    SharedSimulator(dut).run(bench)


@pytest.mark.req("RAS-014", "RAS-108")
def test_isolate_has_a_right_code():
    """Wrong if the VC that is kept for it changed, or was that of a Response with a wrong code."""
    dut = IsolateRequest(1, coded=True)
    story, rng = Story(dut), random.Random(1)
    layout = CODED_LAYOUTS["wr_rsp"]

    async def bench(ctx):
        found = []
        for case in range(60):
            vc = rng.randrange(4)
            beat = rng.getrandbits(CHANNEL_LAYOUTS["wr_rsp"].size - 2) | vc << layout["vc"].offset
            beat |= (beat.bit_count() & 1) << layout["code"].offset
            kind = ("none", "kept", "taken")[case % 3]
            beat ^= kind == "taken" and 1 << rng.randrange(layout.size)
            ctx.set(dut.completer.ready, 1)
            ctx.set(dut.tl.valid, 1)
            ctx.set(Value.cast(dut.tl.p), beat)
            assert ctx.get(Value.cast(dut.completer.p)) == beat
            await ctx.tick()
            ctx.set(dut.tl.valid, 0)
            ctx.set(Value.cast(dut.tl.p), rng.getrandbits(layout.size))
            for down in (1, 0):
                ctx.set(dut.down, down)
                ctx.set(dut.dropping, 1)
                if not down:
                    if kind == "kept":
                        story.flip(ctx, *rng.choice([("vc", 0), ("vc", 1), ("vc_code", 0)]))
                    assert ctx.get(dut.completer.valid)
                    told = ctx.get(Value.cast(dut.completer.p))
                    assert told >> layout["status"].offset & 0xF == Status.ISOLATE.value
                    assert control_parity("wr_rsp", told) == (kind != "none"), kind
                    found.append(kind)
                await ctx.tick()
            ctx.set(dut.dropping, 0)
            await ctx.tick().repeat(2)
        assert len(found) == 60

    story.run(bench)
