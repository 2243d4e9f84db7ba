"""Two boards for test_link_pair.py: their clocks apart, a person at each serial line, and what is on the wires."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer
from cocotb.utils import get_sim_time

from support.boards.link_console import Console
from support.boards.link_steps import both, bring_up, run_traffic
from support.boards.link_wire import RECORD, TAPS
from ualink_boards.link_pair import BIT_CYCLES, ENDS

JOB = json.loads(Path(os.environ["LINK_PAIR"]).read_text())
"""``registers`` of the design as ``RegisterDesign.to_dict`` gives them; ``clocks`` of a board, its station's and that
of its words, in Hz; ``results`` and ``wires``: where findings and the bits on the wires go."""

OFF = {"a": -JOB["ppm"], "b": JOB["ppm"]}
"""Millionths by which the periods of a board's clocks are too long."""
EVEN_FS = 200
"""Both halves of a period are multiples of 100 fs."""
SYNC_FS, WORD_FS = (
    {end: 10**9 * (10**6 + OFF[end]) // hz // EVEN_FS * EVEN_FS for end in ENDS}
    for hz in (JOB["clocks"]["station"], JOB["clocks"]["words"])
)


async def record(dut, sender: str, receiver: str, stream) -> None:
    """All words on the way from one board to the other, before and behind the cable, as ``link_wire`` reads them."""
    turn = getattr(dut, f"sent_{sender}_turn")
    taps = [(TAPS.index(tap), getattr(dut, tap)) for tap in (f"sent_{sender}", f"heard_{receiver}")]
    while True:
        await turn.value_change
        now = int(get_sim_time("ps"))
        for number, words in taps:
            stream.write(RECORD.pack(number, now) + words.value.to_unsigned().to_bytes(len(words) // 8, "little"))


async def start(dut, stream) -> list[Console]:
    """Both boards out of reset."""
    for end in ENDS:
        getattr(dut, f"{end}_rst").value = 1
        Clock(getattr(dut, f"{end}_clk"), SYNC_FS[end], unit="fs").start()
        Clock(getattr(dut, f"{end}_tx_clk"), WORD_FS[end], unit="fs").start()
        skew = 13 if end == "a" else 29
        for name, value in (("skew", skew), ("errors", 0), ("flip", 0), ("cut", 0), ("plug", 0)):
            getattr(dut, f"to_{end}__{name}").value = value
    for sender, receiver in (ENDS, ENDS[::-1]):
        cocotb.start_soon(record(dut, sender, receiver, stream))
    consoles = [
        Console(getattr(dut, f"{end}_rx"), getattr(dut, f"{end}_tx"), SYNC_FS[end] * BIT_CYCLES, JOB["registers"])
        for end in ENDS
    ]
    await Timer(2, unit="us")
    for end in ENDS:
        getattr(dut, f"{end}_rst").value = 0
    await Timer(1, unit="us")
    return consoles


class Story:
    """Two boards, and all that is found step by step, in ``JOB["results"]``.

    ``steps`` has the counters of both boards after each step, and when they were taken; ``events`` when LEDs of a board
    changed (their number, as they are now), and what was done to the cable.
    """

    def __init__(self, dut, consoles):
        self.dut, self.consoles = dut, consoles
        self.steps: dict[str, list[dict[str, int]]] = {}
        self.events: list[tuple[float, str, int]] = []
        for end in ENDS:
            cocotb.start_soon(self._watch(end))

    async def _watch(self, end: str):
        leds = getattr(self.dut, f"{end}_leds")
        while True:
            await leds.value_change
            self.event(end, int(leds.value))

    def event(self, what: str, value: int) -> None:
        """Note that it happened now."""
        self.events.append((get_sim_time("us"), what, value))

    async def tell(self, step: str) -> None:
        """Note the counters of both boards and the time as those of ``step``."""
        found: list[dict[str, int]] = [{}, {}]

        async def one(console, number):
            for window in ("traffic", "dl", "phy"):
                found[number] |= {f"{window}.{name}": value for name, value in (await console.counters(window)).items()}
                found[number][f"{window}.us"] = get_sim_time("us")
            found[number]["phy.bad_headers"] = (await console.read("phy.lane0_headers"))["bad"]

        await both(self.consoles, one)
        self.steps[step] = found
        Path(JOB["results"]).write_text(json.dumps({"steps": self.steps, "events": self.events}))

    async def traffic(self, requests: int, **mode: int) -> None:
        """Both boards ask at once, until the last answer has come."""

        async def ask(console, number):
            await run_traffic(console, number, requests, **mode)
            # Fifty polls of a hundred microseconds are more than a thousand Requests need, with errors too.
            await console.until("traffic.run", "end of the run", tries=500 + requests // 2, start=0)

        await both(self.consoles, ask)

    def cable(self, **values: int) -> None:
        """Set what happens on the cable, both ways."""
        for name, value in values.items():
            self.event(name, value)
            for end in ENDS:
                getattr(self.dut, f"to_{end}__{name}").value = value


async def go_down(console: Console, number: int) -> None:
    """What firmware sees of a cable that is out, and does about it."""
    await console.until("dl.link_status", "link down", online=0)
    await console.until("tl.status", "Drop Mode", dropping=1, drop_link_down=1)
    await console.until("phy.status", "fault", aligned=0, link_fault=1, fault=1)
    # Nobody is going to answer what is outstanding.
    await console.write("traffic.run", start=0)
    await console.write("traffic.clear", start=1)
    await console.until("traffic.clear", "clear", start=0)
    await console.write("tl.clear_drop", start=1)


@cocotb.test()
async def two_boards(dut):
    """They link up, fill and check each other's memory, with bit errors too, lose the cable and come back."""
    mixed = {"read": 96, "write": 64, "random_size": 1, "pattern": 2, "check": 1}
    with open(JOB["wires"], "wb") as stream:
        consoles = await start(dut, stream)
        story = Story(dut, consoles)
        await both(consoles, bring_up)
        await story.tell("up")
        await story.traffic(64, size=3)
        await story.traffic(64, size=3, verify=1, check=1)
        await story.tell("filled")
        await story.traffic(JOB["requests"], **mixed)
        await story.tell("mixed")
        story.cable(errors=JOB["errors"])
        await story.traffic(JOB["requests"], **mixed)
        story.cable(errors=0)
        # What is on the wires may still cost a flit and its replay.
        await Timer(100, unit="us")
        await story.tell("noisy")

        async def endless(console, number):
            await run_traffic(console, number, 0, read=128, check=1, random_size=1, pattern=2)

        await both(consoles, endless)
        await Timer(20, unit="us")
        story.cable(cut=1)
        await both(consoles, go_down)
        await story.tell("pulled")
        story.cable(cut=0)
        await both(consoles, bring_up)
        await story.tell("back")
        await story.traffic(64, size=3)
        await story.traffic(JOB["requests"], **mixed)
        await story.tell("again")
