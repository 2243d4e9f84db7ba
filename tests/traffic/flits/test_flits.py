"""Endless TL flits: what is sent arrives as such, and whatever is changed on the way is noticed."""

import random

import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.sim import Simulator

from support.csr.master import Master
from ualink.dl.interface import TL_FLIT_LAYOUT
from ualink.traffic.flits.checker import FlitChecker
from ualink.traffic.flits.source import FlitSource
from ualink.traffic.flits.traffic import FlitTraffic

MASK = (1 << 32) - 1
LATENCY = 3


def content(number: int) -> tuple[int, int]:
    """Data and message bits of flit ``number``, from the words of the docstring."""
    folded = (number ^ number << 13) & MASK
    mixed = folded ^ folded >> 7
    data = 0
    for word in range(16):
        turned = (mixed << 2 * word | mixed >> 32 - 2 * word) & MASK
        data |= (turned ^ (word + 1) * 0x9E3779B1 & MASK) << 32 * word
    return data, mixed & 3


def whole(number: int) -> dict:
    """All fields of flit ``number``."""
    data, message = content(number)
    parity = sum(((data >> 8 * n & 0xFF).bit_count() & 1) << n for n in range(64))
    return {"data": data, "message": message, "parity": parity, "control_parity": message.bit_count() & 1, "error": 0}


def simulate(component, *benches):
    simulator = Simulator(component)
    simulator.add_clock(1e-9)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize(("pace", "cycles"), ((0xFFFF, 40), (0x7FFF, 80), (0x0FFF, 640)))
def test_source_makes_each_flit_once_at_its_pace(pace, cycles):
    source = FlitSource()
    taken = []

    async def bench(ctx):
        rng = random.Random(pace)
        for member, value in (("online", 1), ("enable", 1), ("pace", pace)):
            ctx.set(getattr(source, member), value)
        await ctx.tick()
        await ctx.tick()
        for cycle in range(cycles):
            slow = cycle < cycles // 2 and pace == 0xFFFF
            ctx.set(source.flit.ready, rng.randrange(2) if slow else 1)
            if ctx.get(source.flit.valid) and ctx.get(source.flit.ready):
                taken.append({name: ctx.get(getattr(source.flit.p, name)) for name in TL_FLIT_LAYOUT.members})
            if pace == 0xFFFF:
                assert ctx.get(source.flit.valid)
            await ctx.tick()

    simulate(source, bench)
    assert taken == [whole(number) for number in range(len(taken))]
    if pace != 0xFFFF:
        assert len(taken) in (39, 40)


def test_source_begins_anew_after_the_link_was_down():
    source = FlitSource()

    async def bench(ctx):
        for member in ("online", "enable"):
            ctx.set(getattr(source, member), 1)
        ctx.set(source.pace, 0xFFFF)
        ctx.set(source.flit.ready, 1)
        await ctx.tick().repeat(9)
        assert ctx.get(source.flit.valid) and ctx.get(source.flit.p.data) in [content(n)[0] for n in range(5, 9)]
        ctx.set(source.flit.ready, 0)
        ctx.set(source.online, 0)
        await ctx.tick()
        assert not ctx.get(source.flit.valid)
        ctx.set(source.online, 1)
        await ctx.tick().repeat(2)
        assert ctx.get(source.flit.valid) and ctx.get(source.flit.p.data) == content(0)[0]
        ctx.set(source.enable, 0)
        ctx.set(source.flit.ready, 1)
        await ctx.tick().repeat(2)
        assert not ctx.get(source.flit.valid)

    simulate(source, bench)


def test_checker_notices_every_changed_bit():
    """One bit of one flit, and all bits in turn; and good flits between them stay good."""
    checker = FlitChecker()
    bits = [("data", n) for n in range(512)] + [("message", 0), ("message", 1)]
    bits += [("parity", n) for n in range(64)] + [("control_parity", 0), ("error", 0)]

    async def bench(ctx):
        outcomes = []
        ctx.set(checker.online, 1)
        await ctx.tick()
        for number in range(2 * len(bits) + LATENCY):
            fields = whole(number)
            if number % 2 and number // 2 < len(bits):
                name, bit = bits[number // 2]
                fields[name] ^= 1 << bit
            ctx.set(checker.flit.p, fields)
            ctx.set(checker.flit.valid, 1)
            if number >= LATENCY:
                assert ctx.get(checker.checked) and ctx.get(checker.number) == number - LATENCY
                outcomes.append((ctx.get(checker.wrong), ctx.get(checker.damaged)))
            await ctx.tick()
        for number, outcome in enumerate(outcomes):
            wrong = number % 2 and bits[number // 2][0] in ("data", "message")
            assert outcome == (int(bool(wrong)), number % 2), number

    simulate(checker, bench)


@pytest.mark.parametrize("story", ("lost", "doubled", "later"))
def test_checker_notices_lost_doubled_and_late_flits_until_the_link_was_down(story):
    checker = FlitChecker()
    numbers = {"lost": [0, 1, 3, 4], "doubled": [0, 1, 1, 2], "later": [0, 2, 1, 3]}[story]
    wrong = {"lost": [0, 0, 1, 1], "doubled": [0, 0, 1, 1], "later": [0, 1, 1, 0]}[story]

    async def bench(ctx):
        found = []

        async def give(sequence):
            for number in [*sequence, *[None] * LATENCY]:
                ctx.set(checker.flit.valid, number is not None)
                ctx.set(checker.flit.p, whole(number or 0))
                await ctx.tick()
                if ctx.get(checker.checked):
                    found.append(ctx.get(checker.wrong))

        ctx.set(checker.online, 1)
        await give(numbers)
        assert found == wrong
        ctx.set(checker.online, 0)
        await ctx.tick()
        ctx.set(checker.online, 1)
        found.clear()
        await give([0, 1, 2])
        assert found == [0, 0, 0]

    simulate(checker, bench)


class Loop(Elaboratable):
    """Flit traffic that hears itself; ``flip`` changes a bit of data on the way, ``spoil`` a bit of its parity."""

    def __init__(self):
        self.traffic = FlitTraffic()
        self.flip, self.spoil = Signal(), Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.traffic = traffic = self.traffic
        rx, tx = traffic.rx_flit, traffic.tx_flit
        m.d.comb += [
            tx.ready.eq(1),
            rx.valid.eq(tx.valid),
            rx.p.eq(tx.p),
            rx.p.data[77].eq(tx.p.data[77] ^ self.flip),
            rx.p.parity[3].eq(tx.p.parity[3] ^ self.spoil),
        ]
        return m


def test_firmware_sees_what_was_sent_what_came_and_what_was_wrong():
    loop = Loop()
    traffic = loop.traffic
    registers = traffic.registers

    async def bench(ctx):
        master = Master(traffic.bus)

        async def read(register, field):
            word, error = await master.read(ctx, registers[register].offset)
            assert not error
            found = next(each for each in registers[register].fields if each.name == field)
            return word >> found.low & (1 << found.width) - 1

        async def write(register, **fields):
            known = {field.name: field for field in registers[register].fields}
            word = sum(value << known[name].low for name, value in fields.items())
            assert not await master.write(ctx, registers[register].offset, word)

        async def counters():
            await write("snapshot", start=1)
            return [await read(f"{name}_low", "count") for name in ("sent", "received", "wrong", "damaged")]

        assert await read("status", "online") == 0
        await write("control", enable=1, pace=0xFFFF)
        ctx.set(traffic.online, 1)
        await ctx.tick().repeat(50)
        assert await read("status", "online") == 1
        sent, received, wrong, damaged = await counters()
        assert sent - LATENCY == received > 40 and (wrong, damaged) == (0, 0)
        assert await read("events", "restarted") == 1 and await read("events", "wrong") == 0
        for change, cycles in ((loop.flip, 3), (loop.spoil, 2)):
            ctx.set(change, 1)
            await ctx.tick().repeat(cycles)
            ctx.set(change, 0)
        await ctx.tick().repeat(5)
        first = await read("first_wrong", "number")
        *_, wrong, damaged = await counters()
        assert (wrong, damaged) == (3, 5) and received < first
        assert await read("events", "wrong") == await read("events", "damaged") == 1
        await write("control", enable=0, pace=0xFFFF, clear=0)
        await ctx.tick().repeat(5)
        await write("control", enable=0, pace=0xFFFF, clear=1)
        await ctx.tick()
        assert await read("first_wrong", "number") == 0
        await write("control", enable=1, pace=0xFFFF, clear=0)
        await ctx.tick().repeat(20)
        await write("control", enable=0, pace=0xFFFF, clear=0)
        await ctx.tick().repeat(5)
        sent, received, wrong, damaged = await counters()
        assert sent == received >= 20 and (wrong, damaged) == (0, 0)

    simulate(loop, bench)
