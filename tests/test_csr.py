"""Register blocks: each kind of access, accesses of every kind at random, and tables that make no sense."""

import random
import re

import pytest
from amaranth.hdl import Assert, Elaboratable, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from csr_master import Master
from formal import prove
from ualink.config import ConfigError
from ualink.csr import Access, BusSignature, Field, Register, RegisterMap
from ualink.csr_block import RegisterBlock
from ualink.csr_windows import RegisterWindows
from ualink.lib.queue import Queue

TABLE = RegisterMap(
    "example",
    (
        Register("about", 0x00, (Field("version", "15:8", Access.CONSTANT, 0xA5), Field("now", "3:0", Access.RO))),
        Register(
            "control",
            0x04,
            (
                Field("mode", "2:0", Access.RW, 4, allowed=(1, 2, 4)),
                Field("limit", "15:8", Access.RW, 50, allowed=range(17, 200)),
                Field("word", "31:16", Access.RW, 0xBEEF),
            ),
        ),
        Register("events", 0x0C, (Field("one", "0", Access.W1C), Field("many", "7:4", Access.W1C))),
        Register("job", 0x10, (Field("start", "0", Access.GO), Field("size", "11:4", Access.RW, 7))),
        Register("out", 0x14, (Field("data", "31:0", Access.PUSH),)),
        Register("into", 0x18, (Field("data", "31:0", Access.POP),)),
        Register("take", 0x1C, (Field("start", "0", Access.GO),)),
        Register("first", 0x20, (Field("count", "31:0", Access.RO),), snapshot="take"),
        Register("second", 0x24, (Field("count", "31:0", Access.RO),), snapshot="take"),
    ),
)


class Bench(Elaboratable):
    """The block of ``TABLE`` before two queues that move, as everything behind it, in every ``ports``-th cycle."""

    def __init__(self, ports: int = 1, depth: int = 4):
        self.block = RegisterBlock(TABLE)
        self.sent, self.received = Queue(32, depth), Queue(32, depth)
        self.fill, self.drain = stream.Signature(32).create(), stream.Signature(32).create()
        self.ports = ports
        self.master = Master(self.block.bus)

    def elaborate(self, platform):
        m = Module()
        m.submodules.block, m.submodules.sent, m.submodules.received = self.block, self.sent, self.received
        slot = Signal(range(max(2, self.ports)))
        m.d.sync += slot.eq((slot + 1) % self.ports)
        here = self.block.here
        source, sink = self.block.into.data, self.block.out.data
        m.d.comb += [
            here.eq(slot == 0),
            self.sent.input.valid.eq(sink.valid & here),
            self.sent.input.payload.eq(sink.payload),
            sink.ready.eq(self.sent.input.ready),
            source.valid.eq(self.received.output.valid),
            source.payload.eq(self.received.output.payload),
            self.received.output.ready.eq(source.ready),
            self.received.input.valid.eq(self.fill.valid),
            self.received.input.payload.eq(self.fill.payload),
            self.fill.ready.eq(self.received.input.ready),
            self.drain.valid.eq(self.sent.output.valid),
            self.drain.payload.eq(self.sent.output.payload),
            self.sent.output.ready.eq(self.drain.ready),
        ]
        return m

    def run(self, *stories, background=()):
        simulator = Simulator(self)
        simulator.add_clock(1e-6)
        for story in (*stories, *background):
            simulator.add_testbench(story, background=story in background)
        simulator.run()


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


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_go_runs_until_done(ports):
    bench = Bench(ports)
    job = bench.block.job

    async def story(ctx):
        assert await bench.master.write(ctx, 0x10, 0x01) == 0
        assert await bench.master.read(ctx, 0x10) == (0x01, 0)
        await ctx.tick().repeat(3 * ports)
        assert ctx.get(job.start)
        # A second start while it goes on is none; the other field is written as always.
        assert await bench.master.write(ctx, 0x10, 0xAB1) == 0
        assert await bench.master.read(ctx, 0x10) == (0xAB1, 0)
        assert ctx.get(job.start) and ctx.get(job.size) == 0xAB
        ctx.set(job.start_done, 1)
        await ctx.tick().repeat(ports)
        ctx.set(job.start_done, 0)
        assert not ctx.get(job.start)
        assert await bench.master.read(ctx, 0x10) == (0xAB0, 0)
        # Done without having been started means nothing.
        ctx.set(job.start_done, 1)
        await ctx.tick().repeat(2 * ports)
        assert await bench.master.read(ctx, 0x10) == (0xAB0, 0)

    bench.run(story)


@pytest.mark.parametrize("ports", [1, 2, 4])
@pytest.mark.parametrize("delay", range(5))
def test_go_withdrawn_and_started_at_once_is_seen_to_fall_and_rise(ports, delay):
    bench = Bench(ports)
    seen = []

    async def story(ctx):
        await bench.master.write(ctx, 0x10, 1)
        await ctx.tick().repeat(2 * ports + delay)
        await bench.master.write(ctx, 0x10, 0)
        assert await bench.master.write(ctx, 0x10, 1) == 0
        assert await bench.master.read(ctx, 0x10) == (1, 0)

    async def look(ctx):
        for _ in range(9 * ports + delay):
            _, _, here, start = await ctx.tick().sample(bench.block.here, bench.block.job.start)
            seen.append(str(start) if here else "")

    bench.run(story, look)
    assert re.fullmatch("0+1+0{1,2}1+", "".join(seen)), seen


def test_end_of_what_was_withdrawn_does_not_end_the_next():
    bench = Bench(ports=4)
    job = bench.block.job

    async def story(ctx):
        await bench.master.write(ctx, 0x10, 1)
        await ctx.tick().until(bench.block.here)
        await ctx.tick().until(bench.block.here)
        assert ctx.get(job.start)
        await bench.master.write(ctx, 0x10, 0)
        await bench.master.write(ctx, 0x10, 1)
        ctx.set(job.start_done, 1)
        await ctx.tick().until(bench.block.here)
        ctx.set(job.start_done, 0)
        assert not ctx.get(job.start)
        await ctx.tick().repeat(12)
        assert ctx.get(job.start)
        assert await bench.master.read(ctx, 0x10) == (1, 0)

    bench.run(story)


class GoBench(wiring.Component):
    """A go field under any writes, looks and ends: what was withdrawn is seen to fall, what goes on is seen to rise."""

    write: In(1)
    value: In(1)
    here: In(1)
    done: In(1)

    def elaborate(self, platform):
        m = Module()
        table = RegisterMap("go", (Register("job", 0, (Field("start", "0", Access.GO),)),))
        m.submodules.block = block = RegisterBlock(table)
        m.d.comb += [
            block.here.eq(self.here),
            block.bus.write.eq(self.write),
            block.bus.write_data.eq(self.value),
            block.job.start_done.eq(self.done),
        ]
        level = block.job.start
        before = Signal()
        looked = Signal()
        withdrawn = Signal()
        late = Signal()
        m.d.sync += [before.eq(level), looked.eq(self.here)]
        with m.If(self.write & ~self.value & level):
            m.d.sync += [withdrawn.eq(1), late.eq(0)]
        with m.Elif(self.here):
            m.d.sync += [withdrawn.eq(withdrawn & level), late.eq(withdrawn & level)]
        m.d.comb += [
            # Changes come right after a look only, so that each level is looked at.
            Assert((level == before) | looked),
            # At most one look shows 1 after the withdrawal; then one shows 0.
            Assert(~(late & level)),
        ]
        return m


def test_go_level_proof():
    prove(GoBench(), mode="bmc", depth=14)


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_queue_while_filling(ports):
    """Every word once and in order, an error for each read that found none, at most ``ports`` cycles per access."""
    bench = Bench(ports)
    rng = random.Random(ports)
    words = [rng.getrandbits(32) | 1 for _ in range(60)]
    got = []

    async def fill(ctx):
        for word in words:
            while rng.random() < 0.6:
                await ctx.tick()
            await stream_put(ctx, bench.fill, word)

    async def story(ctx):
        empty = 0
        for _ in range(1_000):
            if len(got) == len(words):
                break
            data, error = await bench.master.read(ctx, 0x18)
            assert bench.master.cycles <= ports
            assert error == (data == 0)
            empty += error
            if not error:
                got.append(data)
            if rng.random() < 0.2:
                await ctx.tick().repeat(rng.randrange(1, 9))
        assert empty
        assert await bench.master.write(ctx, 0x18, 1) == 1

    bench.run(story, background=[fill])
    assert got == words


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_queue_that_fills_up(ports):
    """What a write without error appended comes out, and nothing else."""
    bench = Bench(ports, depth=3)
    rng = random.Random(10 + ports)
    accepted, out = [], []
    finished = []

    async def story(ctx):
        refused = 0
        for _ in range(80):
            word = rng.getrandbits(32)
            error = await bench.master.write(ctx, 0x14, word)
            assert bench.master.cycles <= ports
            refused += error
            if not error:
                accepted.append(word)
        assert refused
        assert await bench.master.read(ctx, 0x14) == (0, 1)
        finished.append(True)

    async def drain(ctx):
        quiet = 0
        while not finished or quiet < 4 * ports + 4:
            ready = rng.random() < 0.3 or bool(finished)
            ctx.set(bench.drain.ready, ready)
            _, _, valid, payload = await ctx.tick().sample(bench.drain.valid, bench.drain.payload)
            quiet = 0 if valid else quiet + 1
            if valid and ready:
                out.append(payload)

    bench.run(story, drain)
    assert out == accepted


async def stream_put(ctx, target, word):
    ctx.set(target.payload, word)
    ctx.set(target.valid, 1)
    await ctx.tick().until(target.ready)
    ctx.set(target.valid, 0)


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


def _map(*registers):
    return lambda: RegisterMap("example", registers)


def _register(*fields, **more):
    return lambda: Register("example", 0, fields, **more)


WRONG = {
    "multiple of 4": lambda: Register("x", 2, (Field("a", "0", Access.RO),)),
    "'A'": lambda: Field("A", "0", Access.RO),
    "'32'": lambda: Field("a", "32", Access.RO),
    "'0:7'": lambda: Field("a", "0:7", Access.RO),
    "reset value 16": lambda: Field("a", "3:0", Access.RW, 16),
    "starts with 0": lambda: Field("a", "0", Access.W1C, 1),
    "a go field has one": lambda: Field("a", "1:0", Access.GO),
    "for rw fields": lambda: Field("a", "1:0", Access.RO, allowed=(1,)),
    "not allowed": lambda: Field("a", "1:0", Access.RW, 0, allowed=(1,)),
    "values of 2 bits": lambda: Field("a", "1:0", Access.RW, 1, allowed=(1, 4)),
    "step of a range": lambda: Field("a", "1:0", Access.RW, 1, allowed=range(1, 4, 2)),
    "value big = 4": lambda: Field("a", "1:0", Access.RO, values=(("big", 4),)),
    "name of its own": _register(Field("a", "0", Access.RO), Field("a", "1", Access.RO)),
    "in common": _register(Field("a", "3:0", Access.RO), Field("b", "3", Access.RO)),
    "stands alone": _register(Field("a", "3:0", Access.POP), Field("b", "4", Access.RO)),
    "two go fields": _register(Field("a", "0", Access.GO), Field("b", "1", Access.GO)),
    "only ro fields": _register(Field("a", "0", Access.RW), snapshot="b"),
    "its own offset": _map(
        Register("a", 0, (Field("a", "0", Access.RO),)), Register("b", 0, (Field("a", "0", Access.RO),))
    ),
    "its own name": _map(
        Register("a", 0, (Field("a", "0", Access.RO),)), Register("a", 4, (Field("a", "0", Access.RO),))
    ),
    "snapshot is 'b'": _map(Register("a", 0, (Field("a", "0", Access.RO),), snapshot="b")),
    "called 'bus'": lambda: RegisterBlock(RegisterMap("x", (Register("bus", 0, (Field("a", "0", Access.RO),)),))),
    "address_bits is 0": lambda: BusSignature(0),
    "windows is 0": lambda: RegisterWindows(4, 0),
}


@pytest.mark.parametrize("message", WRONG)
def test_tables_without_sense_are_refused(message):
    with pytest.raises(ConfigError, match=message):
        WRONG[message]()
