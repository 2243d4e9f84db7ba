"""cocotb side of the benchmarks of two transaction layers: each test writes what it found as JSON to
``UALINK_RESULT``."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

CYCLE_NS = 2
LONGEST_BRING_UP = 40_000
SETTLE = 200
LONGEST_ANSWER = 2_000
POLL = 100
COUNTS = ("cycles", "flits", "controls", "data", "byte_enables", "requests", "compressed", "responses", "credits")


class Pair:
    """Both ends of ``PairTop``; cycles begin and end at the falling edge."""

    def __init__(self, dut):
        self.dut = dut
        self.job = json.loads(os.environ["UALINK_JOB"])

    def read(self, end: int, name: str) -> int:
        """Member ``name`` of one end."""
        return int(getattr(self.dut, f"ends__{end}__{name}").value)

    def drive(self, end: int, name: str, value: int) -> None:
        """Set member ``name`` of one end."""
        getattr(self.dut, f"ends__{end}__{name}").value = value

    async def cycles(self, count: int) -> None:
        """Let ``count`` cycles pass."""
        await Timer(CYCLE_NS * count, unit="ns")

    async def bring_up(self) -> None:
        """Reset both ends and wait until both have their credits, with nothing to send."""
        for name, value in self.job["levels"].items():
            getattr(self.dut, name).value = value
        self.dut.start.value = 0
        for end in range(2):
            self.drive(end, "limit", 0)
            self.drive(end, "stall", 0)
        self.dut.rst.value = 1
        Clock(self.dut.clk, CYCLE_NS, unit="ns").start()
        await FallingEdge(self.dut.clk)
        await self.cycles(3)
        self.dut.rst.value = 0
        for _ in range(LONGEST_BRING_UP // POLL):
            await self.cycles(POLL)
            if self.read(0, "credits_ready") and self.read(1, "credits_ready"):
                break
        else:
            raise AssertionError("the link does not come up")
        await self.cycles(SETTLE)

    def result(self, values: dict) -> None:
        """Hand over, unless something came wrong."""
        for end in range(2):
            assert not self.read(end, "mismatches"), f"wrong beats came out at end {end}"
            assert not self.read(end, "errors"), f"the transaction layer of end {end} found an error"
        Path(os.environ["UALINK_RESULT"]).write_text(json.dumps(values))


@cocotb.test()
async def counts(dut):
    """Saturated traffic; what is in a window of flits behind each transmitter."""
    pair = Pair(dut)
    await pair.bring_up()
    for end, limit in enumerate(pair.job["limits"]):
        pair.drive(end, "limit", limit)
    await pair.cycles(pair.job["settle"])
    dut.start.value = 1
    await pair.cycles(1)
    dut.start.value = 0
    for _ in range(pair.job["patience"] // POLL):
        await pair.cycles(POLL)
        if pair.read(0, "done") and pair.read(1, "done"):
            break
    else:
        raise AssertionError("a transmitter sends next to nothing")
    pair.result({"ends": [{name: pair.read(end, name) for name in COUNTS} for end in range(2)]})


@cocotb.test()
async def latency(dut):
    """One Request at a time on an idle link: cycles at which a flit is offered, or a beat, after what it waits for."""
    pair = Pair(dut)
    await pair.bring_up()
    answer = pair.job["answer"]
    wire = pair.job["levels"]["latency"]
    found: dict[str, list[int]] = {"request_tx": [], "request_rx": [], "response_tx": [], "response_rx": []}
    for number in range(pair.job["tries"]):
        pair.drive(0, "limit", 1)
        seen: dict[str, int] = {}
        for cycle in range(LONGEST_ANSWER):
            await Timer(1, unit="step")
            for end, event in (
                *((0, "req_taken"), (0, "fields"), (1, "req_given"), (1, f"{answer}_taken")),
                *((1, "fields"), (0, f"{answer}_given")),
            ):
                if f"{end}_{event}" not in seen and pair.read(end, event):
                    seen[f"{end}_{event}"] = cycle
            for end in range(2):
                # The flit that completes what ``fields`` began.
                if f"{end}_fields" in seen and pair.read(end, "ends"):
                    seen.setdefault(f"{end}_ends", cycle)
            await FallingEdge(dut.clk)
            if "0_req_taken" in seen:
                pair.drive(0, "limit", 0)
            if f"0_{answer}_given" in seen:
                break
        whole = [seen.get(f"{end}_ends", seen[f"{end}_fields"]) + wire for end in range(2)]
        found["request_tx"].append(seen["0_fields"] - seen["0_req_taken"])
        found["request_rx"].append(seen["1_req_given"] - whole[0])
        found["response_tx"].append(seen["1_fields"] - seen[f"1_{answer}_taken"])
        found["response_rx"].append(seen[f"0_{answer}_given"] - whole[1])
        await pair.cycles(SETTLE + number)
    pair.result(found)
