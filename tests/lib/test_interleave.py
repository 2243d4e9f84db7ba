"""A component shared by contexts in turn against copies of it that stand still when it is not their turn."""

import random
from functools import partial

import pytest
from amaranth.hdl import Array, Cat, EnableInserter, Fragment, Module, Mux, ResetInserter, Signal
from amaranth.hdl._mem import MemoryInstance
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.lib.interleave import Interleaver
from ualink.lib.memory_marks import BLOCK_RAM, NEVER_MEET, SHARED_OUT
from ualink.lib.ports_used import RESTART_CYCLES, last_port
from ualink.lib.queue import Queue, UnhurriedQueue
from ualink.lib.select import select_one


class Remembers(wiring.Component):
    """Every way in which a component of this project remembers and assigns."""

    def __init__(self, depth: int):
        self._depth = depth
        super().__init__(
            {
                "stimulus": In(32),
                "clear": In(1),
                "result": Out(64),
                "late": Out(8, init=0xA5),
                "held": Out(8),
                "table": Out(8),
                "own": Out(8),
                "queued": Out(8),
                "waited": Out(14),
                "apart": Out(8),
                "mixed": Out(8, init=5),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word = data.View(data.StructLayout({"low": 8, "high": data.ArrayLayout(4, 6)}), Signal(32, init=0x1234_5678))
        vector = Signal(16)
        many = Array(Signal(4, name=f"many_{n}", init=n) for n in range(4))
        free = Signal(8, reset_less=True)
        with m.If(self.stimulus[0]):
            m.d.sync += word.low.eq(word.low + self.stimulus[8:16])
        with m.If(self.stimulus[1]):
            m.d.sync += word.high[self.stimulus[2:4]].eq(self.stimulus[4:10])
        m.d.sync += vector.bit_select(self.stimulus[16:19], 3).eq(self.stimulus[19:22])
        m.d.sync += many[self.stimulus[22:24]].eq(self.stimulus[24:28])
        # One signal, part of it a register and part of it not.
        m.d.comb += self.mixed[3:].eq(self.stimulus[3:8] ^ self.mixed[:3])
        with m.If(self.stimulus[29]):
            m.d.sync += self.mixed[:3].eq(self.stimulus[8:11])
        with m.If(self.stimulus[28]):
            m.d.sync += Cat(self.late, free).eq(self.stimulus[4:20])
        m.d.comb += self.result.eq(Cat(word, vector, *many))

        # A read port that can stop, one that reads what is being written, and one without a clock.
        m.submodules.storage = storage = memory.Memory(shape=8, depth=self._depth, init=range(3))
        write = storage.write_port()
        stopping, showing, direct = storage.read_port(), storage.read_port(transparent_for=(write,)), None
        direct = storage.read_port(domain="comb")
        row = Signal(range(self._depth))
        with m.If(self.stimulus[5:9] < self._depth):
            m.d.comb += row.eq(self.stimulus[5:9])
        m.d.comb += [
            write.addr.eq(self.stimulus[9] & (row == 0)),
            write.data.eq(self.stimulus[10:18] ^ free),
            write.en.eq(self.stimulus[18]),
            stopping.addr.eq(row),
            stopping.en.eq(self.stimulus[19]),
            showing.addr.eq(self.stimulus[9] & (row == 0)),
            direct.addr.eq(row),
            self.held.eq(stopping.data),
            self.table.eq(direct.data),
            self.own.eq(showing.data),
        ]
        # One that never reads the row that it writes.
        m.submodules.halves = halves = memory.Memory(shape=8, depth=8, init=[], attrs=NEVER_MEET)
        write, read = halves.write_port(), halves.read_port()
        m.d.comb += [
            write.addr.eq(self.stimulus[3:6]),
            write.data.eq(self.stimulus[22:30]),
            write.en.eq(self.stimulus[6]),
            read.addr.eq(Cat(self.stimulus[7:9], ~self.stimulus[5])),
            self.apart.eq(read.data),
        ]
        for name, queue, shown in (("queue", Queue(8, 3), self.queued), ("long", UnhurriedQueue(8, 20), self.waited)):
            m.submodules[name] = queue = ResetInserter(self.clear)(queue)
            before = 1 + len(queue.level)
            m.d.comb += [
                queue.input.valid.eq(self.stimulus[20]),
                queue.input.payload.eq(self.stimulus[10:18]),
                queue.output.ready.eq(self.stimulus[21]),
                shown.eq(Cat(queue.output.valid, queue.level)),
            ]
            with m.If(queue.output.valid):
                m.d.comb += shown[before:].eq(queue.output.payload)
        return m


OUTPUTS = ("result", "late", "held", "table", "own", "queued", "waited", "apart", "mixed")


@pytest.mark.parametrize("contexts", [1, 2, 4])
@pytest.mark.parametrize("depth", [8, 5])
def test_every_context_sees_a_component_of_its_own(contexts, depth):
    m = Module()
    turn = Signal(range(max(contexts, 2)))
    if contexts > 1:
        m.d.sync += turn.eq(turn + 1)
    shared = Remembers(depth)
    m.submodules.shared = Interleaver(contexts, turn)(shared)
    copies = [Remembers(depth) for _ in range(contexts)]
    for n, copy in enumerate(copies):
        m.submodules[f"copy_{n}"] = EnableInserter(turn == n)(copy)
        m.d.comb += [copy.stimulus.eq(shared.stimulus), copy.clear.eq(shared.clear)]
    rng = random.Random(contexts)
    seen = set()

    async def testbench(ctx):
        for cycle in range(800):
            ctx.set(shared.stimulus, rng.getrandbits(32))
            ctx.set(shared.clear, rng.random() < 0.1)
            context = ctx.get(turn) if contexts > 1 else 0
            for name in OUTPUTS:
                if cycle < contexts and name in ("own", "apart"):
                    continue  # Nothing has been read yet.
                value = ctx.get(getattr(shared, name))
                assert value == ctx.get(getattr(copies[context], name)), f"{name} of {context} in cycle {cycle}"
                seen.add((name, value))
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    assert all(len([1 for name, _ in seen if name == output]) > 3 for output in OUTPUTS)


class Shares(wiring.Component):
    """A memory of which a context has a part: all 40 rows, 20 or 10, from ``first`` on."""

    stimulus: In(32)
    share: In(3)
    first: In(range(40))
    held: Out(8)

    def elaborate(self, platform):
        m = Module()
        attrs = NEVER_MEET | SHARED_OUT
        m.submodules.storage = storage = memory.Memory(shape=8, depth=40, init=[], attrs=attrs)
        write, read = storage.write_port(), storage.read_port()
        rows, written, filled = Signal(range(41)), Signal(range(40)), Signal()
        m.d.comb += [
            rows.eq(select_one(self.share, (40, 20, 10))),
            write.addr.eq(self.first + written),
            write.data.eq(self.stimulus[:8]),
            write.en.eq(self.stimulus[8]),
            # Once all rows have been written, any but the one that is.
            read.addr.eq(self.first + (written + 1 + self.stimulus[9:12]) % rows),
        ]
        with m.If(write.en):
            m.d.sync += written.eq(Mux(written == rows - 1, 0, written + 1))
            with m.If(written == rows - 1):
                m.d.sync += filled.eq(1)
        shown = Signal()
        m.d.sync += shown.eq(filled)
        m.d.comb += self.held.eq(Mux(shown, read.data, 0))
        return m


class Large(wiring.Component):
    """A memory of so many rows that each context has one of its own, where it is chosen how many there are. One port
    can stop, one reads what is being written, and one never reads the row that is written."""

    clear: In(1)
    stimulus: In(32)
    stops: Out(8)
    shows: Out(8)
    never_meets: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = storage = memory.Memory(shape=8, depth=300, init=range(5), attrs=BLOCK_RAM)
        write = storage.write_port(granularity=4)
        stopping, showing, apart = storage.read_port(), storage.read_port(transparent_for=(write,)), storage.read_port()
        rows = Array((0, 1, 256, 299))
        m.d.comb += [
            write.addr.eq(rows[self.stimulus[:2]]),
            write.data.eq(self.stimulus[2:10]),
            write.en.eq(self.stimulus[10:12]),
            stopping.addr.eq(rows[self.stimulus[12:14]]),
            stopping.en.eq(self.stimulus[14]),
            showing.addr.eq(rows[self.stimulus[15:17]]),
            showing.en.eq(self.stimulus[17] | self.stimulus[18]),
            apart.addr.eq(rows[self.stimulus[:2] ^ Cat(self.stimulus[19], ~self.stimulus[19])]),
            Cat(self.stops, self.shows, self.never_meets).eq(Cat(stopping.data, showing.data, apart.data)),
        ]
        return m


LARGE = ("stops", "shows", "never_meets")


class Chosen(wiring.Component):
    """Remembers all that ``Remembers``, ``Shares`` and ``Large`` do, for as many contexts as are ``used``, beside
    copies that stand still."""

    used: In(3, init=4)
    clear: In(1)
    stimulus: In(32)
    calm: In(1)

    def __init__(self, depth: int):
        self.turn = Signal(2)
        self._depth = depth
        super().__init__()
        self.pairs: list = []
        """Output by name, of the shared one and of the copy whose turn it is."""

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.turn.eq((self.turn + 1) & last_port(self.used))
        for make, outputs in ((partial(Remembers, self._depth), OUTPUTS), (Shares, ("held",)), (Large, LARGE)):
            shared, copies = make(), [make() for _ in range(4)]
            for block in (shared, *copies):
                m.d.comb += block.stimulus.eq(self.stimulus)
                if "share" in block.signature.members:
                    m.d.comb += block.share.eq(self.used)
                else:
                    m.d.comb += block.clear.eq(self.calm)
            if "share" in shared.signature.members:
                # The copies have a memory each.
                firsts = self.turn[0] * 20, self.turn * 10
                m.d.comb += shared.first.eq(select_one(self.used[1:], firsts))
            m.submodules += Interleaver(4, self.turn, used=self.used)(shared)
            for n, copy in enumerate(copies):
                m.submodules += EnableInserter(self.turn == n)(copy)
            for name in outputs:
                of_copy = Signal(len(getattr(shared, name)), name=f"copy_{name}")
                m.d.comb += of_copy.eq(Array(getattr(copy, name) for copy in copies)[self.turn])
                self.pairs.append((name, getattr(shared, name), of_copy))
        return m


@pytest.mark.parametrize("depth", [8, 5])
def test_as_many_contexts_as_are_used(depth):
    """One, two and four of them, one choice after the other with a reset between: nothing of the last one is left."""
    dut = Chosen(depth)
    clear = Signal()
    top = ResetInserter(clear)(Fragment.get(dut, None))
    rng = random.Random(depth)
    seen = set()

    async def testbench(ctx):
        for ports in (4, 1, 2, 4, 2, 1, 4):
            ctx.set(dut.used, ports)
            ctx.set(clear, 1)
            ctx.set(dut.stimulus, 0)
            await ctx.tick().repeat(RESTART_CYCLES)
            ctx.set(clear, 0)
            for cycle in range(900):
                ctx.set(dut.stimulus, rng.getrandbits(32))
                ctx.set(dut.calm, rng.random() < 0.1)
                assert ctx.get(dut.turn) == cycle % ports
                for name, value, expected in dut.pairs:
                    # What is not reset is not the copy's, and what was not written since the reset is the one before's.
                    now = ctx.get(value)
                    if cycle >= 100 * ports or name in ("queued", "waited", "result", "mixed"):
                        assert now == ctx.get(expected), f"{name} with {ports} in cycle {cycle}"
                        seen.add((ports, name, now))
                await ctx.tick()

    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    for ports in (1, 2, 4):
        assert all(len([1 for n, name, _ in seen if (n, name) == (ports, output)]) > 3 for output in OUTPUTS + LARGE)


def memories_in(fragment):
    """Depths of all memories in ``fragment``."""
    inner = [memories_in(part) for part, _, _ in fragment.subfragments]
    return sum(inner, [fragment._data.depth] if isinstance(fragment, MemoryInstance) else [])


@pytest.mark.parametrize(("used", "depths"), [(Signal(3), [300] * 4), (None, [1200])])
def test_memories_of_many_rows(used, depths):
    """Only where it is chosen how many contexts there are has each of them a memory of its own."""
    shared = Interleaver(4, Signal(2), used=used)(Fragment.get(Large(), None))
    assert memories_in(shared) == depths


class Unclocked(wiring.Component):
    """A memory of many rows that is read without a clock."""

    row: In(9)

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = storage = memory.Memory(shape=8, depth=300, init=[])
        m.d.comb += storage.read_port(domain="comb").addr.eq(self.row)
        return m


def test_memories_of_many_rows_need_a_clock():
    with pytest.raises(TypeError, match="300 rows for each context, read without a clock"):
        Interleaver(4, Signal(2), used=Signal(3))(Fragment.get(Unclocked(), None))


def test_one_context_costs_nothing():
    component = Remembers(8)
    fragment = component.elaborate(None)
    plain = Fragment.get(fragment, None)
    assert Interleaver(1, Signal())(plain) is plain


@pytest.mark.parametrize("contexts", [0, 3, 8, True, "2"])
def test_other_numbers_of_contexts_are_refused(contexts):
    with pytest.raises(ConfigError, match=f"contexts is {contexts!r}"):
        Interleaver(contexts, Signal(2))


@pytest.mark.parametrize("contexts", [1, 2])
def test_of_four_only_some_can_be_used(contexts):
    with pytest.raises(ConfigError, match=f"contexts is {contexts}; it must be 4"):
        Interleaver(contexts, Signal(2), used=Signal(3))
