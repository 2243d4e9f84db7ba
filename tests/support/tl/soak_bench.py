"""cocotb side of test_soak: runs each case, then judges what the taps wrote."""

import json
import os
import time
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer

from support.tl.soak_cases import MODELS, case_of, settings_of
from support.tl.soak_judge import judge
from support.tl.soak_spoil import spoil

CYCLE = 2
DRAIN = 6000
"""Cycles of a port in which everything under way arrives and all credits come back."""


async def cycles(count):
    await Timer(CYCLE * count, unit="ns")


async def run_case(dut, model, case):
    """One case of ``tl.test_soak``; returns what was seen."""
    values = settings_of(case)
    for name, value in values.items():
        getattr(dut, name).value = value
    dut.settings__drain.value = 0
    dut.flush.value = 0
    dut.rst.value = 1
    dut.open.value = 1
    await cycles(4)
    dut.rst.value = 0
    dut.open.value = 0
    before = time.monotonic()
    await cycles(model.ports * case["cycles"])
    dut.settings__drain.value = 1
    await cycles(model.ports * DRAIN)
    dut.flush.value = 1
    await cycles(4)
    middle = time.monotonic()
    errors, unsteady = int(dut.errors.value), int(dut.unsteady.value)
    codes = [int(getattr(dut, f"last_error__{n}").value) for n in range(2)]
    seen: dict[str, float] = {}
    for port in range(model.ports):
        for name, amount in judge(Path(), case_of(model, case), port).items():
            seen[name] = seen.get(name, 0) + amount
    # The judge can tell more of what went wrong than these bits.
    assert errors == 0, f"errors {errors:010b}, codes of the receivers {codes}"
    assert unsteady == 0, f"unsteady {unsteady:010b}"
    seen["simulated_seconds"] = middle - before
    seen["judged_seconds"] = time.monotonic() - middle
    return seen


@cocotb.test()
async def soak(dut):
    model = MODELS[os.environ["MODEL"]]
    cocotb.start_soon(Clock(dut.clk, CYCLE, unit="ns").start())
    results = []
    for case in json.loads(os.environ["CASES"]):
        try:
            results.append(await run_case(dut, model, case))
        except AssertionError as error:
            raise AssertionError(f"{case}: {error}") from None
    # What stands in the files now is that of the last case.
    unnoticed = spoil(Path(), case_of(model, case), int(os.environ.get("SPOIL", "0")))
    assert not unnoticed, unnoticed
    with open(os.environ["RESULTS"], "w") as file:
        json.dump(results, file)
