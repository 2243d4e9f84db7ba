"""cocotb side of test_modules: the same stimulus, the outputs expected by the environment."""

import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge


@cocotb.test()
async def same_outputs(dut):
    dut.rst.value = 1
    dut.a.value = 0
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    fall = FallingEdge(dut.clk)
    await fall
    await fall
    dut.rst.value = 0
    for cycle, expected in enumerate(os.environ["EXPECTED"].split()):
        dut.a.value = cycle % 4
        await fall
        assert int(dut.b.value) == int(expected), cycle
