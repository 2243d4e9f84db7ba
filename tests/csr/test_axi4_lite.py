"""AXI4-Lite before a register bus: each access gets one answer, whatever manager and registers do."""

from itertools import pairwise
from random import Random

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from support.csr.target import Target
from support.formal import prove
from ualink.csr.axi4_lite import AXI4LiteRegisters, AXI4LiteSignature
from ualink.csr.table import BusSignature

OKAY, SLVERR, DECERR = 0, 2, 3
WORDS, FAULTY = 24, {3, 17}


class Manager:
    """Drives each channel by itself, ``eager`` being the chance of doing something in a cycle; each coroutine goes
    through ``writes`` of (byte address, word, strobes) or ``reads`` of byte addresses."""

    def __init__(self, axi, seed: int, eager: float):
        self.axi, self.eager = axi, eager
        self.random = Random(seed)
        self.answers: dict[str, list] = {"b": [], "r": []}

    async def _pause(self, ctx):
        while self.random.random() > self.eager:
            await ctx.tick()

    async def _send(self, ctx, channel: str, **values):
        await self._pause(ctx)
        for name, value in values.items():
            ctx.set(getattr(self.axi, name), value)
        valid, ready = (getattr(self.axi, channel + end) for end in ("valid", "ready"))
        ctx.set(valid, 1)
        await ctx.tick().until(ready)
        ctx.set(valid, 0)
        for name in values:
            ctx.set(getattr(self.axi, name), self.random.getrandbits(3))

    async def take(self, ctx, channel: str, count: int):
        valid, ready, resp = (getattr(self.axi, channel + end) for end in ("valid", "ready", "resp"))
        data = self.axi.rdata
        offered = None
        while len(self.answers[channel]) < count:
            willing = self.random.random() < self.eager
            ctx.set(ready, willing)
            _, _, there, *answer = await ctx.tick().sample(valid, resp, data if channel == "r" else 0)
            assert offered is None or (there and answer == offered), "an answer that was offered has changed"
            offered = answer if there and not willing else None
            if there and willing:
                self.answers[channel].append(tuple(answer))
        ctx.set(ready, 0)

    async def write_addresses(self, ctx, writes):
        for address, _, _ in writes:
            await self._send(ctx, "aw", awaddr=address, awprot=self.random.getrandbits(3))

    async def write_data(self, ctx, writes):
        for _, word, strobes in writes:
            await self._send(ctx, "w", wdata=word, wstrb=strobes)

    async def read_addresses(self, ctx, reads):
        for address in reads:
            await self._send(ctx, "ar", araddr=address, arprot=self.random.getrandbits(3))


def _simulate(dut, target: Target, *stories):
    """Each story is a coroutine of the manager and what it takes."""
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(target.run, background=True)
    for story, *arguments in stories:

        async def run(ctx, story=story, arguments=arguments):
            await story(ctx, *arguments)

        simulator.add_testbench(run)
    simulator.run()


@pytest.mark.parametrize("eager", [1.0, 0.5, 0.1])
def test_every_access_is_made_once_and_answered_once(eager):
    random = Random(int(eager * 10))
    dut = AXI4LiteRegisters(5, WORDS)
    manager, target = Manager(dut.axi, 1, eager), Target(dut.bus, 2, FAULTY)
    writes = [
        (random.randrange(128), random.getrandbits(32), random.choice((15, 15, 15, random.randrange(16))))
        for _ in range(120)
    ]
    reads = [random.randrange(128) for _ in range(120)]

    _simulate(
        dut,
        target,
        (manager.write_addresses, writes),
        (manager.write_data, writes),
        (manager.read_addresses, reads),
        (manager.take, "b", len(writes)),
        (manager.take, "r", len(reads)),
    )

    def response(word: int, made: bool) -> int:
        return DECERR if word >= WORDS else SLVERR if not made or word in FAULTY else OKAY

    assert manager.answers["b"] == [(response(address // 4, strobes == 15), 0) for address, _, strobes in writes]
    assert manager.answers["r"] == [
        (answer := response(address // 4, True), 0 if answer else target.word_at(address // 4)) for address in reads
    ]
    made = [(address // 4, word) for address, word, strobes in writes if strobes == 15 and address // 4 < WORDS]
    assert [access for access in target.log if access[1] is not None] == made
    assert [at for at, word in target.log if word is None] == [at // 4 for at in reads if at // 4 < WORDS]


def test_reads_and_writes_take_turns():
    """Neither kind waits for more than one access of the other; an answer not taken holds up its own kind only."""
    dut = AXI4LiteRegisters(5)
    manager, target = Manager(dut.axi, 1, 1.0), Target(dut.bus, 2)
    writes, reads = [(4 * n, n, 15) for n in range(8)], [4 * n for n in range(16)]

    async def answers(ctx):
        await manager.take(ctx, "r", 8)
        assert [word is None for _, word in target.log].count(False) == 1
        target.log.clear()
        ctx.set(dut.axi.bready, 1)
        ctx.set(dut.axi.rready, 1)
        await ctx.tick().repeat(150)

    _simulate(
        dut,
        target,
        (manager.write_addresses, writes),
        (manager.write_data, writes),
        (manager.read_addresses, reads),
        (answers,),
    )
    kinds = [word is None for _, word in target.log]
    assert kinds.count(False) == 7 and kinds.count(True) >= 7
    assert all(before != after for before, after in pairwise(kinds[2:12])), kinds


class Owed(wiring.Component):
    """Counts what was taken and not answered yet; registers that answer within three cycles are assumed behind."""

    def __init__(self):
        super().__init__({"axi": In(AXI4LiteSignature(5)), "bus": Out(BusSignature(3))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = AXI4LiteRegisters(3, 6)
        wiring.connect(m, wiring.flipped(self.axi), dut.axi)
        wiring.connect(m, dut.bus, wiring.flipped(self.bus))
        axi, bus = self.axi, self.bus
        under_way, patience = Signal(), Signal(2)
        starts = bus.read | bus.write
        m.d.sync += [under_way.eq(starts | (under_way & ~bus.done)), patience.eq(0)]
        with m.If(under_way & ~bus.done):
            m.d.sync += patience.eq(patience + 1)
        m.d.comb += [
            Assume(under_way | ~bus.done),
            Assume(bus.done | (patience < 2)),
            Assert(~(starts & under_way)),
            Assert(~(bus.read & bus.write)),
            Assert(patience < 3),
        ]
        owed = {}
        for taken, answered in (("aw", "b"), ("w", "b"), ("ar", "r")):
            came = getattr(axi, f"{taken}valid") & getattr(axi, f"{taken}ready")
            valid, ready = getattr(axi, f"{answered}valid"), getattr(axi, f"{answered}ready")
            owed[taken] = count = Signal(3, name=f"{taken}_owed")
            m.d.sync += count.eq(count + came - (valid & ready))
            # An answer is offered to something that came, and one more may wait behind it.
            m.d.comb += Assert(count == valid + ~getattr(axi, f"{taken}ready"))
        for answered, present in (("b", (owed["aw"] > 0) & (owed["w"] > 0)), ("r", owed["ar"] > 0)):
            valid, ready = getattr(axi, f"{answered}valid"), getattr(axi, f"{answered}ready")
            resp = getattr(axi, f"{answered}resp")
            offered, told, age = (
                Signal(name=f"{answered}_offered"),
                Signal.like(resp),
                Signal(5, name=f"{answered}_age"),
            )
            m.d.sync += [offered.eq(valid & ~ready), told.eq(resp), age.eq(0)]
            with m.If(present & ~valid):
                m.d.sync += age.eq(age + 1)
            m.d.comb += [Assert(~valid | present), Assert(~offered | (valid & (resp == told))), Assert(age < 14)]
        # What goes on belongs to what waits; so an access is made for nothing but what has come.
        m.d.comb += Assert(~bus.write | ((owed["aw"] > 0) & (owed["w"] > 0) & ~axi.bvalid))
        m.d.comb += Assert(~bus.read | ((owed["ar"] > 0) & ~axi.rvalid))
        return m


def test_proof_every_access_is_answered_once_and_in_time():
    """In all of the first 24 cycles after reset, more than two accesses of the slowest registers take."""
    prove(Owed(), mode="bmc", depth=24)
