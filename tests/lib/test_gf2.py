"""Linear maps over GF(2) against plain integer arithmetic."""

import random
import zlib

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.lib.gf2 import LinearMap, crc_advance, crc_input, crc_square

ETHERNET = 0x04C11DB7


def random_map(rng, inputs, outputs):
    return LinearMap([rng.getrandbits(inputs) for _ in range(outputs)], inputs)


def test_sum_and_composition_are_those_of_the_functions():
    rng = random.Random(1)
    a, b, c = random_map(rng, 24, 13), random_map(rng, 24, 13), random_map(rng, 40, 24)
    for _ in range(50):
        x, y = rng.getrandbits(24), rng.getrandbits(40)
        assert (a + b)(x) == a(x) ^ b(x)
        assert (a @ c)(y) == a(c(y))
        assert LinearMap.identity(24)(x) == x
        assert LinearMap.zero(24, 5)(x) == 0
        assert a.slice(3, 11)(x >> 3 & 0xFF) == a(x & 0x7F8)


def test_columns_and_rows_describe_one_map():
    a = random_map(random.Random(2), 17, 9)
    assert LinearMap.from_columns(a.columns, 9) == a
    assert LinearMap.of(a, 17, 9) == a
    assert hash(LinearMap.of(a, 17, 9)) == hash(a)


def test_power_and_inverse():
    step = crc_advance(ETHERNET, 32, 1)
    assert step**32 == crc_advance(ETHERNET, 32, 32)
    assert crc_advance(ETHERNET, 32, -32) @ crc_advance(ETHERNET, 32, 32) == LinearMap.identity(32)
    assert step**0 == LinearMap.identity(32)
    with pytest.raises(ConfigError, match="singular"):
        LinearMap([0b11, 0b11], 2).inverse()
    with pytest.raises(ConfigError, match="no inverse"):
        LinearMap.zero(2, 3).inverse()


def test_crc_maps_make_the_ethernet_fcs():
    message = bytes(random.Random(3).randbytes(64))
    register = crc_advance(ETHERNET, 32, 512)(0xFFFFFFFF) ^ crc_input(ETHERNET, 32, 512)(
        int.from_bytes(message, "little")
    )
    assert int(f"{register ^ 0xFFFFFFFF:032b}"[::-1], 2) == zlib.crc32(message)


def test_squaring_a_register_is_multiplying_it_by_itself():
    rng = random.Random(5)
    square, step = crc_square(ETHERNET, 32), crc_advance(ETHERNET, 32, 1)
    for _ in range(20):
        a, product = rng.getrandbits(32), 0
        for n in reversed(range(32)):
            product = step(product) ^ (a if a >> n & 1 else 0)
        assert square(a) == product


@pytest.mark.parametrize("inputs", [1, 31, 64, 70, 512])
@pytest.mark.parametrize("kind", ["dense", "alike", "zero"])
def test_hardware_computes_the_map(inputs, kind):
    """Also where all outputs are the same, where an output is none, and where there is no XOR at all."""
    rng = random.Random(4)
    a = {
        "dense": LinearMap([0, *random_map(rng, inputs, 20).rows], inputs),
        "alike": LinearMap([rng.getrandbits(inputs)] * 21, inputs),
        "zero": LinearMap.zero(inputs, 21),
    }[kind]
    vector, image = Signal(inputs), Signal(21)
    m = Module()
    m.d.comb += image.eq(a.emit(m, vector))

    async def bench(ctx):
        for value in [1 << n for n in range(0, inputs, 7)] + [rng.getrandbits(inputs) for _ in range(40)]:
            ctx.set(vector, value)
            assert ctx.get(image) == a(value)

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: LinearMap([4], 2), "0x4"),
        (lambda: LinearMap([], 2), "2 and 0"),
        (lambda: LinearMap.from_columns([8], 3), "0x8"),
        (lambda: LinearMap.identity(3) + LinearMap.identity(4), "3x3 and 4x4"),
        (lambda: LinearMap.identity(3) @ LinearMap.identity(4), "3 inputs"),
        (lambda: LinearMap.identity(3).emit(Module(), Signal(4)), "4 bits"),
    ],
)
def test_mismatches_are_named(make, complaint):
    with pytest.raises(ConfigError, match=complaint):
        make()
