"""The suite's quicker simulations compute what Amaranth's own do."""

import operator
import random
from unittest.mock import patch

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Shape, Signal, signed, unsigned
from amaranth.sim import Simulator, _pyrtl

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


@pytest.mark.parametrize("seed", range(16))
def test_random_designs_run_as_with_amaranths_own_expressions(seed):
    ours = run(seed)
    with (
        patch.object(_pyrtl, "_RHSValueCompiler", OWN),
        patch.object(_pyrtl, "_PythonEmitter", OWN_EMITTER),
        patch.object(_pyrtl, "compile", compile),
        patch.object(Simulator, "__init__", Simulator.__init__.__wrapped__),
    ):
        amaranths = run(seed)
    assert ours == amaranths
    assert len({row[0] for row in ours}) > 1 or len(set(ours)) > 5


def test_a_branch_keeps_nothing_of_another():
    """What is computed in one branch only is computed again in the next, and after it."""
    m = Module()
    a, b, which = Signal(8), Signal(8), Signal(2)
    first, second, after = Signal(8), Signal(8), Signal(8)
    total = (a + b)[1:9]
    with m.Switch(which):
        with m.Case(0):
            m.d.comb += first.eq(total)
        with m.Case(1):
            m.d.comb += second.eq(total)
    m.d.comb += after.eq(total)

    async def bench(ctx):
        for number in range(8):
            ctx.set(a, 13 * number)
            ctx.set(b, 31 * number)
            ctx.set(which, number % 4)
            half = (44 * number) >> 1
            assert ctx.get(after) == half & 0xFF
            assert ctx.get(first) == (half & 0xFF if number % 4 == 0 else 0)
            assert ctx.get(second) == (half & 0xFF if number % 4 == 1 else 0)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
