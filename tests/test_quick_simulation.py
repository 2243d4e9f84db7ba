"""The suite's quicker simulations compute what Amaranth's own do."""

import operator
import random
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from unittest.mock import patch

import pytest
from amaranth.hdl import (
    Array,
    Assert,
    Cat,
    ClockDomain,
    Const,
    Format,
    Module,
    Mux,
    Print,
    Shape,
    Signal,
    signed,
    unsigned,
)
from amaranth.lib import memory
from amaranth.sim import Simulator, _async, _pyrtl, pysim

from support.quick_engine import OWN_CONTEXT, OWN_ENGINE
from support.quick_simulation import hasten
from support.quick_values import OWN, OWN_EMITTER


def test_the_installed_version_is_one_that_is_known():
    assert hasten()


def test_shapes_stay_those_of_the_expression():
    a, b = Signal(5), Signal(Shape(3, signed=True))
    for shown, width, is_signed in (
        (a + 1, 6, False),
        (a - b, 7, True),
        (Cat(a, b), 8, False),
        (Mux(a[0], a, b), 6, True),
        (Mux(a[0], a + 1, a), 6, False),
        ((a & 3) == b, 1, False),
    ):
        for _ in range(2):
            assert shown.shape() == Shape(width, signed=is_signed)


@pytest.mark.parametrize("width", [1, 2, 7, 64, 513])
def test_parity_is_that_of_all_bits(width):
    """Of a signed expression, too, whose negative values have infinitely many bits in Python."""
    m = Module()
    value, parity, of_signed, part = Signal(width), Signal(), Signal(), Signal(2)
    m.d.comb += [parity.eq(value.xor()), of_signed.eq((~value).as_signed().xor())]
    # Half of a signal changes, then the other one.
    m.d.comb += [part[0].eq(value[0]), part[1].eq(value[-1])]
    rng = random.Random(width)

    async def bench(ctx):
        for number in (0, (1 << width) - 1, *(rng.getrandbits(width) for _ in range(50))):
            ctx.set(value, number)
            ones = number.bit_count()
            assert ctx.get(parity) == ones % 2
            assert ctx.get(of_signed) == (width - ones) % 2
            assert ctx.get(part) == (number & 1) | (number >> width - 1) << 1

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


WIDTHS = (1, 2, 5, 8, 13)
TWO = [
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_, operator.or_),
    *(operator.xor, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
]
ONE = [
    operator.neg,
    operator.invert,
    *(lambda value, name=name: getattr(value, name)() for name in ("any", "all", "xor", "bool")),
]


def expression(rng: random.Random, parts: list):
    """One more expression, made of one or two of ``parts``, most of them small."""
    a, b, c = (rng.choice(parts) for _ in range(3))
    kind = rng.randrange(10)
    if kind < 3:
        return rng.choice(TWO)(a, b)
    if kind == 3:
        return rng.choice(ONE)(a)
    if kind == 4:
        start = rng.randrange(len(a) + 1)
        return a[start : rng.randint(start, len(a))]
    if kind == 5:
        return Cat(a, b, a, Const(rng.getrandbits(3), 3), b[0:1])
    if kind == 6:
        return a.replicate(rng.randrange(1, 4))
    if kind == 7:
        return Mux(a, b, c)
    if kind == 8:
        return rng.choice(
            [a.as_signed() if len(a) else a, a.as_unsigned(), a << b[:2], a >> b[:3], Array([a, b, c])[c[:2]]]
        )
    # Beyond the end of an expression Amaranth's simulator and its Verilog differ; beyond that of a signal they agree.
    whole = a if isinstance(a, Signal) else Cat(a, Const(0, 8))
    return rng.choice([whole.bit_select(b[:3], min(3, len(a))), whole.word_select(b[:2], min(2, len(a)))])


def random_design(seed: int):
    """Inputs and registers of all shapes, and of each expression a register and a wire that take part of it."""
    rng = random.Random(seed)
    m = Module()
    inputs = [Signal(shape(width)) for width in WIDTHS for shape in (signed, unsigned)]
    parts, shown = [*inputs, Const(5), Const(-3)], []
    for number in range(40):
        value = expression(rng, parts)
        if not 0 < len(value) < 70:
            continue
        parts.append(value)
        wire, register = Signal(value.shape()), Signal(Shape(len(value) + 2, signed=number % 2 == 0))
        m.d.comb += wire.eq(value)
        choice, place = rng.choice(parts), rng.choice(parts)
        with m.Switch(choice[: rng.randrange(1, 3)]):
            with m.Case(0):
                m.d.sync += register.eq(value)
            with m.Case(1):
                m.d.sync += register[1:].eq(value)
                m.d.sync += register.bit_select(place[:2], 1).eq(value ^ choice)
            with m.Default():
                m.d.sync += Cat(register[0], register[2:]).eq(rng.choice(parts))
        shown += [wire, register]
        parts += [wire, register]
    return m, inputs, shown


def run(seed: int) -> list[tuple[int, ...]]:
    m, inputs, shown = random_design(seed)
    rng = random.Random(seed)
    seen = []

    async def bench(ctx):
        for _ in range(60):
            for signal in inputs:
                ctx.set(signal, rng.choice([0, rng.getrandbits(len(signal)), rng.getrandbits(len(signal))]))
            await ctx.tick()
            seen.append(tuple(ctx.get(signal) for signal in shown))

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


@contextmanager
def amaranths_own():
    """Simulators made here are Amaranth's as it is."""
    with (
        patch.object(_pyrtl, "_RHSValueCompiler", OWN),
        patch.object(_pyrtl, "_PythonEmitter", OWN_EMITTER),
        patch.object(_pyrtl, "compile", compile),
        patch.object(pysim, "PySimEngine", OWN_ENGINE),
        patch.object(_async, "TestbenchContext", OWN_CONTEXT),
        patch.object(Simulator, "__init__", Simulator.__init__.__wrapped__),
    ):
        yield


def both(run, seed):
    """What ``run`` finds here, and with Amaranth's own."""
    ours = run(seed)
    with amaranths_own():
        return ours, run(seed)


@pytest.mark.parametrize("seed", range(16))
def test_random_designs_run_as_with_amaranths_own_expressions(seed):
    ours, amaranths = both(run, seed)
    assert ours == amaranths


def web(seed: int):
    """Modules whose gates wait for each other's, back and forth, in any order, with registers and memories between
    them."""
    rng = random.Random(seed)
    modules = [Module() for _ in range(4)]
    top = Module()
    top.submodules += modules
    inputs = [Signal(width) for width in (1, 3, 8)]
    registers = [Signal(8, init=rng.getrandbits(8), reset_less=rng.random() < 0.3, name=f"r{n}") for n in range(8)]
    wires = [Signal(8, init=rng.choice((0, 3)), name=f"w{n}") for n in range(24)]
    reads = [Signal(8, name=f"read{n}") for n in range(4)]
    statements = []
    for n, wire in enumerate(wires):
        before = [*inputs, *registers, *reads, *wires[:n]]
        a, b, c = (rng.choice(before) for _ in range(3))
        # Some assign two wires at once, some only under a condition, some a part.
        if n % 5 == 4 and n > 8:
            statements.append((Cat(wire, wires[n - 1][4:]).eq(Cat(a + b, c)), None))
        elif n % 5 == 3:
            statements.append((wire[:4].eq(a ^ b), None))
        else:
            statements.append((wire.eq(rng.choice((a + b, a & ~b, Mux(c[0], a, b)))), c[0] if n % 3 == 0 else None))
    home = {}
    for n, (statement, condition) in enumerate(statements):
        # The two that assign one wire are in one module.
        m = home[n] = home[n - 1] if n % 5 == 4 and n > 8 else rng.choice(modules)
        if condition is None:
            m.d.comb += statement
        else:
            with m.If(condition):
                m.d.comb += statement
    everything = [*inputs, *registers, *reads, *wires]
    for register in registers:
        m = rng.choice(modules)
        with m.If(rng.choice(everything)[0]):
            m.d.sync += register.eq(rng.choice(everything) + rng.choice(everything))
    storage = memory.Memory(shape=8, depth=6, init=[1, 2, 3])
    rng.choice(modules).submodules.storage = storage
    write = storage.write_port()
    ports = [
        storage.read_port(domain="comb"),
        storage.read_port(),
        storage.read_port(transparent_for=(write,)),
        storage.read_port(domain="comb"),
    ]
    top.d.comb += [write.addr.eq(registers[0]), write.data.eq(wires[0]), write.en.eq(wires[1][0])]
    for port, read in zip(ports, reads):
        top.d.comb += [port.addr.eq(registers[rng.randrange(8)]), read.eq(port.data)]
    return top, inputs, registers, storage, everything


def run_web(seed: int) -> list:
    top, inputs, registers, storage, everything = web(seed)
    rng = random.Random(seed)
    seen = []

    async def bench(ctx):
        for cycle in range(80):
            for signal in inputs:
                if rng.random() < 0.5:
                    ctx.set(signal, rng.getrandbits(len(signal)))
                    if rng.random() < 0.2:
                        seen.append(ctx.get(rng.choice(everything)))
            if rng.random() < 0.1:
                ctx.set(rng.choice(registers)[:3], rng.getrandbits(3))
            if rng.random() < 0.1:
                ctx.set(storage.data[rng.randrange(6)], rng.getrandbits(8))
            if cycle % 3 == 0:
                seen.append(tuple(ctx.get(signal) for signal in everything))
            seen.append(await ctx.tick().sample(*everything[-3:]))
            if cycle % 7 == 0:
                seen.append(tuple(ctx.get(signal) for signal in everything))

    simulator = Simulator(top)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    simulator.reset()
    rng.seed(seed + 1)
    simulator.run()
    return seen


@pytest.mark.parametrize("seed", range(24))
def test_gates_in_their_order_come_to_what_they_come_to_in_any(seed):
    ours, amaranths = both(run_web, seed)
    assert len(ours) > 100 and ours == amaranths


def run_clocks(seed: int) -> list[int]:
    """Two clocks, one of which a testbench drives, a reset that waits for none, and testbenches that wait for edges."""
    m = Module()
    m.domains.other = ClockDomain(async_reset=True)
    m.domains.falling = falling = ClockDomain(clk_edge="neg", reset_less=True)
    a, b, c, both = Signal(8), Signal(8), Signal(8), Signal(9)
    m.d.sync += a.eq(a + 1)
    m.d.other += b.eq(a)
    m.d.falling += c.eq(b + 1)
    m.d.comb += both.eq(a + c)
    other = m._domains["other"]
    rng = random.Random(seed)
    seen = []

    async def drive(ctx):
        for _ in range(40):
            await ctx.delay(rng.choice((0.3e-9, 0.5e-9, 1.1e-9)))
            ctx.set(other.clk, 1)
            ctx.set(falling.clk, 1)
            ctx.set(other.clk, 0)
            if rng.random() < 0.2:
                ctx.set(other.rst, 1)
                ctx.set(other.rst, 0)
            ctx.set(falling.clk, 0)
            seen.append((ctx.get(b), ctx.get(c), ctx.get(both)))

    async def watch(ctx):
        for _ in range(15):
            await ctx.negedge(falling.clk)
            seen.append(ctx.get(c))

    async def sampled(ctx):
        async for *_, value in ctx.tick().sample(both):
            seen.append(value)

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.add_testbench(watch, background=True)
    simulator.add_testbench(sampled, background=True)
    simulator.run()
    return seen


@pytest.mark.parametrize("seed", range(4))
def test_every_edge_is_seen(seed):
    ours, amaranths = both(run_clocks, seed)
    assert len(ours) > 50 and ours == amaranths


def run_memory(seed: int) -> list:
    """A memory that two clocks write and read, at times in the same moment, some of its ports seeing what is just
    written."""
    rng = random.Random(seed)
    m = Module()
    m.domains.other = ClockDomain(reset_less=True)
    m.submodules.storage = storage = memory.Memory(shape=8, depth=4, init=[1, 2, 3])
    writes = [storage.write_port(domain=domain) for domain in ("sync", "other", "sync")]
    reads = [
        storage.read_port(domain="sync", transparent_for=(writes[2],)),
        storage.read_port(domain="other", transparent_for=(writes[1],)),
        storage.read_port(domain="other"),
        storage.read_port(domain="comb"),
    ]
    seen = []

    async def bench(ctx):
        for _ in range(60):
            for n, write in enumerate(writes):
                # Nobody knows whose data stays where two write at once: each clock has rows of its own, and of the two
                # ports of one clock one writes.
                ctx.set(write.addr, 2 * rng.randrange(2) + (n == 1))
                ctx.set(write.data, rng.getrandbits(8))
                ctx.set(write.en, rng.random() < 0.6 and not (n == 2 and ctx.get(writes[0].en)))
            for read in reads:
                ctx.set(read.addr, rng.randrange(4))
            await ctx.tick()
            seen.append([ctx.get(read.data) for read in reads])
            seen.append([ctx.get(storage.data[n]) for n in range(4)])

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_clock(rng.choice((1e-9, 0.7e-9, 1.3e-9)), phase=rng.choice((0.5e-9, 0.35e-9)), domain="other")
    simulator.add_testbench(bench)
    simulator.run()
    return seen


@pytest.mark.parametrize("seed", range(6))
def test_two_clocks_share_a_memory(seed):
    ours, amaranths = both(run_memory, seed)
    assert len(ours) == 120 and ours == amaranths


def test_what_checks_does_so_in_each_cycle_that_it_should():
    """An assertion whose inputs stay fails in the cycle in which its condition comes."""
    m = Module()
    bad, count = Signal(), Signal(4)
    m.d.sync += count.eq(count + 1)
    m.d.sync += Print(Format("{}", bad), end="")
    with m.If(bad):
        m.d.sync += Assert(count < 5)

    async def bench(ctx):
        ctx.set(bad, 1)
        for _ in range(20):
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    with pytest.raises(AssertionError), redirect_stdout(StringIO()) as said:
        simulator.run()
    assert said.getvalue() == "111111"
