"""cocotb side of the benchmarks of a switch core: each test writes what it counted as JSON to ``UALINK_RESULT``."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from .switch_sink import LONGEST

CYCLE_NS = 2
ALWAYS = 2**32 - 1
LONGEST_SET_UP = 20_000
POLL = 50
DRAIN = 100


class Core:
    """``SwitchTop``; cycles begin and end at the falling edge."""

    def __init__(self, dut):
        self.dut = dut
        self.job = json.loads(os.environ["UALINK_JOB"])

    async def cycles(self, count: int) -> None:
        """Let ``count`` cycles pass."""
        await Timer(CYCLE_NS * count, unit="ns")

    async def set_up(self) -> None:
        """Reset, and wait until the route tables are written."""
        dut, job = self.dut, self.job
        dut.enable.value = 0
        dut.measuring.value = 0
        dut.latency_class.value = 0
        dut.beats_less_one.value = job["beats"] - 1
        dut.destinations.value = job["destinations"]
        dut.rate.value = min(ALWAYS, round(job["load"] / job["beats"] * 2**32))
        dut.rst.value = 1
        Clock(dut.clk, CYCLE_NS, unit="ns").start()
        await FallingEdge(dut.clk)
        await self.cycles(3)
        dut.rst.value = 0
        for _ in range(LONGEST_SET_UP // POLL):
            await self.cycles(POLL)
            if int(dut.ready.value):
                return
        raise AssertionError("the route tables are not written")

    def read(self, *names: str) -> dict[str, int]:
        """Ports by name."""
        return {name: int(getattr(self.dut, name).value) for name in names}

    def sent(self) -> list[int]:
        """Items that left each source."""
        return [int(getattr(self.dut, f"sent__{n}").value) for n in range(self.job["ports"])]

    async def classes(self) -> list[int]:
        """Items of each latency; the last takes all that are longer."""
        found = []
        for latency in range(LONGEST + 1):
            self.dut.latency_class.value = latency
            await self.cycles(1)
            found.append(int(self.dut.in_class.value))
        return found

    def result(self, values: dict) -> None:
        """Hand over, unless an item was lost, doubled, changed or overtaken."""
        assert not int(self.dut.mismatches.value), "wrong items left the core"
        Path(os.environ["UALINK_RESULT"]).write_text(json.dumps(values))


@cocotb.test()
async def traffic(dut):
    """Items at the given load: beats, latencies and what each source sent in ``cycles``, after ``settle``."""
    core = Core(dut)
    await core.set_up()
    dut.enable.value = 1
    await core.cycles(core.job["settle"])
    dut.measuring.value = 1
    await core.cycles(core.job["cycles"])
    dut.measuring.value = 0
    counts = core.read("beats", "items", "latency_sum", "refused")
    core.result({**counts, "sent": core.sent(), "classes": await core.classes()})


@cocotb.test()
async def single_items(dut):
    """One item after the other, all pairs in turn, in an idle core: latency of each."""
    core = Core(dut)
    await core.set_up()
    dut.measuring.value = 1
    for _ in range(core.job["items"]):
        dut.enable.value = 1
        await core.cycles(1)
        dut.enable.value = 0
        await core.cycles(DRAIN)
    counts = core.read("beats", "items", "latency_sum")
    core.result({**counts, "classes": await core.classes()})
