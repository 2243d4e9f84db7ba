"""A block that negotiates channels, and what the partner, played by the test, says to it."""

from amaranth.sim import Simulator

__all__ = ["Side", "run"]


class Side:
    """``dut`` has ``received``, ``message``, ``protocol_error``, ``slot_end`` and ``time_out_flits``."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        ctx.set(dut.time_out_flits, 0)

    def offered(self):
        """The dword on offer."""
        return self.ctx.get(self.dut.message.payload)

    async def hear(self, dword):
        """Hand over a message; returns whether it was logged as an error."""
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.received.valid, 1)
        ctx.set(dut.received.payload, dword)
        error = ctx.get(dut.protocol_error)
        await ctx.tick()
        ctx.set(dut.received.valid, 0)
        return bool(error)

    async def say(self, cycles=4):
        """What it sends in the next cycles."""
        ctx, dut = self.ctx, self.dut
        said = []
        ctx.set(dut.message.ready, 1)
        for _ in range(cycles):
            if ctx.get(dut.message.valid):
                said.append(self.offered())
            await ctx.tick()
        ctx.set(dut.message.ready, 0)
        return said

    async def flit_times(self, count):
        """Let flit times pass, one a cycle."""
        self.ctx.set(self.dut.slot_end, 1)
        await self.ctx.tick().repeat(count)
        self.ctx.set(self.dut.slot_end, 0)


def run(dut, side, story):
    """Simulate ``story(side(ctx, dut))``."""

    async def bench(ctx):
        await story(side(ctx, dut))

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
