"""Loopback of an ECP5 dual-channel unit, through a model of its registers."""

from amaranth.hdl import Module
from amaranth.sim import Simulator

from ualink.phy.serdes.ecp5_sci import LOOPBACK_REGISTER, PHASE_DETECTOR_REGISTER, Ecp5LoopbackWriter
from ualink.phy.serdes.interface import Loopback

ROUND = 32
RESET = {LOOPBACK_REGISTER: 0xA8, PHASE_DETECTOR_REGISTER: 0x5A}


class Registers:
    """Registers of each channel: a write takes effect while ``write_n`` is low, address and data must stand still."""

    def __init__(self, channels: int):
        self.values = [dict(RESET) for _ in range(channels)]
        self.before = None
        self.writes = 0

    def cycle(self, ctx, sci):
        now = tuple(ctx.get(signal) for signal in (sci.select, sci.address, sci.write_data))
        selected, address, data = now
        reading, writing = ctx.get(sci.read), not ctx.get(sci.write_n)
        assert not (reading and writing)
        if reading or writing:
            assert selected in (1, 2), "one channel at a time"
            assert self.before == now, "address, data and channel stand before, in and after a strobe"
            registers = self.values[selected >> 1]
            if writing:
                registers[address] = data
                self.writes += 1
            else:
                ctx.set(sci.read_data, registers[address])
        self.before = now


def run(channels, bench):
    dut = Ecp5LoopbackWriter(channels)
    registers = Registers(channels)
    module = Module()
    module.submodules.dut = dut
    simulator = Simulator(module)
    simulator.add_clock(1e-6)

    async def rounds(ctx, count):
        for _ in range(count * ROUND * channels + 2):
            await ctx.tick()
            registers.cycle(ctx, dut.sci)

    async def started(ctx):
        await bench(ctx, dut, registers, rounds)

    simulator.add_testbench(started)
    simulator.run()


def test_loopback_is_written_into_its_bits_only():
    async def bench(ctx, dut, registers, rounds):
        ctx.set(dut.enable, 1)
        for loopback, low, gated in ((Loopback.NEAR_END, 1, 0), (Loopback.FAR_END, 2, 1), (Loopback.NONE, 0, 1)):
            ctx.set(dut.loopback[0], loopback)
            await rounds(ctx, 2)
            assert registers.values[0] == {
                LOOPBACK_REGISTER: RESET[LOOPBACK_REGISTER] & 0xF0 | low,
                PHASE_DETECTOR_REGISTER: RESET[PHASE_DETECTOR_REGISTER] & ~0x10 | gated << 4,
            }

    run(1, bench)


def test_each_channel_has_its_own():
    async def bench(ctx, dut, registers, rounds):
        ctx.set(dut.enable, 1)
        ctx.set(dut.loopback[1], Loopback.NEAR_END)
        await rounds(ctx, 2)
        assert [values[LOOPBACK_REGISTER] & 0xF for values in registers.values] == [0, 1]

    run(2, bench)


def test_a_reset_unit_is_written_again():
    async def bench(ctx, dut, registers, rounds):
        ctx.set(dut.enable, 1)
        ctx.set(dut.loopback[0], Loopback.NEAR_END)
        await rounds(ctx, 2)
        registers.values[0].update(RESET)
        await rounds(ctx, 2)
        assert registers.values[0][LOOPBACK_REGISTER] & 0xF == 1

    run(1, bench)


def test_nothing_is_written_in_reset():
    async def bench(ctx, dut, registers, rounds):
        await rounds(ctx, 2)
        assert registers.writes == 0

    run(1, bench)
