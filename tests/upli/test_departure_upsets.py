"""Each bit that the last place before the pins remembers, flipped in each cycle of a run: what leaves as a good beat is
one that came, once and in its order, unless the place has said before that it was upset. A beat that goes round leaves
with a wrong code when a bit of it changed, wherever it was then.

CI strikes each bit in a few cycles; ``make soak`` (UALINK_SOAK=1) in all.
"""

import os
import random

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.sim import Simulator

from support.upsets import collect
from ualink.upli.channels import CODE_LAYOUTS, CODED_LAYOUTS, PROTECTED_BITS
from ualink.upli.code import control_wrong, data_wrong
from ualink.upli.departure import Departure

SOAK = bool(os.environ.get("UALINK_SOAK"))
CYCLES = 40


class Bench:
    """A place, with the registers of the pins behind it, and the same traffic in each run."""

    def __init__(self, channel: str, ports: int, used: int | None, seed: str):
        self.dut = Departure(channel, 4 if used else ports, coded=True, choosable=bool(used))
        self.ports, self.used, self.channel = ports, used, channel
        self.has_data = "data" in self.dut.beat.shape().members
        rng = random.Random(seed)
        self.plan = [
            (rng.random() < 0.5, [rng.random() < 0.6 for _ in self.dut.beats], rng.random() < 0.2)
            for _ in range(CYCLES)
        ]
        self.pins_wrong, self.data_wrong = Signal(), Signal()
        self.pins = Signal(self.dut.beat.shape(), reset_less=True)
        m = Module()
        m.submodules.dut = self.dut
        with m.If(~self.dut.hold):
            m.d.sync += self.pins.eq(self.dut.beat)
        m.d.comb += self.pins_wrong.eq(control_wrong(channel, self.pins, self.pins.code))
        if self.has_data:
            m.d.comb += self.data_wrong.eq(data_wrong(channel, self.pins, self.pins.code))
        self.design, registers, _ = collect(m)
        self.registers = [place for place in registers if place.path[0] == "dut"]

    async def play(self, ctx, strike=None) -> tuple[int | None, int | None]:
        """The cycles in which a beat was first at the pins that had not come or had left before, as a good one, or had
        the data of another as good ones, and in which the place first said that it was upset."""
        dut, registers = self.dut, [place.signal for place in self.registers]
        for signal in registers:
            ctx.set(Value.cast(signal), signal.init)
        if self.used:
            ctx.set(dut.used, self.used)
        number, taken, told = 1, [[] for _ in dut.beats], None
        doubtful, leaves = None, None
        for cycle, (accepts, offers, stale) in enumerate(self.plan):
            if strike is not None and strike[2] == cycle:
                signal = Value.cast(registers[strike[0]])
                ctx.set(signal, ctx.get(signal) ^ 1 << strike[1])
            slot = cycle % self.ports
            ctx.set(dut.slot, slot)
            if leaves is not None and not ctx.get(self.pins_wrong) and doubtful is None:
                port, tag = leaves, ctx.get(self.pins).tag
                has_own = not self.has_data or ctx.get(self.data_wrong) or ctx.get(self.pins).data == tag
                if not taken[port] or taken[port].pop(0) != tag or not has_own:
                    doubtful = cycle
            if told is None and ctx.get(dut.upset):
                told = cycle
            offered = []
            for port, stream in enumerate(dut.beats):
                ctx.set(stream.valid, offers[port])
                # What is on offer while nothing is valid is a good beat, too, of those that went before.
                tag = number if offers[port] or stale else max(number - 2, 0)
                ctx.set(stream.p.tag, tag)
                ctx.set(stream.p.vc, tag % 4)
                if self.has_data:
                    ctx.set(stream.p.data, tag)
                    ctx.set(stream.p.code.data, tag.bit_count() % 2)
                ctx.set(stream.p.code.control, (tag.bit_count() + (tag % 4).bit_count()) % 2)
                offered.append(number)
                number += 1
            goes = accepts and ctx.get(dut.valid)
            ctx.set(dut.accept, goes)
            for port, stream in enumerate(dut.beats):
                if offers[port] and ctx.get(stream.ready):
                    taken[port].append(offered[port])
            leaves = slot if goes else None
            await ctx.tick()
        return doubtful, told


@pytest.mark.soak
@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize("channel", ["wr_rsp", "rd_rsp"])
@pytest.mark.parametrize(
    ("ports", "used"),
    [(1, None), (2, None), (4, None), (1, 1), (2, 2)],
    ids=["1", "2", "4", "1_of_4", "2_of_4"],
)
def test_each_bit_in_each_cycle(channel, ports, used):
    bench = Bench(channel, ports, used, f"{channel} {ports} {used}")
    rng = random.Random(channel)

    async def run(ctx):
        assert await bench.play(ctx) == (None, None)
        unseen, seen = [], set()
        for n, place in enumerate(bench.registers):
            wide = place.bits > 16
            for bit in rng.sample(range(place.bits), 3) if wide else range(place.bits):
                cycles = range(1, CYCLES - 4)
                for cycle in cycles if SOAK else rng.sample(cycles, 3):
                    doubtful, told = await bench.play(ctx, (n, bit, cycle))
                    seen |= {place.path[-1]} if told is not None else set()
                    # What leaves in the cycle of the upset itself has wrong parity.
                    if doubtful is not None and (told is None or told >= doubtful):
                        unseen.append((place.path[-1], bit, cycle, doubtful, told))
        assert not unseen
        marks = {"waiting"} if ports == 1 else {"there"} if used else {f"there_{place}" for place in range(ports)}
        if SOAK and ports > 1 and not used:
            marks |= {f"expects_{port}" for port in range(ports)}
        assert {"due", *marks} <= seen

    simulator = Simulator(bench.design)
    simulator.add_clock(1e-9)
    simulator.add_testbench(run)
    simulator.run()


def good(rng, channel: str) -> int:
    """Any beat, with its code."""
    layout = CODED_LAYOUTS[channel]
    beat = rng.getrandbits(layout["code"].offset)
    code, covered = layout["code"].offset, 0
    for name, own in CODE_LAYOUTS[channel]:
        if name == "control":
            continue
        place, bits = layout[name], PROTECTED_BITS[name]
        value = beat >> place.offset & (1 << place.width) - 1
        covered |= value << place.offset
        for n in range(own.width):
            beat |= ((value >> n * bits & (1 << bits) - 1).bit_count() & 1) << code + own.offset + n
    control = (beat & (1 << code) - 1 & ~covered).bit_count() & 1
    return beat | control << code + CODE_LAYOUTS[channel]["control"].offset


@pytest.mark.req("RAS-014", "RAS-108")
@pytest.mark.parametrize("ports", [2, 4])
@pytest.mark.parametrize("channel", ["wr_rsp", "rd_rsp"])
def test_what_goes_round(channel, ports):
    """All ports have a beat, and none leaves for some rounds; each place of the ring is struck in each of a round's
    cycles, in each field. The beat that was there leaves with a wrong code in what changed, the others as they came."""
    bench, rng = Bench(channel, ports, None, channel), random.Random(f"{channel} {ports}")
    dut, layout = bench.dut, CODED_LAYOUTS[channel]
    rings = {
        place.path[-1]: Value.cast(place.signal) for place in bench.registers if place.path[-1].startswith("ring_")
    }
    assert list(rings) == [f"ring_{place}" for place in range(ports)]

    async def attempt(ctx, place, bit, when, more):
        """Flip ``bit`` in cycle ``when`` after two rounds, and let all leave ``more`` cycles later."""
        beats, left = [good(rng, channel) for _ in range(ports)], {}
        when, slot = 2 * ports + when, None
        end = when + more + ports
        # Turns go on from one attempt to the next.
        for cycle in range(-(-(end + 1) // ports) * ports):
            if when + more < cycle <= end:
                left[slot] = (ctx.get(Value.cast(bench.pins)), ctx.get(bench.pins_wrong), ctx.get(bench.data_wrong))
            slot = cycle % ports
            ctx.set(dut.slot, slot)
            for port, stream in enumerate(dut.beats):
                # The first cycle after a reset is nobody's.
                offers = 0 < cycle <= ports
                ctx.set(stream.valid, offers)
                ctx.set(Value.cast(stream.p), beats[port] if offers else good(rng, channel))
            if cycle == when:
                ring = rings[f"ring_{place}"]
                ctx.set(ring, ctx.get(ring) ^ 1 << bit)
                struck = (slot + place) % ports
            ctx.set(dut.accept, cycle >= when + more and ctx.get(dut.valid))
            await ctx.tick()
        ctx.set(dut.accept, 0)
        for port, beat in enumerate(beats):
            (own,) = [name for name, field in layout if field.offset <= bit < field.offset + field.width]
            of_data = own == "data" or (own == "code" and bit > layout["code"].offset)
            expected = (beat ^ 1 << bit, not of_data, of_data) if port == struck else (beat, 0, 0)
            assert left[port] == expected, (place, bit, when, more, port)

    async def run(ctx):
        for place in range(ports):
            for field in dict(layout).values():
                for when in range(ports):
                    await attempt(ctx, place, field.offset + rng.randrange(field.width), when, rng.randrange(2 * ports))

    simulator = Simulator(bench.design)
    simulator.add_clock(1e-9)
    simulator.add_testbench(run)
    simulator.run()
