"""cocotb side of the benchmarks of a link: each test writes what it counted as JSON to ``UALINK_RESULT``."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

CYCLE_NS = 2
LONGEST_BRING_UP = 40_000
PHASES = 10
LAST_BEAT = 9
STRIKES = 20


class Ends:
    """Both ends of ``LinkTop``; cycles begin and end at the falling edge."""

    def __init__(self, dut):
        self.dut = dut
        self.job = json.loads(os.environ["UALINK_JOB"])

    def drive(self, name: str, value: int) -> None:
        """Set member ``name`` at both ends."""
        for end in range(2):
            self.handle(end, name).value = value

    def read(self, end: int, name: str) -> int:
        """Member ``name`` of one end."""
        return int(self.handle(end, name).value)

    def handle(self, end: int, name: str):
        """The port of member ``name`` of one end."""
        return getattr(self.dut, f"ends__{end}__{name}")

    async def cycles(self, count: int) -> None:
        """Let ``count`` cycles pass."""
        await Timer(CYCLE_NS * count, unit="ns")

    async def bring_up(self) -> None:
        """Reset both ends and wait until they are online, with nothing to send."""
        dut = self.dut
        for name in ("error_rate", "clear"):
            getattr(dut, name).value = 0
        dut.latency.value = self.job["latency"]
        dut.messages.value = self.job.get("messages", 0)
        self.drive("offer", 0)
        self.drive("strike", 0)
        dut.rst.value = 1
        Clock(dut.clk, CYCLE_NS, unit="ns").start()
        await FallingEdge(dut.clk)
        await self.cycles(3)
        dut.rst.value = 0
        for _ in range(LONGEST_BRING_UP // 100):
            await self.cycles(100)
            if self.read(0, "online") and self.read(1, "online"):
                break
        else:
            raise AssertionError("the link does not come up")
        # Both senses of the channel, and the first acknowledgements.
        await self.cycles(2000)

    async def delivered(self, cycles: int) -> list[int]:
        """TL flits that each end gets in so many cycles."""
        before = [self.read(end, "delivered") for end in range(2)]
        await self.cycles(cycles)
        return [self.read(end, "delivered") - before[end] for end in range(2)]

    def result(self, values: dict) -> None:
        """Hand over, unless a flit was lost, doubled or changed."""
        assert not self.read(0, "mismatches") + self.read(1, "mismatches"), "wrong TL flits were delivered"
        Path(os.environ["UALINK_RESULT"]).write_text(json.dumps(values))


@cocotb.test()
async def goodput(dut):
    """Both ends send all they can; TL flits delivered at each end."""
    ends = Ends(dut)
    await ends.bring_up()
    ends.drive("offer", 1)
    await ends.cycles(4000)
    dut.error_rate.value = int(ends.job["error_rate"] * 2**32)
    await ends.cycles(ends.job["settle"])
    ends.result({"delivered": await ends.delivered(ends.job["cycles"])})


@cocotb.test()
async def latency(dut):
    """Single TL flits in all phases of a DL flit slot: cycles from TL to beat, and from last beat to TL.

    A TL flit of beat n of a slot leaves the receiver n cycles later than one of beat 0 would, which is not counted.
    """
    ends = Ends(dut)
    await ends.bring_up()
    wire, transmit, receive = ends.job["latency"], [], []
    for phase in range(PHASES):
        ends.handle(0, "offer").value = 1
        seen: dict[str, int] = {}
        for cycle in range(4 * wire + 200):
            await Timer(1, unit="step")
            for end, event in ((0, "taken"), (0, "sent"), (1, "given")):
                if event not in seen and ends.read(end, event):
                    seen[event] = cycle
            if "ended" not in seen and "sent" in seen and cycle >= seen["sent"] + wire and ends.read(1, "ended"):
                seen["ended"] = cycle
            await FallingEdge(dut.clk)
            if "taken" in seen:
                ends.handle(0, "offer").value = 0
        beat = LAST_BEAT - (seen["ended"] - wire - seen["sent"])
        transmit.append(seen["sent"] - seen["taken"])
        receive.append(seen["given"] - seen["ended"] - beat)
        # On to the next phase of the slots.
        while not ends.read(1, "ended"):
            await ends.cycles(1)
        await ends.cycles(1 + phase)
    ends.result({"transmit": transmit, "receive": receive})


@cocotb.test()
async def recovery(dut):
    """Single damaged flits in saturated traffic: the longest gap that each leaves in what the other end gets."""
    ends = Ends(dut)
    await ends.bring_up()
    ends.drive("offer", 1)
    await ends.cycles(4000)
    gaps = []
    for number in range(STRIKES):
        dut.clear.value = 1
        await ends.cycles(1)
        dut.clear.value = 0
        ends.handle(0, "strike").value = 1
        await ends.cycles(1)
        ends.handle(0, "strike").value = 0
        await ends.cycles(20 * ends.job["latency"] + 1500 + 7 * number)
        gaps.append(ends.read(1, "longest_gap"))
    ends.result({"gaps": gaps})
