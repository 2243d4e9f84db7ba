"""Firmware's side of a register bus in Amaranth's simulator."""


class Master:
    """Makes one access after the other on ``bus``; ``cycles`` is how long the last one took."""

    def __init__(self, bus):
        self.bus = bus
        self.cycles = 0

    async def read(self, ctx, offset: int) -> tuple[int, int]:
        """Data and error of the register at byte ``offset``."""
        return await self._access(ctx, offset, 1, 0, 0)

    async def write(self, ctx, offset: int, value: int) -> int:
        """Error of writing ``value`` to the register at byte ``offset``."""
        return (await self._access(ctx, offset, 0, 1, value))[1]

    async def _access(self, ctx, offset, read, write, value):
        bus = self.bus
        for signal, level in (
            (bus.address, offset // 4),
            (bus.read, read),
            (bus.write, write),
            (bus.write_data, value),
        ):
            ctx.set(signal, level)
        await ctx.tick()
        ctx.set(bus.read, 0)
        ctx.set(bus.write, 0)
        self.cycles = 1
        while not ctx.get(bus.done):
            assert (ctx.get(bus.read_data), ctx.get(bus.error)) == (0, 0)
            await ctx.tick()
            self.cycles += 1
            assert self.cycles < 20, "the access is never done"
        return ctx.get(bus.read_data), ctx.get(bus.error)
