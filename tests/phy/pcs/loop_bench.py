"""Stories of ``test_loop``: what is sent, the lanes in between, what has to come out."""

import os
import random
from collections import Counter

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from phy.pcs.bench_top import FRAMING, WIDTHS
from ualink_sim.model import phy_pcs as model

IDLE, REMOTE_FAULT = 0x79, 0x0800012D
DATA = 2
MARKER_BLOCKS, INTERVAL, SLOT = FRAMING["marker_blocks"], FRAMING["marker_interval"], 80
SPREAD = 2_400
"""Blocks of all lanes over which bad headers are spread: with the way to the next marker less than a window of the bit
error rate monitor."""
assert SPREAD + (INTERVAL + 1) * SLOT + 4 * 2 * FRAMING["max_skew"] < FRAMING["ber_window"]
SYNC_PS = 40_000
LANE_PS = {1: 1_920, 2: 7_000, 4: 6_000}
"""Periods at which the core has some tenths more than the lanes take; 200 ppm faster they are half of the time."""


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


class Wire:
    """Bits on their way from one lane's serialiser to another's deserialiser."""

    def __init__(self, rng: random.Random, delay: int):
        self.bits = rng.getrandbits(delay) if delay else 0
        self.count = delay
        self.into = 0
        self.given: list[int] = []
        self.taken: list[int] = []
        self.flips: set[int] = set()
        self.lost: set[int] = set()
        """Bits that are flipped and left out, by their number among those that came in."""

    def push(self, word: int, width: int) -> None:
        self.taken.append(word)
        for n in range(width):
            at = self.into
            self.into += 1
            if at not in self.lost:
                self.bits |= (word >> n & 1 ^ (at in self.flips)) << self.count
                self.count += 1

    def pop(self, width: int) -> int:
        word = self.bits & (1 << width) - 1
        self.bits >>= width
        self.count -= width
        self.given.append(word)
        return word


class Bench:
    """A PCS whose lanes come back to itself."""

    def __init__(self, dut, lanes: int, seed: int, *, crossed=None, delays=None, faster: int = 0):
        self.rng = random.Random(seed)
        self.dut, self.lanes, self.width = dut, lanes, WIDTHS[lanes]
        self.source = crossed or list(range(lanes))
        self.wires = [Wire(self.rng, delay) for delay in delays or [3] * lanes]
        self.period = LANE_PS[lanes] - LANE_PS[lanes] * faster // 1_000_000
        self.sent: list[int] = []
        self.beats: list[list[int]] = []
        self.aligned: list[bool] = []
        self.slots = 0
        self.offers = True
        self.clocked = (1 << lanes) - 1
        """Lanes that have a receive clock."""
        self.data = self.random_flit
        self.tasks: list = []

    def signal(self, name: str):
        return getattr(self.dut, f"x{self.lanes}__{name}")

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
        self.dut.rst.value = 1
        for lanes in WIDTHS:
            for name in ("sent_valid", "ber_monitor", "clear", "tx_clock", "rx_clock"):
                getattr(self.dut, f"x{lanes}__{name}").value = 0
        for n in range(self.lanes):
            self.signal(f"lanes__{n}__tx_ready").value = 0
            self.signal(f"lanes__{n}__rx_ready").value = 0
        self.tasks.append(cocotb.start_soon(Clock(self.dut.clk, SYNC_PS, "ps").start()))
        self.tasks.append(cocotb.start_soon(self.run_lanes()))
        for _ in range(20):
            await FallingEdge(self.dut.clk)
        self.dut.rst.value = 0
        self.tasks.append(cocotb.start_soon(self.run_core()))
        for n in range(self.lanes):
            self.signal(f"lanes__{n}__tx_ready").value = 1
            self.signal(f"lanes__{n}__rx_ready").value = 1
        return self

    def end(self):
        for task in self.tasks:
            task.cancel()

    async def run_lanes(self):
        everything = (1 << self.lanes) - 1
        tx = [self.signal(f"lanes__{n}__tx_data") for n in range(self.lanes)]
        rx = [self.signal(f"lanes__{n}__rx_data") for n in range(self.lanes)]
        high, low = self.period // 2, self.period - self.period // 2
        tx_clock, rx_clock = self.signal("tx_clock"), self.signal("rx_clock")
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
            await FallingEdge(self.dut.clk)
            if int(arrived.value):
                word = int(received.value)
                self.beats.append([word >> 66 * n & (1 << 66) - 1 for n in range(8)])
                self.aligned.append(bool(int(aligned.value)))
            if offered is None and self.offers:
                if not waiting:
                    slot = self.next_slot()
                    waiting = [slot[n : n + 8] for n in range(0, SLOT, 8)]
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
            if beat == [model.LOCAL_FAULT_BLOCK] * 8:
                if found[-1]:
                    found.append([])
            else:
                assert model.LOCAL_FAULT_BLOCK not in beat
                found[-1] += beat
        return [stretch for stretch in found if stretch]

    def place(self, stretch: list[int]) -> int:
        """Where in what was sent a stretch stands that is right in every block, but for the first after its marker,
        which the descrambler cannot know."""
        expected = as_received(self.sent)
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


@story
async def sends_what_the_model_sends(dut, lanes):
    bench = await Bench(dut, lanes, 1).begin()
    await bench.slots_later(4 * INTERVAL)
    bench.end()
    assert bench.read("underflow") == 0
    for n, bits in enumerate(model.transmit(bench.sent, lanes, MARKER_BLOCKS)):
        sent = "".join(map(str, bench.in_bits(bench.wires[n].taken)))
        whole = "".join(map(str, bits))
        at = sent.find(whole[: 66 * 10])
        assert at >= 0, f"lane {n}"
        assert len(sent) - at > 3 * INTERVAL * SLOT * 66 // lanes
        assert whole.startswith(sent[at:]) or sent[at:].startswith(whole), f"lane {n}"


@story
async def receives_over_crossed_and_late_lanes(dut, lanes):
    chosen = setting(lanes, 2)
    bench = await Bench(dut, lanes, 2, **chosen).begin()
    await bench.until_aligned()
    assert set(map(tuple, bench.beats)) == {(model.LOCAL_FAULT_BLOCK,) * 8}
    await bench.slots_later(4 * INTERVAL)
    bench.end()
    (stretch,) = bench.stretches()
    assert len(stretch) > 3 * INTERVAL * SLOT
    bench.place(stretch)
    assert stretch[:MARKER_BLOCKS] == [model.ALIGNMENT_BLOCK] * MARKER_BLOCKS
    # The rest of the marker's slot is as the partner sent it.
    assert Counter(stretch).keys() >= {IDLE, REMOTE_FAULT}
    waited = [bench.lane(n, "skew") for n in range(lanes)]
    for n in range(lanes):
        status = {
            name: bench.lane(n, name) for name in ("ready", "block_lock", "marker_lock", "overflow", "bad_headers")
        }
        assert status == {"ready": 1, "block_lock": 1, "marker_lock": 1, "overflow": 0, "bad_headers": 0}
        assert bench.lane(n, "number") == chosen["crossed"][n]
        late = (chosen["delays"][n] - chosen["delays"][0]) / 66
        # Told to a share of a beat, and as seen by two clocks.
        assert abs(waited[0] - waited[n] - late) <= 2 * 8 // lanes, (waited, chosen)


@story
async def follows_damage_as_the_model_does(dut, lanes):
    """Bits flipped at random, headers and markers too: what comes out is what the model makes of the same bits."""
    bench = await Bench(dut, lanes, 3, **setting(lanes, 3)).begin()
    await bench.until_aligned()
    for wire in bench.wires:
        first = wire.into
        wire.flips = {first + n for n in range(40_000) if bench.rng.random() < 1 / 700}
    await bench.slots_later(5 * INTERVAL)
    bench.end()
    (stretch,) = bench.stretches()
    expected = model.receive([bench.in_bits(wire.given) for wire in bench.wires], MARKER_BLOCKS, INTERVAL)
    assert sum(wire.into > min(wire.flips) for wire in bench.wires) == lanes
    starts = [n for n in range(0, len(expected), 8) if expected[n : n + 8] == [model.ALIGNMENT_BLOCK] * 8]
    assert any(
        expected[at : at + len(stretch)][MARKER_BLOCKS + 1 :] == stretch[MARKER_BLOCKS + 1 : len(expected) - at]
        for at in starts
        if at + len(stretch) > len(expected) - SLOT * INTERVAL
    )
    assert any(block & 3 in (0, 3) for block in stretch)
    marks = [n for n in range(len(stretch)) if stretch[n : n + 8] == [model.ALIGNMENT_BLOCK] * 8]
    assert {n % (SLOT * INTERVAL) for n in marks} == set(range(MARKER_BLOCKS - 7))


def marker_bits(bench: Bench, n: int, count: int) -> list[int]:
    """The first bits of the next ``count`` markers that come into wire ``n``, given that it has been quiet so far."""
    bits = "".join(map(str, bench.in_bits(bench.wires[n].taken)))
    marker = model.lane_marker(bench.source[n], bench.lanes, 0)
    last = bits.rfind("".join(str(marker >> at & 1) for at in range(66)))
    distance = 66 * SLOT * INTERVAL // bench.lanes
    return [last + distance * k for k in range(1, count + 1)]


@story
async def four_missing_markers_are_overwritten_all_the_same(dut, lanes):
    bench = await Bench(dut, lanes, 4, **setting(lanes, 4)).begin()
    await bench.until_aligned()
    await bench.slots_later(1)
    wire = bench.wires[-1]
    wire.flips = {at + 10 for at in marker_bits(bench, lanes - 1, 5)[1:]}
    await bench.slots_later(7 * INTERVAL)
    bench.end()
    (stretch,) = bench.stretches()
    assert len(stretch) > 6 * SLOT * INTERVAL
    bench.place(stretch)


@story
async def five_missing_markers_lose_the_lock(dut, lanes):
    bench = await Bench(dut, lanes, 5, **setting(lanes, 5)).begin()
    await bench.until_aligned()
    await bench.slots_later(1)
    wire = bench.wires[0]
    wire.flips = {at + 10 for at in marker_bits(bench, 0, 6)[1:]}
    await bench.slots_later(6 * INTERVAL)
    await bench.until(lambda: not bench.read("aligned"))
    await bench.until_aligned()
    await bench.slots_later(2 * INTERVAL)
    bench.end()
    first, second = bench.stretches()
    assert 5 * SLOT * INTERVAL <= len(first) + 8 * 6 <= 7 * SLOT * INTERVAL
    bench.place(first)
    bench.place(second)


@story
async def a_slip_is_noticed_and_healed(dut, lanes):
    """One bit of a lane is left out: garbage until the sync headers tell, then Local Fault, then all is well again."""
    bench = await Bench(dut, lanes, 6, **setting(lanes, 6)).begin()
    await bench.until_aligned()
    await bench.slots_later(INTERVAL + 1)
    bench.wires[-1].lost = {bench.wires[-1].into + 1000}
    await bench.until(lambda: not bench.read("aligned"))
    await bench.until_aligned()
    await bench.slots_later(2 * INTERVAL)
    bench.end()
    first, second = bench.stretches()
    bench.place(second)
    bench.place(first[: SLOT * INTERVAL])
    # 65 bad headers are half of 130 blocks of that lane; and what is on its way.
    assert len(first) < (2 * INTERVAL + 1) * SLOT + 300 * lanes


@story
async def a_lane_without_signal_is_a_local_fault(dut, lanes):
    bench = await Bench(dut, lanes, 7, **setting(lanes, 7)).begin()
    await bench.until_aligned()
    await bench.slots_later(INTERVAL)
    # Without a signal there may be no recovered clock either.
    bench.signal(f"lanes__{lanes - 1}__rx_ready").value = 0
    bench.clocked = (1 << lanes - 1) - 1
    await bench.until(lambda: not bench.read("aligned"), limit=12)
    assert bench.lane(lanes - 1, "ready") == 0
    before = len(bench.beats)
    await bench.slots_later(INTERVAL)
    assert set(map(tuple, bench.beats[before + 2 :])) == {(model.LOCAL_FAULT_BLOCK,) * 8}
    bench.clocked = (1 << lanes) - 1
    await bench.slots_later(1)
    bench.signal(f"lanes__{lanes - 1}__rx_ready").value = 1
    await bench.until_aligned()
    await bench.slots_later(2 * INTERVAL)
    bench.end()
    for stretch in bench.stretches():
        bench.place(stretch)
    assert len(bench.stretches()) == 2


@story
async def bad_headers_are_counted_and_many_are_a_fault(dut, lanes):
    """96 bad headers in a window are none, 97 are a high bit error rate; a Local Fault only if asked for."""
    bench = await Bench(dut, lanes, 8, **setting(lanes, 8)).begin()
    for asked, count in ((0, 120), (1, 96), (1, 97)):
        bench.signal("ber_monitor").value = 0
        await bench.until_aligned()
        await bench.slots_later(2)
        await bench.clear()
        bench.signal("ber_monitor").value = asked
        # First header bits behind the next marker, all in one window, spread so that no lane loses its block lock, and
        # few of them in markers.
        starts = [marker_bits(bench, n, 1)[0] for n in range(lanes)]
        for n, wire in enumerate(bench.wires):
            blocks = (23 + k * SPREAD // lanes // count for k in range(n, count, lanes))
            wire.flips = {starts[n] + 66 * block for block in blocks}
        goal = max(max(wire.flips) for wire in bench.wires) + 66 * 100
        before = len(bench.beats)
        await bench.until(lambda goal=goal: min(wire.into for wire in bench.wires) > goal)
        assert sum(bench.lane(n, "bad_headers") for n in range(lanes)) == count
        assert bench.lane(0, "bad_headers") == -(-count // lanes)
        faults = [beat for beat in bench.beats[before:] if model.LOCAL_FAULT_BLOCK in beat]
        assert bool(faults) == (asked and count == 97)
        assert bench.read("hi_ber") == (asked and count == 97)
        assert bench.read("aligned") == 1
    await bench.until(lambda: not bench.read("hi_ber"))
    bench.end()


@story
async def too_much_skew_is_never_taken_for_alignment(dut, lanes):
    if lanes == 1:
        return
    delays = [66] * lanes
    delays[-1] += 66 * SLOT * INTERVAL // lanes // 2
    bench = await Bench(dut, lanes, 9, delays=delays).begin()
    await bench.slots_later(6 * INTERVAL)
    bench.end()
    assert set(map(tuple, bench.beats)) == {(model.LOCAL_FAULT_BLOCK,) * 8}
    assert all(bench.lane(n, "marker_lock") for n in range(lanes))


@story
async def two_lanes_of_the_same_number_are_never_aligned(dut, lanes):
    if lanes == 1:
        return
    bench = await Bench(dut, lanes, 10, crossed=[0, *range(lanes - 1)]).begin()
    await bench.slots_later(5 * INTERVAL)
    bench.end()
    assert set(map(tuple, bench.beats)) == {(model.LOCAL_FAULT_BLOCK,) * 8}
    assert [bench.lane(n, "number") for n in range(lanes)] == [0, *range(lanes - 1)]


@story
async def a_core_that_stops_is_told_and_all_lanes_begin_anew(dut, lanes):
    bench = await Bench(dut, lanes, 11, **setting(lanes, 11)).begin()
    await bench.until_aligned()
    await bench.slots_later(INTERVAL)
    assert bench.read("underflow") == 0
    bench.offers = False
    await bench.until(lambda: bench.read("underflow"))
    await bench.until(lambda: not bench.read("aligned"))
    assert bench.read("running") == 0
    bench.offers = True
    await bench.until_aligned()
    await bench.slots_later(2 * INTERVAL)
    assert bench.read("underflow") != 0 and bench.read("running") == 1
    await bench.clear()
    await bench.slots_later(1)
    bench.end()
    assert bench.read("underflow") == 0
    bench.place(bench.stretches()[-1])


@story
async def lanes_begin_together_once_all_are_ready(dut, lanes):
    bench = await Bench(dut, lanes, 12, **setting(lanes, 12)).begin()
    await bench.until_aligned()
    await bench.slots_later(INTERVAL)
    bench.signal(f"lanes__{lanes - 1}__tx_ready").value = 0
    await bench.until(lambda: not bench.read("running"))
    await bench.until(lambda: not bench.read("aligned"))
    assert bench.read("tx_ready") == (1 << lanes - 1) - 1
    sent = len(bench.sent)
    for _ in range(200):
        await FallingEdge(dut.clk)
    # What the FIFOs hold has been taken, no more.
    assert len(bench.sent) - sent <= 8 * 30
    bench.signal(f"lanes__{lanes - 1}__tx_ready").value = 1
    await bench.until_aligned()
    await bench.slots_later(2 * INTERVAL)
    bench.end()
    assert bench.read("underflow") == 0
    bench.place(bench.stretches()[-1])


@story
async def data_that_look_like_markers_mislead_nobody(dut, lanes):
    """Blocks that become a marker by scrambling: while the locks are sought, one in each interval, never twice at the
    distance of markers; then at just that distance, at any other, and with another lane's number."""
    bench = Bench(dut, lanes, 13, **setting(lanes, 13))
    scrambler = model.Scrambler()
    original = bench.next_slot
    false = 0

    def data() -> list[int]:
        nonlocal false
        interval, slot = divmod(bench.slots - 1, INTERVAL)
        places = {60 - 7 * (interval % 8)} if slot == 2 else set()
        if bench.read("aligned"):
            places = {40, bench.rng.randrange(SLOT), bench.rng.randrange(SLOT)}
        false += len(places)
        return hostile(bench, scrambler, places)

    def next_slot() -> list[int]:
        blocks = original()
        if blocks[0] == model.START_BLOCK:
            for block in blocks[MARKER_BLOCKS:]:
                scrambler.block(block)
        return blocks

    bench.data, bench.next_slot = data, next_slot
    await bench.begin()
    await bench.until_aligned()
    assert false > 1
    await bench.slots_later(7 * INTERVAL)
    bench.end()
    (stretch,) = bench.stretches()
    assert len(stretch) > 6 * INTERVAL * SLOT
    bench.place(stretch)
    carried = [block for lane in model.lane_blocks(bench.sent, lanes, MARKER_BLOCKS) for block in lane]
    looks = sum(block == model.lane_marker(lane, lanes, 0) for block in carried for lane in range(lanes))
    # All of them were sent but those of the last slot; and the markers themselves.
    assert looks >= false - 3 > 2 * 5 * INTERVAL


def hostile(bench: Bench, scrambler: model.Scrambler, places: set[int]) -> list[int]:
    """A slot with blocks that the scrambler makes a marker of, of any lane, at ``places``."""
    blocks = []
    for n in range(SLOT):
        if n not in places:
            block = DATA | bench.rng.getrandbits(64) << 2
            scrambler.block(block)
        else:
            # A control block like the marker, so its type is any: the PCS does not look at it.
            wanted = model.lane_marker(bench.rng.randrange(bench.lanes), bench.lanes, 0)
            clear = model.Descrambler()
            clear.sent = list(scrambler.sent)
            block = clear.block(wanted)
            scrambler.sent = clear.sent
        blocks.append(block)
    return blocks
