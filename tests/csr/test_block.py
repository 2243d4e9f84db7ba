"""Register blocks: each kind of access, accesses of every kind at random, several blocks on one bus."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from support.csr.bench import TABLE, Bench, stream_put
from support.csr.master import Master
from ualink.csr.block import RegisterBlock
from ualink.csr.table import BusSignature
from ualink.csr.windows import RegisterWindows


def test_constants_and_levels():
    bench = Bench()

    async def story(ctx):
        ctx.set(bench.block.about.now, 9)
        assert await bench.master.read(ctx, 0x00) == (0xA509, 0)
        assert bench.master.cycles == 1
        ctx.set(bench.block.about.now, 6)
        assert await bench.master.read(ctx, 0x00) == (0xA506, 0)
        assert await bench.master.write(ctx, 0x00, 0xFFFF_FFFF) == 1
        assert await bench.master.read(ctx, 0x00) == (0xA506, 0)

    bench.run(story)


def test_settings_keep_their_reset_value_until_a_legal_write():
    bench = Bench()
    control = bench.block.control

    async def story(ctx):
        assert await bench.master.read(ctx, 0x04) == (0xBEEF_3204, 0)
        assert await bench.master.write(ctx, 0x04, 0x1234_6302) == 0
        assert (ctx.get(control.mode), ctx.get(control.limit), ctx.get(control.word)) == (2, 99, 0x1234)
        # Bits that belong to no field are ignored and read 0.
        assert await bench.master.write(ctx, 0x04, 0x1234_63FA) == 0
        assert await bench.master.read(ctx, 0x04) == (0x1234_6302, 0)

    bench.run(story)


@pytest.mark.parametrize("word", [0x0000_3200, 0x0000_3203, 0x0000_3207, 0x0000_1001, 0x0000_C801, 0x0000_0005])
def test_refused_write_changes_nothing_and_is_reported(word):
    bench = Bench()

    async def story(ctx):
        for _ in range(2):
            assert await bench.master.write(ctx, 0x04, word) == 1
        assert await bench.master.read(ctx, 0x04) == (0xBEEF_3204, 0)
        for edge in (0x0000_1101, 0x0000_C702):
            assert await bench.master.write(ctx, 0x04, edge) == 0
            assert await bench.master.read(ctx, 0x04) == (edge, 0)

    async def watch(ctx):
        for n in range(6):
            assert ctx.get(bench.block.refused) == (n < 2), n
            await ctx.tick()

    bench.run(story, watch)


def test_events_stay_until_cleared_and_win_over_clearing():
    bench = Bench()
    events = bench.block.events

    async def story(ctx):
        ctx.set(events.one, 1)
        ctx.set(events.many, 0b0110)
        await ctx.tick()
        ctx.set(events.one, 0)
        ctx.set(events.many, 0)
        await ctx.tick().repeat(3)
        assert await bench.master.read(ctx, 0x0C) == (0x61, 0)
        assert await bench.master.write(ctx, 0x0C, 0x20) == 0
        assert await bench.master.read(ctx, 0x0C) == (0x41, 0)
        ctx.set(events.one, 1)
        assert await bench.master.write(ctx, 0x0C, 0xFFFF_FFFF) == 0
        ctx.set(events.one, 0)
        assert await bench.master.read(ctx, 0x0C) == (0x01, 0)
        assert await bench.master.write(ctx, 0x0C, 0) == 0
        assert await bench.master.read(ctx, 0x0C) == (0x01, 0)

    bench.run(story)


def test_snapshot_is_of_one_cycle():
    bench = Bench()
    first, second = bench.block.first, bench.block.second

    async def count(ctx):
        for n in range(30):
            ctx.set(first.count, 0xFFFF_FFF0 + n & 0xFFFF_FFFF)
            ctx.set(second.count, 1000 + n)
            await ctx.tick()

    async def story(ctx):
        assert await bench.master.read(ctx, 0x20) == (0, 0)
        seen = set()
        for _ in range(4):
            assert await bench.master.write(ctx, 0x1C, 1) == 0
            (a, _), (b, _) = await bench.master.read(ctx, 0x20), await bench.master.read(ctx, 0x24)
            assert (a - b) & 0xFFFF_FFFF == (0xFFFF_FFF0 - 1000)
            assert (await bench.master.read(ctx, 0x24))[0] == b
            assert await bench.master.read(ctx, 0x1C) == (0, 0)
            assert await bench.master.write(ctx, 0x1C, 0) == 0
            assert (await bench.master.read(ctx, 0x24))[0] == b
            seen.add(b)
        assert len(seen) == 4

    bench.run(count, story)


def test_no_register_there():
    bench = Bench()

    async def story(ctx):
        for offset in (0x08, 0x28, 0x3C):
            assert await bench.master.write(ctx, offset, 0xFFFF_FFFF) == 1
            assert await bench.master.read(ctx, offset) == (0, 1)
        bus = bench.block.bus
        ctx.set(bus.address, 1)
        ctx.set(bus.write_data, 0x1111_1101)
        ctx.set(bus.read, 1)
        ctx.set(bus.write, 1)
        await ctx.tick()
        assert (ctx.get(bus.done), ctx.get(bus.error), ctx.get(bus.read_data)) == (1, 1, 0)
        ctx.set(bus.read, 0)
        ctx.set(bus.write, 0)
        await ctx.tick()
        assert not ctx.get(bus.done)
        assert await bench.master.read(ctx, 0x04) == (0xBEEF_3204, 0)

    bench.run(story)


def test_access_before_the_last_is_done_is_not_heard():
    bench = Bench(ports=4)

    async def story(ctx):
        bus = bench.block.bus
        await stream_put(ctx, bench.fill, 77)
        await ctx.tick().until(bench.block.here)
        # The next look is three cycles away; the master breaks the rule in between.
        ctx.set(bus.address, 0x18 // 4)
        ctx.set(bus.read, 1)
        await ctx.tick()
        ctx.set(bus.read, 0)
        ctx.set(bus.write, 1)
        done = []
        for _ in range(7):
            await ctx.tick()
            ctx.set(bus.read, 0)
            ctx.set(bus.write, 0)
            done.append((ctx.get(bus.done), ctx.get(bus.read_data), ctx.get(bus.error)))
        assert [entry for entry in done if entry[0]] == [(1, 77, 0)]

    bench.run(story)


@pytest.mark.parametrize("seed", range(3))
def test_accesses_at_random(seed):
    """Back to back, against a few lines that say what each register should be."""
    bench = Bench(ports=(1, 2, 4)[seed])
    rng = random.Random(seed)
    block = bench.block

    async def story(ctx):
        control, sticky, size, snapshot, level = 0xBEEF_3204, 0, 7, [0, 0], [0, 0]
        for _ in range(400):
            offset = rng.choice((0x04, 0x08, 0x0C, 0x10, 0x1C, 0x20, 0x24))
            word = rng.getrandbits(32) & rng.choice((0xFFFF_FFFF, 0xFFFF_7F07, 0))
            events = rng.getrandbits(8) & 0xF1 if rng.random() < 0.3 else 0
            level = [rng.getrandbits(32), rng.getrandbits(32)]
            for signal, value in (
                (block.events.one, events & 1),
                (block.events.many, events >> 4),
                (block.first.count, level[0]),
                (block.second.count, level[1]),
            ):
                ctx.set(signal, value)
            if rng.random() < 0.5:
                error = await bench.master.write(ctx, offset, word)
                legal = word & 7 in (1, 2, 4) and 17 <= word >> 8 & 0xFF < 200
                assert error == (offset in (0x08, 0x20, 0x24) or (offset == 0x04 and not legal))
                control = word & 0xFFFF_FF07 if offset == 0x04 and legal else control
                sticky &= ~word if offset == 0x0C else -1
                size = word >> 4 & 0xFF if offset == 0x10 else size
                snapshot = level if offset == 0x1C and word & 1 else snapshot
            else:
                data, error = await bench.master.read(ctx, offset)
                if offset == 0x10:
                    data &= ~1
                expected = {0x04: control, 0x0C: sticky, 0x10: size << 4, 0x20: snapshot[0], 0x24: snapshot[1]}
                assert (data, error) == (expected.get(offset, 0), offset == 0x08)
            assert bench.master.cycles == 1
            sticky |= events

    bench.run(story)


class WindowBench(wiring.Component):
    """Three blocks on one bus."""

    def __init__(self):
        self.blocks = [RegisterBlock(TABLE) for _ in range(3)]
        super().__init__({"bus": In(BusSignature(TABLE.address_bits + 2)), "here": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.windows = windows = RegisterWindows(TABLE.address_bits, 3)
        wiring.connect(m, wiring.flipped(self.bus), windows.bus)
        for number, block in enumerate(self.blocks):
            m.submodules[f"block{number}"] = block
            wiring.connect(m, windows.windows[number], block.bus)
        return m


def test_windows():
    bench = WindowBench()
    master = Master(bench.bus)

    async def story(ctx):
        for number in range(3):
            assert await master.write(ctx, number * TABLE.size + 4, number << 16 | 0x3201) == 0
        for number in range(3):
            assert ctx.get(bench.blocks[number].control.word) == number
            assert await master.read(ctx, number * TABLE.size + 4) == (number << 16 | 0x3201, 0)
            assert await master.read(ctx, number * TABLE.size + 8) == (0, 1)
        assert await master.read(ctx, 3 * TABLE.size + 4) == (0, 1)
        assert await master.write(ctx, 3 * TABLE.size + 4, 1) == 1

    simulator = Simulator(bench)
    simulator.add_clock(1e-6)
    simulator.add_testbench(story)
    simulator.run()
