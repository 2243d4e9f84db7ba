"""Hostile streams of blocks, and the receive side of the reconciliation sublayer driven with them."""

import random

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out
from amaranth.sim import Simulator

from ualink.config import PhyConfig
from ualink.phy.beat_joiner import BeatJoiner
from ualink.phy.interface import RX_BEAT_LAYOUT, SlotStatus
from ualink.phy.rs_receive import RSReceive
from ualink_sim.model.phy import rs_blocks as codes
from ualink_sim.model.phy.rs_receive import Heard, Received

INVALID = (0b00, 0b11)
HEARD = {SlotStatus.GOOD: Heard.GOOD, SlotStatus.BAD: Heard.BAD, SlotStatus.CONTROL: Heard.CONTROL}


def spoilt(block: int, rng: random.Random) -> int:
    """The block with a sync header that is none."""
    return block & ~3 | rng.choice(INVALID)


def data_block(rng: random.Random) -> int:
    """Any data block."""
    return 0b10 | rng.getrandbits(64) << 2


def reserved(rng: random.Random) -> int:
    """A control block that UALink does not use: another type, or an ordered set with another meaning."""
    kind = rng.randrange(3)
    if kind == 0:
        return codes.control(rng.choice((0x2D, 0x33, 0x66, 0x55, 0x87, 0xFF, 0x00, 0xB4)), *rng.randbytes(7))
    if kind == 1:
        d1, d2, d3 = rng.choice(((0, 0, 0), (0, 0, 4), (1, 0, 1), (0, 1, 2), (0, 0, 0xFF), (0x80, 0, 2), (0, 0, 0x81)))
        return codes.control(0x4B, d1, d2, d3, 0, 0, 0, 0)
    # A signal ordered set.
    return codes.control(0x4B, 0, 0, rng.choice((1, 2)), 0xF, 0, 0, 0)


def hostile(rng: random.Random, blocks: int):
    """Traffic as a partner would send it, and everything else between and within it."""
    faults = (codes.LOCAL_FAULT, codes.REMOTE_FAULT, codes.LINK_INTERRUPTION)
    sent = 0
    while sent < blocks:
        kind = rng.choices(range(11), (14, 6, 4, 4, 3, 3, 3, 3, 2, 2, 2))[0]
        if kind == 0:
            part = codes.data_flit(rng.randbytes(640))
        elif kind == 1:
            part = [codes.IDLE] * rng.randrange(1, 80)
        elif kind == 2:
            part = codes.alignment_flit([rng.choice((codes.IDLE, *faults))] * 80, rng.choice((100, 200, 400, 800)))
            part = part[: rng.choice((80, 80, rng.randrange(1, 80)))]
        elif kind == 3:
            part = codes.data_flit(rng.randbytes(640))
            for _ in range(rng.choice((1, 1, 2, 40))):
                n = rng.randrange(80)
                part[n] = spoilt(part[n], rng)
        elif kind == 4:
            part = codes.data_flit(rng.randbytes(640))
            for _ in range(rng.choice((1, 1, 3))):
                n = rng.randrange(80)
                part[n] = rng.choice((codes.IDLE, codes.ERROR, codes.START, codes.ALIGNMENT, reserved(rng), *faults))
        elif kind == 5:
            part = codes.data_flit(rng.randbytes(640))[: rng.randrange(1, 80)]
        elif kind == 6:
            part = [spoilt(rng.getrandbits(66), rng) for _ in range(rng.choice((1, 3, 80, 84, 160)))]
        elif kind == 7:
            part = [rng.choice(faults)] * rng.randrange(1, 12) + [codes.IDLE] * rng.choice((0, 1, 124, 127, 128, 129))
        elif kind == 8:
            choice = (codes.IDLE, data_block(rng), spoilt(0, rng), reserved(rng), codes.ALIGNMENT, *faults)
            part = [rng.choice(choice) for _ in range(rng.randrange(1, 40))]
        elif kind == 9:
            part = [codes.IDLE] * rng.choice((80, 320, 700))
        else:
            part = [reserved(rng) for _ in range(rng.randrange(1, 100))]
        yield from part
        sent += len(part)


def packed(blocks: list[int]) -> int:
    """Blocks as the payload of a word."""
    return sum(block << 66 * n for n, block in enumerate(blocks))


def unpacked(payload: int, size: int = 8) -> list[int]:
    """The blocks in the payload of a word of ``size``."""
    return [payload >> 66 * n & (1 << 66) - 1 for n in range(size)]


class Receiver(wiring.Component):
    """An ``RSReceive`` that gives beats, whatever its blocks per word are."""

    def __init__(self, config: PhyConfig):
        self.size = config.blocks_per_word
        self._receive = RSReceive(config)
        self._joiner = BeatJoiner(self.size) if self.size < 8 else None
        members = self._receive.signature.members
        super().__init__(
            {
                "blocks": members["blocks"],
                "link_fault": members["link_fault"],
                "beat": Out(stream.Signature(RX_BEAT_LAYOUT, always_ready=True)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.receive = receive = self._receive
        beat = receive.beat
        if self._joiner is not None:
            m.submodules.joiner = self._joiner
            wiring.connect(m, receive.beat, self._joiner.word)
            beat = self._joiner.beat
        m.d.comb += [
            receive.blocks.valid.eq(self.blocks.valid),
            receive.blocks.p.eq(self.blocks.p),
            self.link_fault.eq(receive.link_fault),
            self.beat.valid.eq(beat.valid),
            self.beat.p.eq(beat.p),
        ]
        return m


class Beats:
    """Slots out of beats to the DL, as the DL takes them: ``first`` begins anew, ``last`` ends."""

    def __init__(self):
        self.slots: list[Received] = []
        self.since_last: list[int] = []
        self.since_beat: list[int] = []
        """Cycles from ``last`` to ``last``, and from any beat to the next one."""
        self._beats: list[int] = []
        self._open = False
        self._ended = self._came = -1000

    def take(self, beat, cycle: int) -> None:
        """One valid beat, in that cycle."""
        self.since_beat.append(cycle - self._came)
        self._came = cycle
        if beat.first:
            self._beats, self._open = [], True
        assert self._open
        self._beats.append(beat.data)
        if not beat.last:
            return
        self._open = False
        self.since_last.append(cycle - self._ended)
        self._ended = cycle
        heard = HEARD[SlotStatus(beat.status)]
        if heard is Heard.GOOD:
            assert len(self._beats) == 10
            self.slots.append(Received(heard, b"".join(data.to_bytes(64, "little") for data in self._beats)))
        else:
            assert len(self._beats) in (1, 10) and (heard is Heard.CONTROL or len(self._beats) == 10)
            self.slots.append(Received(heard))


def run(dut, testbench, *processes) -> None:
    """Simulate until ``testbench`` is done."""
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    for process in processes:
        simulator.add_testbench(process, background=True)
    simulator.run()


def receive(dut, blocks: list[int], rng: random.Random | None = None, gaps: float = 0.0):
    """Bring ``blocks`` to a ``Receiver``; returns its slots, and ``link_fault`` after each eighth block."""
    got, faults, pending, size = Beats(), [], [], dut.size
    blocks = blocks + [codes.IDLE] * (-len(blocks) % 8)

    async def testbench(ctx):
        cycle = 0

        async def step():
            nonlocal cycle
            await ctx.tick()
            cycle += 1
            if ctx.get(dut.beat.valid):
                got.take(ctx.get(dut.beat.p), cycle)
            if pending and pending[0] == cycle:
                pending.pop(0)
                faults.append(int(ctx.get(dut.link_fault).value))

        for n in range(0, len(blocks), size):
            while rng and rng.random() < gaps:
                ctx.set(dut.blocks.valid, 0)
                await step()
            ctx.set(dut.blocks.valid, 1)
            ctx.set(dut.blocks.p.blocks.as_value(), packed(blocks[n : n + size]))
            if (n + size) % 8 == 0:
                pending.append(cycle + (3 if size == 8 else 2))
            await step()
        ctx.set(dut.blocks.valid, 0)
        for _ in range(6):
            await step()

    run(dut, testbench)
    return got, faults
