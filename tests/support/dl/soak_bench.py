"""cocotb side of test_soak: sets the rates of each case, waits, reads the counters."""

import json
import os
import time

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer

CYCLE = 2
STEP = 20_000
"""Cycles between two looks."""
BRING_UP = 4000


class Flows:
    """The counters of every port and direction."""

    def __init__(self, dut, ports):
        self.places = [(port, direction) for port in range(ports) for direction in range(2)]
        self._dut = dut

    def read(self, name):
        """Member ``name`` of each flow."""
        return [int(getattr(self._dut, f"flows__{port}__{direction}__{name}").value) for port, direction in self.places]


async def cycles(count):
    await Timer(CYCLE * count, unit="ns")


async def run_case(dut, flows, ports, case):
    """One case of ``dl.test_soak``; returns what it counted."""
    for name, value in case["damage"].items():
        # Losses begin when the link is up, unless the case says otherwise.
        late = name not in ("seed", "latency", "codeword_group", "longest_burst", "gap", "stall")
        getattr(dut, f"damage__{name}").value = 0 if late else value
    dut.rate.value = case["rate"]
    dut.rx_replay_limit.value = case["rx_replay_limit"]
    dut.enable.value = 1
    dut.rst.value = 1
    await cycles(3)
    dut.rst.value = 0
    before = time.monotonic()
    await cycles(ports * (BRING_UP + 10 * case["damage"]["latency"]))
    assert all(flows.read("online")), flows.read("online")
    for name, value in case["damage"].items():
        getattr(dut, f"damage__{name}").value = value
    spent = ports * BRING_UP
    # What came while nothing was lost yet is none of them.
    wanted = [delivered + case["flits"] for delivered in flows.read("delivered")]
    while any(delivered < least for delivered, least in zip(flows.read("delivered"), wanted, strict=True)):
        await cycles(STEP)
        spent += STEP
        counted = {name: flows.read(name) for name in ("mismatches", "link_downs", "protocol_errors", "longest_wait")}
        assert not any(counted["mismatches"] + counted["link_downs"] + counted["protocol_errors"]), counted
        assert max(counted["longest_wait"]) < ports * case["longest_wait"], counted
    names = ("delivered", "flits", "damaged", "lost_flits", "crc_errors", "replays_accepted", "longest_wait")
    return {"cycles": spent, "seconds": time.monotonic() - before, **{name: flows.read(name) for name in names}}


@cocotb.test()
async def soak(dut):
    ports = int(os.environ["PORTS"])
    cocotb.start_soon(Clock(dut.clk, CYCLE, unit="ns").start())
    flows = Flows(dut, ports)
    results = []
    for case in json.loads(os.environ["CASES"]):
        try:
            results.append(await run_case(dut, flows, ports, case))
        except AssertionError as error:
            raise AssertionError(f"{case}: {error}") from None
    with open(os.environ["RESULTS"], "w") as file:
        json.dump(results, file)
