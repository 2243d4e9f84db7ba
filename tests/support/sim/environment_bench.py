"""cocotb side of ``tests/sim/test_simulator.py``: the environment in which a simulation runs."""

import os

import cocotb


@cocotb.test()
async def as_given(dut):
    assert {name: os.environ[name] for name in ("EXPECTED", "UALINK_THREADS")} == {
        "EXPECTED": "given",
        "UALINK_THREADS": "2",
    }
