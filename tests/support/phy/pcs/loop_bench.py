"""PCSs with lanes between them, or back to themselves: what is sent, and what has to come out."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from support.phy.pcs.bench_top import FRAMING, MATCHING, NARROW, PORTS, WIDTHS
from support.phy.pcs.loop_wire import Wire
from ualink_sim.model.phy import pcs as model

__all__ = [
    "DATA",
    "IDLE",
    "INTERVAL",
    "MARKER_BLOCKS",
    "REMOTE_FAULT",
    "SLOT",
    "Bench",
    "as_received",
    "begin",
    "setting",
    "story",
]

IDLE, REMOTE_FAULT = 0x79, 0x0800012D
DATA = 2
MARKER_BLOCKS, INTERVAL, SLOT = FRAMING["marker_blocks"], FRAMING["marker_interval"], 80
SYNC_PS = 40_000
WAYS = ("tx", "rx")
LANE_PS = {1: 1_920, 2: 7_000, 4: 6_000}
"""Periods at which the core has some tenths more than the lanes take; 200 ppm faster they are half of the time."""
SHORT_WORDS = bool(os.environ.get("SHORT_WORDS"))
"""The PCSs are those with fewer than eight blocks a word, whose lanes are slower by as much."""


def control(start: bool, fault: bool) -> list[int]:
    """An Idle or a Fault flit, or one with a Start."""
    filler = REMOTE_FAULT if fault else IDLE
    return [model.START_BLOCK] * 8 * start + [filler] * (SLOT - 8 * start)


def as_received(sent: list[int]) -> list[int]:
    """The blocks that the partner's reconciliation sublayer gets."""
    expected, since = [], MARKER_BLOCKS
    for n, block in enumerate(sent):
        if n % 8 == 0 and sent[n : n + 8] == [model.START_BLOCK] * 8:
            since = 0
        expected.append(model.ALIGNMENT_BLOCK if since < MARKER_BLOCKS else block)
        since += 1
    return expected


class Bench:
    """A PCS whose lanes come back to itself, or go to ``partner``. ``matching``: that of one lane whose reconciliation
    sublayer has a clock of its own, locked to the lane that is sent."""

    def __init__(
        self, dut, lanes: int, seed: int, *, crossed=None, delays=None, faster: int = 0, matching: bool = False
    ):
        self.rng = random.Random(seed)
        self.dut, self.lanes, self.width = dut, lanes, WIDTHS[lanes]
        self.blocks = NARROW[lanes] if SHORT_WORDS else 8
        self.port = MATCHING if matching else f"{'narrow' if SHORT_WORDS else 'x'}{lanes}"
        self.partner = self
        self.source = crossed or list(range(lanes))
        self.wires = [Wire(self.rng, delay) for delay in delays or [3] * lanes]
        period = LANE_PS[lanes] * 8 // self.blocks
        self.period = period - period * faster // 1_000_000
        self.sent: list[int] = []
        self.beats: list[list[int]] = []
        self.aligned: list[bool] = []
        self.slots = 0
        self.cycles = 0
        """Of the reconciliation sublayer."""
        self.offers = True
        self.clocked = (1 << lanes) - 1
        """Lanes that have a receive clock."""
        self.data = self.random_flit
        self.tasks: list = []

    def signal(self, name: str):
        return getattr(self.dut, f"{self.port}__{name}")

    def read(self, name: str) -> int:
        return int(self.signal(name).value)

    def lane(self, n: int, name: str) -> int:
        return self.read(f"lane__{n}__{name}")

    def random_flit(self) -> list[int]:
        return [DATA | self.rng.getrandbits(64) << 2 for _ in range(SLOT)]

    def next_slot(self) -> list[int]:
        number, self.slots = self.slots, self.slots + 1
        if number % INTERVAL == 0:
            return control(True, number % (3 * INTERVAL) == 0)
        return self.data()

    async def begin(self):
        await begin(self)
        return self

    @property
    def core_clock(self):
        """The clock of the reconciliation sublayer."""
        return self.signal("rs_clock") if self.port == MATCHING else self.dut.clk

    def end(self):
        for task in self.tasks:
            task.cancel()

    async def run_lanes(self):
        """What is sent, to the partner."""
        everything = (1 << self.lanes) - 1
        tx = [self.signal(f"lanes__{n}__tx_data") for n in range(self.lanes)]
        rx = [self.partner.signal(f"lanes__{n}__rx_data") for n in range(self.lanes)]
        high, low = self.period // 2, self.period - self.period // 2
        tx_clock, rx_clock = self.signal("tx_clock"), self.partner.signal("rx_clock")
        while True:
            tx_clock.value, rx_clock.value = everything, 0
            await Timer(high, "ps")
            for n, wire in enumerate(self.wires):
                wire.push(int(tx[self.source[n]].value), self.width)
                rx[n].value = wire.pop(self.width)
            tx_clock.value = 0
            await Timer(1, "ps")
            rx_clock.value = self.clocked
            await Timer(low - 1, "ps")

    async def run_core(self):
        waiting: list[list[int]] = []
        sent, valid = self.signal("sent"), self.signal("sent_valid")
        ready = self.signal("sent_ready")
        received, arrived, aligned = self.signal("received"), self.signal("received_valid"), self.signal("aligned")
        offered = None
        while True:
            await FallingEdge(self.core_clock)
            self.cycles += 1
            if int(arrived.value):
                word = int(received.value)
                self.beats.append([word >> 66 * n & (1 << 66) - 1 for n in range(self.blocks)])
                self.aligned.append(bool(int(aligned.value)))
            if offered is None and self.offers:
                if not waiting:
                    slot = self.next_slot()
                    waiting = [slot[n : n + self.blocks] for n in range(0, SLOT, self.blocks)]
                offered = waiting.pop(0)
                sent.value = sum(block << 66 * n for n, block in enumerate(offered))
                valid.value = 1
            elif offered is None:
                valid.value = 0
            # What is offered here is taken by the next rising edge, if there is room by then.
            await Timer(1, "ps")
            if offered is not None and int(ready.value):
                self.sent += offered
                offered = None

    async def slots_later(self, slots: int):
        """Wait until so many slots more have been taken."""
        goal = len(self.sent) + slots * SLOT
        for _ in range(100 * slots + 1000):
            if len(self.sent) >= goal:
                return
            await Timer(SYNC_PS, "ps")
        raise AssertionError(f"{len(self.sent)} of {goal} blocks taken")

    async def clear(self):
        """Clear counters and sticky bits, for one cycle."""
        await FallingEdge(self.dut.clk)
        self.signal("clear").value = 1
        await FallingEdge(self.dut.clk)
        self.signal("clear").value = 0

    async def until(self, what, limit: int = 4000):
        for _ in range(limit):
            if what():
                return
            await FallingEdge(self.dut.clk)
        raise AssertionError("it did not come")

    async def until_aligned(self):
        names = ("ready", "block_lock", "marker_lock", "number", "skew", "overflow")
        try:
            await self.until(lambda: self.read("aligned"))
        except AssertionError:
            found = [{name: self.lane(n, name) for name in names} for n in range(self.lanes)]
            raise AssertionError(f"not aligned: running {self.read('running')}, {found}") from None

    def stretches(self) -> list[list[int]]:
        """What was received in one piece, between Local Faults: all of it, whatever else."""
        found: list[list[int]] = [[]]
        for beat in self.beats:
            if beat == [model.LOCAL_FAULT_BLOCK] * self.blocks:
                if found[-1]:
                    found.append([])
            else:
                assert model.LOCAL_FAULT_BLOCK not in beat
                found[-1] += beat
        return [stretch for stretch in found if stretch]

    def place(self, stretch: list[int], sent: list[int] | None = None) -> int:
        """Where in what was ``sent``, by this one if not told, a stretch stands that is right in every block, but for
        the first after its marker, which the descrambler cannot know."""
        expected = as_received(self.sent if sent is None else sent)
        for at in range(0, len(expected), 8):
            there = expected[at : at + len(stretch)]
            if (
                there[:MARKER_BLOCKS] == stretch[:MARKER_BLOCKS]
                and there[MARKER_BLOCKS + 1 :] == stretch[MARKER_BLOCKS + 1 :]
            ):
                return at
        raise AssertionError(f"{len(stretch)} blocks that nobody sent so")

    def in_bits(self, words: list[int]) -> list[int]:
        return [word >> n & 1 for word in words for n in range(self.width)]


async def begin(*benches: Bench) -> None:
    """Reset, then let lanes and cores run."""
    dut = benches[0].dut
    dut.rst.value = 1
    for port in PORTS:
        for name in ("sent_valid", "ber_monitor", "clear", "tx_clock", "rx_clock", "rs_clock"):
            getattr(dut, f"{port}__{name}").value = 0
    benches[0].tasks.append(cocotb.start_soon(Clock(dut.clk, SYNC_PS, "ps").start()))
    readies = [
        bench.signal(f"lanes__{n}__{way}_ready") for bench in benches for n in range(bench.lanes) for way in WAYS
    ]
    for ready in readies:
        ready.value = 0
    for bench in benches:
        if bench.port == MATCHING:
            # A beat in the time in which the lane sends one.
            beat = bench.period * 8 * 66 // bench.width
            bench.tasks.append(cocotb.start_soon(Clock(bench.core_clock, beat + beat % 2, "ps").start()))
        bench.tasks.append(cocotb.start_soon(bench.run_lanes()))
    for _ in range(20):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    for bench in benches:
        bench.tasks.append(cocotb.start_soon(bench.run_core()))
    for ready in readies:
        ready.value = 1


def story(function):
    """Runs a story for each number of lanes in ``LANES``."""

    @cocotb.test(name=function.__name__)
    async def run(dut):
        for lanes in (int(text) for text in os.environ["LANES"].split(",")):
            await function(dut, lanes)

    return run


def setting(lanes: int, seed: int) -> dict:
    """Crossed lanes, delays up to 32 blocks apart, any bit phase."""
    rng = random.Random(f"{lanes} {seed}")
    crossed = rng.sample(range(lanes), lanes)
    delays = [rng.randrange(66, 32 * 66) for _ in range(lanes)]
    # The full range between two of them.
    delays[0], delays[-1] = (delays[0], delays[0]) if lanes == 1 else (66 + 7, 33 * 66)
    return {"crossed": crossed, "delays": delays, "faster": rng.choice((0, 200))}
