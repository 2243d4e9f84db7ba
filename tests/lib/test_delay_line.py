"""The delay line beside registers one behind the other, alone and for four who take turns."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from ualink.config import ConfigError
from ualink.lib.delay_line import DelayLine
from ualink.lib.interleave import Interleaver

STEPS = pytest.mark.parametrize("steps", [2, 3])
MOVES = pytest.mark.parametrize("moves", [1.0, 0.5, 0.1])


class Registers:
    """What is in ``steps`` registers; None before anything has come so far."""

    def __init__(self, steps):
        self.values = [None] * steps

    def step(self, value):
        self.values = [value, *self.values[:-1]]


def played(line, each, rng, moves):
    """A bench of 300 cycles for each of ``each``, who take turns."""

    async def bench(ctx):
        for cycle in range(300 * len(each)):
            registers = each[cycle % len(each)]
            move = rng.random() < moves
            ctx.set(line.move, move)
            ctx.set(line.value, cycle)
            if registers.values[-1] is not None:
                assert ctx.get(line.delayed) == registers.values[-1]
            await ctx.tick()
            if move:
                registers.step(cycle)
        assert all(registers.values[-1] > 200 * len(each) for registers in each)

    return bench


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


@STEPS
@MOVES
def test_like_registers(steps, moves):
    line = DelayLine(16, steps)
    simulate(line, played(line, [Registers(steps)], random.Random(steps), moves))


@STEPS
@MOVES
@pytest.mark.parametrize("registered", [False, True])
def test_of_four_who_take_turns_each_has_its_own(steps, moves, registered):
    line, slot = DelayLine(16, steps, registered=registered), Signal(2)
    m = Module()
    m.d.sync += slot.eq(slot + 1)
    m.submodules.line = Interleaver(4, slot)(line)
    simulate(m, played(line, [Registers(steps) for _ in range(4)], random.Random(steps), moves))


@pytest.mark.parametrize("steps", [0, 1, 4, True, "2"])
def test_refuses_other_numbers_of_steps(steps):
    with pytest.raises(ConfigError, match=r"delay_line\.steps is"):
        DelayLine(8, steps)
