"""Level 2 of the message arbitration: against its model, and its promises proved."""

import random
from collections import deque

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import prove
from ualink.dl.message.arbiter import MessageArbiter as DUT
from ualink_sim.model.dl.arbiter import MessageArbiter

CLASSES = MessageArbiter.CLASSES


def run(bench):
    dut = DUT()

    async def story(ctx):
        await bench(ctx, dut)

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(story)
    sim.run()


class Sources:
    """Three sources of whole messages, each a list of dwords; ``gaps``: chance that one has nothing to start."""

    def __init__(self, ctx, dut, rng, gaps, long):
        self.ctx, self.rng, self.gaps, self.long = ctx, rng, gaps, long
        self.ports = {name: getattr(dut, name) for name in CLASSES}
        self.queues = {name: deque() for name in CLASSES}

    def offer(self):
        """Classes that have a dword now."""
        for name, queue in self.queues.items():
            if not queue and self.rng.random() >= self.gaps:
                count = self.rng.choice([1, 2, 33]) if self.long and name == "uart" else 1
                queue.extend((self.rng.getrandbits(32), n + 1 < count) for n in range(count))
            port = self.ports[name]
            self.ctx.set(port.valid, bool(queue))
            if queue:
                self.ctx.set(port.p.dword, queue[0][0])
                self.ctx.set(port.p.more, queue[0][1])
        return {name for name, queue in self.queues.items() if queue}


@pytest.mark.req("DL-040", "DL-041", "DL-042", "DL-044")
@pytest.mark.parametrize("gaps", [0, 0.5, 0.95])
def test_against_the_model(gaps):
    rng = random.Random(f"arbiter {gaps}")

    async def bench(ctx, dut):
        model, sources = MessageArbiter(), Sources(ctx, dut, rng, gaps, long=True)
        may_start = True
        counts = dict.fromkeys(CLASSES, 0)
        for _ in range(1500):
            may_start ^= rng.random() < 0.05
            ready = rng.random() < 0.5
            candidates = sources.offer()
            if not may_start and not (model.under_way and model.chosen == "uart"):
                candidates.discard("uart")
            ctx.set(dut.uart_may_start, may_start)
            ctx.set(dut.message.ready, ready)
            offered = model.chosen in candidates
            assert ctx.get(dut.message.valid) == offered
            for name in CLASSES:
                assert ctx.get(sources.ports[name].ready) == (offered and ready and name == model.chosen)
            if offered:
                queue = sources.queues[model.chosen]
                assert ctx.get(dut.message.payload) == queue[0][0]
            if offered and ready:
                counts[model.chosen] += 1
                model.packed(queue.popleft()[1])
            else:
                model.choose(candidates)
            await ctx.tick()
        assert all(count > 20 for count in counts.values())

    run(bench)


@pytest.mark.req("DL-044")
def test_three_busy_classes_take_turns():
    """With a segment every other cycle no segment goes empty, and each class has every third one."""

    async def bench(ctx, dut):
        sources = Sources(ctx, dut, random.Random(1), 0, long=False)
        taken = []
        for cycle in range(200):
            sources.offer()
            ready = cycle % 2
            ctx.set(dut.message.ready, ready)
            if ready:
                [name] = [name for name in CLASSES if ctx.get(sources.ports[name].ready)]
                sources.queues[name].popleft()
                taken.append(name)
            await ctx.tick()
        assert taken == [CLASSES[n % 3] for n in range(100)]

    run(bench)


@pytest.mark.req("DL-077")
@pytest.mark.parametrize("started", [False, True])
def test_uart_that_must_not_start_any_more(started):
    """On offer and not taken it gives way; under way it goes on to its end."""

    async def bench(ctx, dut):
        ctx.set(dut.uart.valid, 1)
        ctx.set(dut.uart.p.dword, 0xA)
        ctx.set(dut.uart.p.more, 1)
        await ctx.tick().repeat(2)
        if started:
            ctx.set(dut.message.ready, 1)
            await ctx.tick()
            ctx.set(dut.message.ready, 0)
        ctx.set(dut.uart_may_start, 0)
        ctx.set(dut.control.valid, 1)
        ctx.set(dut.control.p.dword, 0xB)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.message.valid)
        assert ctx.get(dut.message.payload) == (0xA if started else 0xB)
        if started:
            ctx.set(dut.uart.p.more, 0)
            ctx.set(dut.message.ready, 1)
            await ctx.tick()
            ctx.set(dut.message.ready, 0)
            await ctx.tick().repeat(2)
            assert ctx.get(dut.message.payload) == 0xB

    run(bench)


LONGEST = 2
"""Dwords of the longest UART message in the proof; 33 would only make it slower."""


class Bench(wiring.Component):
    """Three sources that keep to the rules of streams and may end each message when they like; UART messages have up
    to ``LONGEST`` dwords, the others one. UART goes on without a gap; segments are two cycles apart."""

    def __init__(self):
        super().__init__(
            {name: In(1) for name in ("basic", "control", "uart", "more", "may_start", "ready")}
            | {f"{name}_dword": In(4) for name in CLASSES}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = DUT()
        length = Signal(range(LONGEST + 1))
        inside = Signal()
        was_ready = Signal()
        might_start = Signal()
        gives_way = Signal()
        m.d.sync += [was_ready.eq(self.ready), might_start.eq(self.may_start)]
        m.d.comb += [
            arbiter.message.ready.eq(self.ready),
            arbiter.uart_may_start.eq(self.may_start),
            gives_way.eq(might_start & ~self.may_start),
            arbiter.uart.p.more.eq(self.more),
            Assume(~(was_ready & self.ready)),
            Assume(~inside | self.uart),
            Assume(~self.more | (length < LONGEST - 1)),
        ]
        starts, waits = {}, {}
        for name in CLASSES:
            source = getattr(arbiter, name)
            offered = getattr(self, name)
            dword = getattr(self, f"{name}_dword")
            held, held_dword, held_more = Signal(), Signal(4), Signal()
            taken = Signal(name=f"{name}_taken")
            m.d.comb += [
                source.valid.eq(offered),
                source.p.dword.eq(dword),
                taken.eq(source.valid & source.ready),
                Assume(~held | (offered & (dword == held_dword) & (source.p.more == held_more))),
                # What is taken is what is packed.
                Assert(~source.ready | self.ready),
                Assert(~taken | (arbiter.message.valid & (arbiter.message.payload == dword))),
            ]
            m.d.sync += [held.eq(offered & ~taken), held_dword.eq(dword), held_more.eq(source.p.more)]
            starts[name] = taken & ~inside if name == "uart" else taken
            waits[name] = offered & (self.may_start & ~inside if name == "uart" else 1)
        taken = [getattr(arbiter, name).valid & getattr(arbiter, name).ready for name in CLASSES]
        m.d.comb += Assert(sum(taken) == (arbiter.message.valid & self.ready))

        # Nothing comes between the dwords of a message, and each segment gets the next one.
        with m.If(taken[2]):
            m.d.sync += [inside.eq(self.more), length.eq(Mux(self.more, length + 1, 0))]
        with m.If(inside):
            m.d.comb += [Assert(~taken[0]), Assert(~taken[1])]
            with m.If(self.ready):
                m.d.comb += Assert(taken[2])
        with m.If(~self.may_start & ~inside):
            m.d.comb += Assert(~taken[2])

        for name, others in ((name, [other for other in CLASSES if other != name]) for name in CLASSES):
            patience = Signal(range(LONGEST + 3), name=f"{name}_patience")
            waited = Signal(name=f"{name}_waited")
            m.d.sync += waited.eq(waits[name] & ~starts[name])
            # A class that has waited for a cycle leaves no segment empty, unless UART has just given way.
            with m.If(waited & waits[name] & self.ready & ~gives_way):
                m.d.comb += Assert(arbiter.message.valid)
            for other in others:
                served = Signal(name=f"{other}_before_{name}")
                with m.If(~waits[name] | starts[name]):
                    m.d.sync += served.eq(0)
                with m.Elif(starts[other]):
                    m.d.comb += Assert(~served)
                    m.d.sync += served.eq(1)
            # The bound in segments: a UART message and one message of one dword.
            with m.If(~waits[name] | starts[name]):
                m.d.sync += patience.eq(0)
            with m.Elif(arbiter.message.valid & self.ready & waited):
                m.d.comb += Assert(patience < (LONGEST + 1 if name != "uart" else 2))
                m.d.sync += patience.eq(patience + 1)
        return m


@pytest.mark.req("DL-041", "DL-042", "DL-044", "DL-077")
def test_promises_proved():
    """Whatever the sources do: nothing inside a message of several dwords, no segment empty, and who waits is
    served after one message of each other class at most, within LONGEST + 2 segments."""
    prove(Bench(), mode="bmc", depth=11)
