"""A register bus to a clock that stands still."""

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Elaboratable, Module, Signal
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from ualink.csr.block import RegisterBlock
from ualink.csr.crossing import BusCrossing
from ualink.csr.table import Access, Field, Register, RegisterMap

TABLE = RegisterMap(
    "two",
    (
        Register("first", 0, (Field("word", "31:0", Access.RW, 1),)),
        Register("second", 4, (Field("word", "31:0", Access.RW, 2),)),
    ),
)
PATIENCE = 40


class Bench(Elaboratable):
    """Registers behind a crossing; ``runs`` is whether their clock does; ``writes`` counts what reaches them."""

    def __init__(self):
        self.block, self.crossing = RegisterBlock(TABLE), BusCrossing(TABLE.address_bits, "other", PATIENCE)
        self.clock, self.runs, self.writes = Signal(), Signal(init=1), Signal(8)

    def elaborate(self, platform):
        m = Module()
        m.domains.other = ClockDomain(reset_less=True)
        m.submodules.crossing, m.submodules.block = self.crossing, DomainRenamer("other")(self.block)
        connect(m, self.crossing.far, self.block.bus)
        m.d.comb += ClockSignal("other").eq(self.clock)
        m.d.other += self.writes.eq(self.writes + self.crossing.far.write)
        return m

    async def access(self, ctx, address, word=None):
        """Answer, error, and the cycles that it took."""
        bus = self.crossing.bus
        ctx.set(bus.address, address)
        ctx.set(bus.write_data, word or 0)
        ctx.set(bus.read, word is None)
        ctx.set(bus.write, word is not None)
        cycles = 0
        while True:
            await ctx.tick()
            ctx.set(bus.read, 0)
            ctx.set(bus.write, 0)
            cycles += 1
            if ctx.get(bus.done):
                return ctx.get(bus.read_data), ctx.get(bus.error), cycles
            assert (ctx.get(bus.read_data), ctx.get(bus.error)) == (0, 0)
            assert cycles < 4 * PATIENCE, "the access is never answered"

    def run(self, story, half_cycle=0.7e-6):
        async def clock(ctx):
            while True:
                await ctx.delay(half_cycle)
                if ctx.get(self.runs):
                    ctx.set(self.clock, ~ctx.get(self.clock) & 1)

        simulator = Simulator(self)
        simulator.add_clock(1e-6)
        simulator.add_testbench(clock, background=True)
        simulator.add_testbench(story)
        simulator.run()


def test_a_clock_that_stands_still_is_an_error_after_a_bounded_time():
    bench = Bench()

    async def story(ctx):
        assert (await bench.access(ctx, 0))[:2] == (1, 0)
        ctx.set(bench.runs, 0)
        assert await bench.access(ctx, 0) == (0, 1, PATIENCE + 1)
        for _ in range(3):
            assert await bench.access(ctx, 1) == (0, 1, 1)
            await ctx.tick().repeat(2)
        ctx.set(bench.runs, 1)
        await ctx.tick().repeat(20)
        for _ in range(3):
            assert (await bench.access(ctx, 1))[:2] == (2, 0)
            assert (await bench.access(ctx, 0))[:2] == (1, 0)

    bench.run(story)


def test_what_was_given_up_is_made_later_and_nothing_else():
    """A write is made with its own address and data, once, though others that were refused came after it."""
    bench = Bench()

    async def story(ctx):
        ctx.set(bench.runs, 0)
        assert (await bench.access(ctx, 0, 0xAAAA))[1] == 1
        assert await bench.access(ctx, 1, 0xBBBB) == (0, 1, 1)
        assert await bench.access(ctx, 0, 0xCCCC) == (0, 1, 1)
        assert ctx.get(bench.writes) == 0
        ctx.set(bench.runs, 1)
        await ctx.tick().repeat(20)
        assert ctx.get(bench.writes) == 1
        assert [(await bench.access(ctx, n))[:2] for n in (0, 1)] == [(0xAAAA, 0), (2, 0)]

    bench.run(story)


def test_an_answer_in_the_last_moment_counts_once():
    """The clock comes back at any time around the end of the patience; the next access has its own answer."""
    for restart in range(PATIENCE - 12, PATIENCE + 6):
        bench = Bench()

        async def story(ctx, restart=restart, bench=bench):
            ctx.set(bench.runs, 0)
            answers = []
            bus = bench.crossing.bus
            ctx.set(bus.write, 1)
            ctx.set(bus.write_data, 0x1234)
            for cycle in range(4 * PATIENCE):
                await ctx.tick()
                ctx.set(bus.write, 0)
                ctx.set(bench.runs, cycle >= restart)
                if ctx.get(bus.done):
                    answers.append((cycle + 1, ctx.get(bus.error)))
            assert len(answers) == 1, "one answer to one access"
            cycles, error = answers[0]
            assert cycles <= PATIENCE + 1 and (cycles == PATIENCE + 1 or not error)
            assert ctx.get(bench.writes) == 1
            assert [(await bench.access(ctx, n))[:2] for n in (0, 1)] == [(0x1234, 0), (2, 0)]

        bench.run(story)
