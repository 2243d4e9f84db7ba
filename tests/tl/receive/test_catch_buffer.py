"""Catch buffers: the rate limit account, order and room, proved for every sender within its limit; all kinds alike."""

from functools import reduce
from operator import or_
from random import Random

import pytest
from amaranth.hdl import Assert, Assume, EnableInserter, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from support.tl.address import shared, simulate
from ualink.config import ConfigError, TLConfig
from ualink.tl.receive.catch_buffer import CatchBuffer, places_layout, places_of
from ualink.tl.receive.catch_lines import CatchLines
from ualink.tl.receive.lean_catch import LeanCatch
from ualink.tl.receive.rate_check import RateCheck
from ualink.tl.receive.unhurried_catch import UnhurriedCatch, UnhurriedLines, catch_buffer

KINDS = (CatchBuffer, CatchLines, LeanCatch, UnhurriedLines, UnhurriedCatch)


def foresees(kind) -> bool:
    """Tells what it will offer in the next cycle."""
    return not issubclass(kind, LeanCatch)


def index_of(bits):
    """The number of the one bit that is set."""
    return reduce(or_, (Mux(bit, n, 0) for n, bit in enumerate(bits)))


class CatchBench(wiring.Component):
    """Fields are numbered as they are loaded; the allowance is that of the sender (UALink_200 §5.7)."""

    def __init__(self, entries, kind=CatchBuffer):
        self.entries, self.kind = entries, kind
        super().__init__({"flit": In(1), "valid": In(entries), "restart": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.kind(self.entries, 6)
        m.submodules.check = check = RateCheck(self.entries)
        allowance = Signal(range(self.entries + 1), init=self.entries)
        number, expected = Signal(6), Signal(6)
        announced = Signal(6)
        present = [Mux(self.flit, self.valid[n], 0) for n in range(self.entries)]
        count, accept = Signal(range(self.entries + 1)), Signal()
        m.d.comb += [
            count.eq(sum(present)),
            accept.eq(self.flit & ~check.overrun),
            check.flit.eq(self.flit),
            check.fields.eq(count),
            check.accept.eq(accept),
            check.restart.eq(self.restart),
        ]
        # What is checked in one cycle is loaded in the next.
        places, loaded = Signal(places_layout(self.entries)), Signal(places_layout(self.entries))
        first = Signal(6)
        places_of(m, places, Mux(self.flit, self.valid, 0))
        m.d.sync += [loaded.eq(places), dut.load.eq(accept), first.eq(number)]
        m.d.comb += dut.places.eq(loaded)
        m.d.comb += [dut.field[n].eq(first + index_of(loaded.nth[n])) for n in range(self.entries)]
        in_buffer = Signal(6)
        with m.If(dut.load):
            m.d.sync += in_buffer.eq(in_buffer + index_of(loaded.count))
        grown = allowance - count + 1
        with m.If(accept):
            m.d.sync += [number.eq(number + count), allowance.eq(Mux(grown > self.entries, self.entries, grown))]
        # A restart gives the whole allowance, but no field comes before those of the last session have left.
        draining = Signal()
        m.d.comb += Assume(~draining | (count == 0))
        with m.If(self.restart):
            m.d.sync += [draining.eq(1), allowance.eq(self.entries)]
        with m.Elif(number == expected):
            m.d.sync += draining.eq(0)
        with m.If(dut.output.valid):
            m.d.sync += expected.eq(expected + 1)
            m.d.comb += Assert(dut.output.payload == expected)
            if foresees(self.kind):
                m.d.comb += Assert(announced == expected)
        m.d.sync += announced.eq(dut.following)
        m.d.comb += [
            Assert(check.overrun == (self.flit & (count > allowance))),
            Assert(dut.output.valid == (in_buffer != expected)),
        ]
        return m


@pytest.mark.req("TL-130", "TL-131", "TL-133", "TL-134", "TL-136", "TL-137", "TL-139", "TL-141", "TL-142", "TL-144")
@pytest.mark.parametrize(
    "entries, depth, kind",
    [
        (4, 6, CatchBuffer),
        (8, 4, CatchBuffer),
        (4, 7, CatchLines),
        (4, 5, LeanCatch),
        (4, 7, UnhurriedLines),
        (4, 5, UnhurriedCatch),
    ],
)
def test_fields_leave_in_order_and_the_limit_is_exact(entries, depth, kind):
    prove(CatchBench(entries, kind), mode="bmc", depth=depth)


class Loads:
    """What a sender within its limit loads: fields of 12 bits, numbered, at places drawn at random."""

    def __init__(self, entries, random, *, cycle=0, number=0):
        self.entries, self.random, self.cycle = entries, random, cycle
        self.number, self.waiting = number, []

    def drive(self, ctx, duts):
        """The inputs of ``duts`` in this cycle; what they load."""
        # Full and nearly full for long, one field in each flit for long, bursts after a pause.
        pace = (0.2, 0.6, 1.0)[self.cycle // 200 % 3]
        self.cycle += 1
        entries, random = self.entries, self.random
        room = entries - max(len(self.waiting) - 1, 0)
        count = min(room, random.choice((1, 1, 2, entries))) if random.random() < pace else 0
        loads = count > 0 or random.random() < 0.5
        # A flit that is not accepted has fields, too.
        present = sorted(random.sample(range(entries), count if loads else random.randint(0, entries)))
        words = {n: (self.number + rank) & 0xFFF for rank, n in enumerate(present)}
        for dut in duts:
            ctx.set(dut.load, loads)
            ctx.set(dut.places.valid, sum(1 << n for n in present))
            ctx.set(dut.places.count, 1 << len(present))
            for n in range(entries):
                ctx.set(dut.places.nth[n], (n in words) << sum(other < n for other in present))
                ctx.set(dut.field[n], words.get(n, 0xBAD))
        self.number += count
        return [words[n] for n in present] if loads else []

    def pass_on(self, loaded, *, stop=False):
        """What is offered in this cycle and in the next; None for nothing."""
        offered = self.waiting.pop(0) if self.waiting else None
        self.waiting = [] if stop else self.waiting + loaded
        return offered, self.waiting[0] if self.waiting else None


def is_as(ctx, dut, offered, following) -> bool:
    """What ``dut`` offers, and says that it will."""
    if ctx.get(dut.output.valid) != (offered is not None):
        return False
    if offered is not None and ctx.get(dut.output.payload) != offered:
        return False
    return following is None or not foresees(type(dut)) or ctx.get(dut.following) == following


@pytest.mark.req("TL-130", "TL-133")
@pytest.mark.parametrize("entries", [4, 8])
def test_lines_give_the_same_in_the_same_cycles(entries):
    together, stop = Module(), Signal()
    duts = [kind(entries, 12) for kind in KINDS]
    for dut in duts:
        together.submodules += ResetInserter(stop)(dut)
    loads, random = Loads(entries, Random(entries)), Random(entries + 1)

    async def bench(ctx):
        for cycle in range(3_000):
            # Never at all for long, so that the rows go round undisturbed.
            stops = cycle > 2_000 and random.random() < 0.04
            ctx.set(stop, stops)
            expected = loads.pass_on(loads.drive(ctx, duts), stop=stops)
            assert all(is_as(ctx, dut, *expected) for dut in duts), (cycle, expected)
            await ctx.tick()
        assert loads.number > 2_000

    simulate(together, bench)


@pytest.mark.parametrize("contexts", [2, 4])
@pytest.mark.parametrize(("entries", "kind"), [(4, UnhurriedLines), (4, UnhurriedCatch), (8, UnhurriedCatch)])
def test_each_of_those_who_take_turns_has_one_of_its_own(entries, kind, contexts):
    """Other traffic in each context, and resets of one that the others do not notice."""
    stop, dut = Signal(), kind(entries, 12)
    m, turn = shared(ResetInserter(stop)(dut), contexts)
    copies = [CatchBuffer(entries, 12) for _ in range(contexts)]
    for n, copy in enumerate(copies):
        m.submodules += EnableInserter(turn == n)(ResetInserter(stop)(copy))
        m.d.comb += [copy.load.eq(dut.load), copy.places.eq(dut.places), copy.field.eq(dut.field)]
    # Numbers of one context are not those of another at that time.
    loads = [Loads(entries, Random(f"{entries} {n}"), cycle=150 * n, number=1_000 * n) for n in range(contexts)]
    random = Random(contexts)

    async def bench(ctx):
        stopped = [0] * contexts
        for cycle in range(900 * contexts):
            n = ctx.get(turn)
            assert n == cycle % contexts
            if not stopped[n] and random.random() < 0.02:
                stopped[n] = random.choice((1, 1, 2, 5))
            ctx.set(stop, stopped[n] > 0)
            expected = loads[n].pass_on(loads[n].drive(ctx, [dut]), stop=stopped[n] > 0)
            stopped[n] = max(stopped[n] - 1, 0)
            assert is_as(ctx, copies[n], *expected), (cycle, expected)
            assert is_as(ctx, dut, *expected), (cycle, expected)
            await ctx.tick()
        assert all(its.number > 1_000 * n + 500 for n, its in enumerate(loads))

    simulate(m, bench)


@pytest.mark.parametrize(
    ("config", "kinds"),
    [
        ({}, (CatchBuffer, CatchBuffer)),
        ({"lean": True}, (CatchBuffer, CatchBuffer)),
        ({"catch_in_lines": True}, (CatchLines, CatchLines)),
        ({"catch_in_lines": True, "lean": True}, (CatchLines, LeanCatch)),
        ({"unhurried": True}, (UnhurriedLines, UnhurriedCatch)),
        ({"unhurried": True, "catch_in_lines": True, "lean": True}, (UnhurriedLines, UnhurriedCatch)),
    ],
)
def test_which_one_a_receiver_has(config, kinds):
    made = (catch_buffer(TLConfig(**config), 4, 12, foreseen=foreseen) for foreseen in (True, False))
    assert tuple(map(type, made)) == kinds


def test_sizes_are_checked():
    with pytest.raises(ConfigError, match="0 entries"):
        CatchBuffer(0, 8)
