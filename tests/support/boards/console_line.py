"""Both ends of a serial line in Amaranth's simulator, in the line's own time."""

from amaranth.sim import Simulator

CYCLE = 1e-6
CLOCK_HZ = 1_000_000


def run(top, *stories, background=()):
    """Run ``stories`` on ``top``, whose clock has a period of ``CYCLE``."""
    simulator = Simulator(top)
    simulator.add_clock(CYCLE)
    for story in (*stories, *background):
        simulator.add_testbench(story, background=story in background)
    simulator.run()


class Sender:
    """Drives ``pin`` as a sender of ``baud`` does, whose clock is off by ``error``."""

    def __init__(self, pin, baud: float, error: float = 0.0):
        self._pin = pin
        self.bit = 1 / (baud * (1 + error))

    async def levels(self, ctx, levels):
        """A bit of each level."""
        for level in levels:
            ctx.set(self._pin, level)
            await ctx.delay(self.bit)

    async def byte(self, ctx, value: int, *, stop: int = 1):
        """A byte; without stop bit it is broken."""
        await self.levels(ctx, [0, *(value >> n & 1 for n in range(8)), stop])
        ctx.set(self._pin, 1)

    async def bytes(self, ctx, data: bytes):
        """Bytes without a pause."""
        for value in data:
            await self.byte(ctx, value)

    async def rest(self, ctx, bits: float):
        """The line at rest."""
        ctx.set(self._pin, 1)
        await ctx.delay(bits * self.bit)


class Listener:
    """Gathers ``received`` from ``pin``; a byte whose stop bit is missing is an error of the test."""

    def __init__(self, pin, baud: float):
        self._pin = pin
        self._bit = 1 / baud
        self.received = bytearray()

    async def listen(self, ctx):
        """For ever, as a background testbench."""
        while True:
            await ctx.negedge(self._pin)
            await ctx.delay(1.5 * self._bit)
            value = 0
            for number in range(8):
                value |= ctx.get(self._pin) << number
                await ctx.delay(self._bit)
            assert ctx.get(self._pin) == 1, "a byte without stop bit"
            self.received.append(value)
