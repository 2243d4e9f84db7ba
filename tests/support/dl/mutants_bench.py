"""cocotb side of test_mutants: runs the phases of a campaign and writes down what every slot of a ``Farm`` showed."""

import json
import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer

from support.dl.replay_pair import BEATS

CYCLE = 2


@cocotb.test()
async def campaign(dut):
    cocotb.start_soon(Clock(dut.clk, CYCLE, unit="ns").start())
    with open(os.environ["RECORDS"], "w") as file:
        for phase in json.loads(os.environ["PHASES"]):
            for name, value in phase["settings"].items():
                getattr(dut, name).value = value
            dut.dead.value = 0
            dut.rst.value = 1
            await Timer(CYCLE * 4, unit="ns")
            dut.rst.value = 0
            # From beat 2 of the next slot on, the records of a slot are whole.
            await Timer(CYCLE * (BEATS + 4), unit="ns")
            for slot in range(phase["slots"]):
                if slot == phase["dead_from"]:
                    dut.dead.value = phase["dead"]
                assert int(dut.slot.value) == slot + 1
                file.write(f"{int(dut.fates.value):x} {int(dut.records.value):x}\n")
                await Timer(CYCLE * BEATS, unit="ns")
