"""Banks of windows behind registers of the bus, windows with names, and several interrupt lines as one."""

from random import Random

import pytest
from amaranth.hdl import Elaboratable, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped
from amaranth.sim import Simulator

from support.csr.master import MASTERS, Master
from ualink.checks import ConfigError
from ualink.config import BUSES
from ualink.csr.axi4_lite import Response
from ualink.csr.banks import RegisterBanks
from ualink.csr.block import RegisterBlock
from ualink.csr.bridge import BusBridge
from ualink.csr.interrupt_lines import InterruptLines, interrupt_line_registers
from ualink.csr.named_windows import NamedWindows
from ualink.csr.stage import BusStage
from ualink.csr.table import Access, Field, Register, RegisterMap

ADDRESS_BITS = 2
SMALL = RegisterMap("small", (Register("only", 0, (Field("value", "31:0", Access.RW),)),))
LARGE = RegisterMap("large", (*SMALL.registers, Register("last", 12, (Field("value", "7:0", Access.RW, 3),))))
BANKS = ((SMALL, LARGE, SMALL), (LARGE, SMALL), (LARGE,))
WINDOW = 4 << ADDRESS_BITS


class Bench(wiring.Component):
    """``BANKS`` with a block for each window; ``master`` is at their bus, or at a bridge before it."""

    def __init__(self, bus="native"):
        self.banks = RegisterBanks(ADDRESS_BITS, tuple(len(bank) for bank in BANKS))
        words = sum(map(len, BANKS)) << ADDRESS_BITS
        self.bridge = BusBridge(bus, len(self.banks.bus.address), words)
        super().__init__({"bus": self.bridge.member})
        self.master = MASTERS[bus](self.bus)

    def elaborate(self, platform):
        m = Module()
        m.submodules.banks = self.banks
        self.bridge.bind(m, flipped(self.bus), self.banks.bus)
        for number, maps in enumerate(BANKS):
            named = tuple((f"w{place}", table) for place, table in enumerate(maps))
            m.submodules[f"windows_{number}"] = windows = NamedWindows(ADDRESS_BITS, named)
            connect(m, getattr(self.banks, f"bank_{number}"), windows.bus)
            for name, table in named:
                m.submodules[f"block_{number}_{name}"] = block = RegisterBlock(table)
                connect(m, getattr(windows.windows, name), block.bus)
                m.d.comb += block.here.eq(1)
        return m


def simulate(dut, story):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(story)
    simulator.run()


def test_each_window_is_in_its_place_and_all_else_an_error():
    bench = Bench()
    tables = [table for bank in BANKS for table in bank]

    async def story(ctx):
        for number in range(len(tables)):
            assert await bench.master.write(ctx, number * WINDOW, number + 100) == 0
        for number, table in enumerate(tables):
            assert await bench.master.read(ctx, number * WINDOW) == (number + 100, 0)
            assert bench.master.cycles == 3
            assert await bench.master.read(ctx, number * WINDOW + 12) == ((3, 0) if table is LARGE else (0, 1))
            assert await bench.master.read(ctx, number * WINDOW + 4) == (0, 1)
        for address in range(len(tables) * WINDOW, 8 * WINDOW, 4):
            assert await bench.master.read(ctx, address) == (0, 1)
            assert await bench.master.write(ctx, address, 1) == 1
        assert await bench.master.read(ctx, 0) == (100, 0)

    simulate(bench, story)


@pytest.mark.parametrize("bus", BUSES)
def test_every_access_is_answered_on_every_bus(bus):
    """What is not there is an error and changes nothing, before and after accesses that are good; so is half a word."""
    bench = Bench(bus)
    tables = [table for bank in BANKS for table in bank]
    places = [
        (number * WINDOW + 4 * word, 4 * word in {register.offset for register in table})
        for number, table in enumerate((*tables, SMALL, LARGE))
        for word in range(WINDOW // 4)
    ]
    places = [(address, is_there and address < len(tables) * WINDOW) for address, is_there in places]
    random = Random(1)
    random.shuffle(places)

    async def story(ctx):
        words = {address: random.getrandbits(8) for address, is_there in places if is_there}
        for address, is_there in places:
            assert (await bench.master.write(ctx, address, words.get(address, 255)) == 0) == is_there
        random.shuffle(places)
        for address, is_there in places:
            word, error = await bench.master.read(ctx, address)
            assert (word, not error) == (words.get(address, 0), is_there)
            if bus != "native":
                # Bytes of a word, which no access is made for.
                assert (await bench.master._access(ctx, address, 0, 1, 0, strobes=0b0011))[1]
        if bus == "axi4-lite":
            for address, response in (
                (0, Response.OKAY),
                (4, Response.SLVERR),
                (len(tables) * WINDOW, Response.DECERR),
            ):
                assert (await bench.master.read(ctx, address))[1] == response
                assert await bench.master.write(ctx, address, 1) == response

    simulate(bench, story)


def test_a_master_that_does_not_wait_hangs_nothing():
    """A write that starts in another bank while one goes on: each is made at its place, and then all is as before."""
    bench = Bench()
    bus = bench.bus

    async def story(ctx):
        for gap in range(1, 4):
            for address, value, cycles in ((0, 10 * gap, gap), (3 * WINDOW, 10 * gap + 1, 6)):
                ctx.set(bus.address, address // 4)
                ctx.set(bus.write_data, value)
                ctx.set(bus.write, 1)
                await ctx.tick()
                ctx.set(bus.write, 0)
                for _ in range(cycles - 1):
                    await ctx.tick()
            assert not ctx.get(bus.done) and not ctx.get(bus.error) and not ctx.get(bus.read_data)
            assert await bench.master.read(ctx, 3 * WINDOW) == (10 * gap + 1, 0)
            assert await bench.master.read(ctx, 0) == (10 * gap, 0)
            assert await bench.master.read(ctx, 4) == (0, 1)

    simulate(bench, story)


@pytest.mark.parametrize("cycles", [1, 3])
def test_a_stage_hands_on_later_and_answers_one_cycle_later(cycles):
    class Staged(Elaboratable):
        def __init__(self):
            self.stage, self.block = BusStage(2, cycles), RegisterBlock(LARGE)
            self.master = Master(self.stage.bus)

        def elaborate(self, platform):
            m = Module()
            m.submodules.stage, m.submodules.block = self.stage, self.block
            connect(m, self.stage.far, self.block.bus)
            m.d.comb += self.block.here.eq(1)
            return m

    dut = Staged()

    async def story(ctx):
        for value in (5, 6):
            assert await dut.master.write(ctx, 12, value) == 0
            assert await dut.master.read(ctx, 12) == (value, 0)
            assert dut.master.cycles == cycles + 2
        assert await dut.master.read(ctx, 4) == (0, 1)

    simulate(dut, story)


def test_a_line_is_up_while_one_of_several_is():
    dut = InterruptLines("station", 40)
    master = Master(dut.bus)

    async def story(ctx):
        assert ctx.get(dut.irq) == 0
        for number in (0, 31, 32, 39):
            ctx.set(dut.lines, 1 << number)
            await ctx.tick()
            assert ctx.get(dut.irq) == 1
            words = [(await master.read(ctx, 4 * word))[0] for word in range(2)]
            assert words[0] | words[1] << 32 == 1 << number
            ctx.set(dut.lines, 0)
            await ctx.tick()
            assert ctx.get(dut.irq) == 0

    simulate(dut, story)
    table = interrupt_line_registers("station", 40)
    assert table["pending_1"]["station_39"].bits == "7"


def test_what_cannot_be_is_refused():
    for build in (lambda: RegisterBanks(2, (1, 0)), lambda: BusStage(2, 0), lambda: InterruptLines("part", 0)):
        with pytest.raises(ConfigError):
            build()
