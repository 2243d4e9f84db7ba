"""Parity of bytes and of registers: layout, every single-bit upset, and what keeps a mismatch or forgets it."""

import random

import pytest
from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from support.formal import prove
from ualink.lib.parity import (
    ProtectedRegister,
    WithoutDataParity,
    byte_parity,
    join_parity,
    parity_mismatch,
    split_parity,
)

LAYOUT = data.StructLayout({"count": 5, "flag": 1})


def run(design, bench, clock=True):
    sim = Simulator(design)
    if clock:
        sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


def test_bytes_keep_their_parity():
    value, parity = Signal(32), Signal(4)
    mismatch, back, back_parity, again = Signal(), Signal(32), Signal(4), Signal(36)
    m = Module()
    m.d.comb += [
        parity.eq(byte_parity(value)),
        again.eq(join_parity(value, parity)),
        mismatch.eq(parity_mismatch(value, parity)),
    ]
    split_data, split_bits = split_parity(again)
    m.d.comb += [back.eq(split_data), back_parity.eq(split_bits)]

    async def bench(ctx):
        rng = random.Random(1)
        for _ in range(20):
            number = rng.getrandbits(32)
            ctx.set(value, number)
            octets = number.to_bytes(4, "little")
            assert ctx.get(parity) == sum((octet.bit_count() & 1) << n for n, octet in enumerate(octets))
            assert not ctx.get(mismatch)
            assert (ctx.get(back), ctx.get(back_parity)) == (number, ctx.get(parity))
            protected = ctx.get(again)
            assert all((protected >> 9 * n & 0x1FF).bit_count() % 2 == 0 for n in range(4))

    run(m, bench, clock=False)


class Bytes(wiring.Component):
    """Four bytes with their parity, checked by another component inside, and two protected bits."""

    value: In(32)
    upset: In(4)
    parity: Out(4)
    mismatch: Out(1)
    state_mismatch: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.check = check = ByteCheck()
        m.submodules.state = self.state = state = ProtectedRegister(data.StructLayout({"flag": 2}))
        m.d.comb += [
            self.parity.eq(byte_parity(self.value)),
            check.value.eq(self.value),
            check.parity.eq(self.parity ^ self.upset),
            self.mismatch.eq(check.mismatch),
            self.state_mismatch.eq(state.mismatch),
        ]
        return m


class ByteCheck(wiring.Component):
    value: In(32)
    parity: In(4)
    mismatch: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.mismatch.eq(parity_mismatch(self.value, self.parity))
        return m


@pytest.mark.parametrize("protected", [True, False])
def test_data_goes_without_parity_and_state_does_not(protected):
    m = Module()
    beside, dut = Bytes(), Bytes()
    m.submodules.dut = dut if protected else WithoutDataParity(dut)
    # What is elaborated after it has parity again.
    m.submodules.beside = beside

    async def bench(ctx):
        for value in (0, 0x01020304, 0x80FF7F01):
            for upset in (0, 1, 8):
                for design, has_parity in ((dut, protected), (beside, True)):
                    ctx.set(design.value, value)
                    ctx.set(design.upset, upset)
                    made = sum(((value >> 8 * n & 0xFF).bit_count() & 1) << n for n in range(4))
                    assert ctx.get(design.parity) == (made if has_parity else 0)
                    assert ctx.get(design.mismatch) == (upset != 0 and has_parity)
        assert not ctx.get(dut.state_mismatch)
        ctx.set(dut.state.parity, 1)
        assert ctx.get(dut.state_mismatch)

    run(m, bench)


def flip(ctx, dut, bit):
    """Upset bit 0 to 5 of the state, or with 6 the parity bit."""
    if bit < 6:
        ctx.set(dut.q.as_value(), ctx.get(dut.q.as_value()) ^ 1 << bit)
    else:
        ctx.set(dut.parity, ctx.get(dut.parity) ^ 1)


@pytest.mark.req("DL-179")
@pytest.mark.parametrize("bit", range(7))
def test_an_upset_stays_until_it_is_cleared(bit):
    """Bits 0 to 5 of the state, and the parity bit itself by way of its place behind them."""
    dut = ProtectedRegister(LAYOUT, {"count": 7})

    async def bench(ctx):
        ctx.set(dut.d, {"count": 3, "flag": 1})
        assert not ctx.get(dut.mismatch)
        await ctx.tick()
        assert ctx.get(dut.q.count) == 3 and not ctx.get(dut.mismatch)
        flip(ctx, dut, bit)
        for value in (3, 5, 31, 0, 0, 9):
            assert ctx.get(dut.mismatch)
            ctx.set(dut.d, {"count": value, "flag": value & 1})
            await ctx.tick()
            assert ctx.get(dut.q.count) == value
        ctx.set(dut.clear, 1)
        await ctx.tick()
        assert not ctx.get(dut.mismatch)

    run(dut, bench)


@pytest.mark.parametrize("bit", range(7))
def test_an_upset_of_a_state_that_stays_is_seen_and_can_be_cleared(bit):
    """``load`` is 0 while the bit flips, and again when the mismatch is cleared."""
    dut = ProtectedRegister(LAYOUT, {"count": 7})

    async def bench(ctx):
        ctx.set(dut.d, {"count": 3, "flag": 1})
        await ctx.tick()
        ctx.set(dut.load, 0)
        ctx.set(dut.d, {"count": 30, "flag": 0})
        await ctx.tick()
        assert ctx.get(dut.q.count) == 3 and not ctx.get(dut.mismatch)
        flip(ctx, dut, bit)
        for load in (0, 0, 1, 0):
            assert ctx.get(dut.mismatch)
            ctx.set(dut.load, load)
            await ctx.tick()
        assert ctx.get(dut.q.count) == 30
        assert ctx.get(dut.mismatch)
        ctx.set(dut.clear, 1)
        await ctx.tick()
        assert ctx.get(dut.q.count) == 30 and not ctx.get(dut.mismatch)

    run(dut, bench)


class Healthy(wiring.Component):
    """A protected register without upsets under any input."""

    d: In(LAYOUT)
    load: In(1)
    clear: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.register = register = ProtectedRegister(LAYOUT, {"count": 11})
        m.d.comb += [
            register.d.eq(self.d),
            register.load.eq(self.load),
            register.clear.eq(self.clear),
            Assert(~register.mismatch),
        ]
        return m


def test_without_upsets_there_is_no_mismatch():
    prove(Healthy(), mode="prove", depth=2)
