"""The two links of a board with the design ``pair``, for test_pair_whole.py."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from support.boards.link_console import Console
from support.boards.link_steps import WindowsOf, enable, run_traffic, wait_until_up
from ualink_boards.designs.pair import LINKS
from ualink_boards.link_pair import BIT_CYCLES

JOB = json.loads(Path(os.environ["PAIR"]).read_text())
"""``registers`` of the design as ``RegisterDesign.to_dict`` gives them; ``results``: where findings go, ``requests``
of each link and run, ``cut``: the lane that is cut at the end."""
CLOCK_FS = 8_000_000


@cocotb.test()
async def two_links(dut):
    """Both come up over the plugs, fill each other's memory and check it, and notice when a lane of one is cut."""
    Clock(dut.clk, CLOCK_FS, unit="fs").start()
    dut.cut.value = 0
    dut.rst.value = 1
    console = Console(dut.rx, dut.tx, CLOCK_FS * BIT_CYCLES, JOB["registers"])
    await ClockCycles(dut.clk, 16)
    dut.rst.value = 0
    links = [WindowsOf(console, name) for name in LINKS]
    for step in (enable, wait_until_up):
        for link in links:
            await step(link)
    found = {"up": int(dut.leds.value)}
    for number, link in enumerate(links):
        # Before the first Request of the other one comes.
        await link.write("traffic.identity", own=1 + number)
    for verify in (0, 1):
        for number, link in enumerate(links):
            await run_traffic(link, number, JOB["requests"], size=3, verify=verify, check=verify)
        for link in links:
            await link.until("traffic.run", "end of the run", start=0)
    found["traffic"] = [await link.counters("traffic") for link in links]
    found["phy"] = [await link.counters("phy") for link in links]
    dut.cut.value = 1 << JOB["cut"]
    for link in links:
        await link.until("dl.link_status", "link down", online=0)
    found["aligned"] = [(await link.read("phy.status"))["aligned"] for link in links]
    found["down"] = int(dut.leds.value)
    Path(JOB["results"]).write_text(json.dumps(found))
