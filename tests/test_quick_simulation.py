"""The suite's quicker simulations compute what Amaranth's own do."""

import random

import pytest
from amaranth.hdl import Cat, Module, Mux, Shape, Signal
from amaranth.sim import Simulator

from support.quick_simulation import hasten


def test_the_installed_version_is_one_that_is_known():
    assert hasten()


def test_shapes_stay_those_of_the_expression():
    a, b = Signal(5), Signal(Shape(3, signed=True))
    for expression, width, signed in (
        (a + 1, 6, False),
        (a - b, 7, True),
        (Cat(a, b), 8, False),
        (Mux(a[0], a, b), 6, True),
        (Mux(a[0], a + 1, a), 6, False),
        ((a & 3) == b, 1, False),
    ):
        for _ in range(2):
            assert expression.shape() == Shape(width, signed=signed)


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
