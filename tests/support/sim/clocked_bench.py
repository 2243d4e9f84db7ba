"""cocotb side of the tests of blocks that are compiled apart: what they show is what the whole shows, at any time."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge


@cocotb.test()
async def same_as_whole(dut):
    random_ = random.Random(int(os.environ["CYCLES"]))
    dut.rst.value = 1
    dut.seed.value = dut.glance.value = 0
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    sums = set()
    for cycle in range(int(os.environ["CYCLES"])):
        for edge in (FallingEdge, RisingEdge):
            await edge(dut.clk)
            await ReadOnly()
            assert dut.same.value == 1, (cycle, edge)
        sums.add(int(dut.sum.value))
        await FallingEdge(dut.clk)
        dut.rst.value = random_.random() < 0.02
        dut.seed.value = random_.getrandbits(64)
        dut.glance.value = random_.getrandbits(1)
    assert len(sums) > 0.9 * int(os.environ["CYCLES"])
