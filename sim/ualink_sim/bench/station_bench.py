"""cocotb side of the benchmarks of two stations: each test writes what it found as JSON to ``UALINK_RESULT``."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

CYCLE_NS = 2
LONGEST_BRING_UP = 200_000
LONGEST_ANSWER = 4_000
POLL = 100
GAP = 307
"""Cycles from an answer to the next Request: another phase of the flit slots each time."""
LIMITS = 8


class Stations:
    """Both ends of ``StationTop``; cycles begin and end at the falling edge."""

    def __init__(self, dut):
        self.dut = dut
        self.job = json.loads(os.environ["UALINK_JOB"])
        self.ports = self.job["ports"]

    def read(self, name: str) -> list[int]:
        """Member ``name`` of both ends."""
        return [int(getattr(self.dut, f"{name}__{end}").value) for end in range(2)]

    def limit(self, number: int, ends=(0, 1)) -> None:
        """So many Requests may be outstanding of each port that is used."""
        for end in ends:
            for port in range(self.ports):
                getattr(self.dut, f"limits__{4 * end + port}").value = number

    async def cycles(self, count: int) -> None:
        """Let ``count`` cycles pass."""
        await Timer(CYCLE_NS * count, unit="ns")

    async def until(self, condition, what: str) -> None:
        for _ in range(LONGEST_BRING_UP // POLL):
            if condition():
                return
            await self.cycles(POLL)
        raise AssertionError(what)

    async def bring_up(self) -> None:
        """Reset, choose the number of ports, enable the links and wait for all credits, with nothing to send."""
        for name, value in self.job["levels"].items():
            getattr(self.dut, name).value = value
        for number in range(LIMITS):
            getattr(self.dut, f"limits__{number}").value = 0
        self.dut.enable.value = 0
        self.dut.rst.value = 1
        Clock(self.dut.clk, CYCLE_NS, unit="ns").start()
        await FallingEdge(self.dut.clk)
        await self.cycles(3)
        self.dut.rst.value = 0
        await self.until(lambda: int(self.dut.in_force.value), "the number of ports does not change")
        self.dut.enable.value = 1
        used = (1 << self.ports) - 1
        ready = lambda: all(shown & used == used for shown in self.read("credits_ready"))  # noqa: E731
        await self.until(ready, "the links do not come up")
        await self.cycles(GAP)

    def result(self, values: dict) -> None:
        """Hand over, unless something came wrong."""
        assert self.read("mismatches") == [0, 0], "wrong beats came out"
        assert self.read("errors") == [0, 0], "an agent found an error"
        Path(os.environ["UALINK_RESULT"]).write_text(json.dumps(values))


@cocotb.test()
async def traffic(dut):
    """Saturated traffic, both ways; beats of data in a window."""
    stations = Stations(dut)
    await stations.bring_up()
    stations.limit(stations.job["outstanding"])
    await stations.cycles(stations.job["settle"])
    before = stations.read("beats")
    await stations.cycles(stations.job["window"])
    stations.result({"beats": [now - then for now, then in zip(stations.read("beats"), before)]})


@cocotb.test()
async def latency(dut):
    """One Request of device 0 at a time, from one port after the other."""
    stations = Stations(dut)
    await stations.bring_up()
    found = []
    for number in range(stations.job["tries"]):
        limit = getattr(dut, f"limits__{number % stations.ports}")
        beats = stations.read("beats")
        limit.value = 1
        for _ in range(LONGEST_ANSWER):
            await stations.cycles(1)
            # The Request has left: the next one waits for its Response, and comes not at all.
            if stations.read("beats") != beats:
                limit.value = 0
                break
        else:
            raise AssertionError("no Request comes out")
        found.append(int(dut.latency.value))
        await stations.cycles(GAP + number)
    stations.result({"latencies": found})
