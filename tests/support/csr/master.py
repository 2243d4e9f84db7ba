"""Firmware's side of each bus to registers in Amaranth's simulator."""

__all__ = ["MASTERS", "Master"]

LIMIT = 20
"""Cycles in which every access is done."""
WHOLE = 0b1111


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
            assert self.cycles < LIMIT, "the access is never done"
        return ctx.get(bus.read_data), ctx.get(bus.error)


class APBMaster(Master):
    """The same on APB4: one transfer after the other."""

    async def _access(self, ctx, offset, read, write, value, strobes=WHOLE):
        apb = self.bus
        for signal, level in (
            (apb.paddr, offset),
            (apb.pwrite, write),
            (apb.pwdata, value),
            (apb.pstrb, strobes),
            (apb.psel, 1),
        ):
            ctx.set(signal, level)
        await ctx.tick()
        ctx.set(apb.penable, 1)
        for self.cycles in range(1, LIMIT):
            _, _, ready, word, error = await ctx.tick().sample(apb.pready, apb.prdata, apb.pslverr)
            if ready:
                ctx.set(apb.psel, 0)
                ctx.set(apb.penable, 0)
                return word, error
        raise AssertionError("the transfer is never done")


class AXI4LiteMaster(Master):
    """The same on AXI4-Lite; the error is the response."""

    async def _access(self, ctx, offset, read, write, value, strobes=WHOLE):
        axi = self.bus
        asked = {"awvalid": write, "wvalid": write, "arvalid": read}
        levels = {"awaddr": offset, "araddr": offset, "wdata": value, "wstrb": strobes, "bready": 1, "rready": 1}
        for name, level in (asked | levels).items():
            ctx.set(getattr(axi, name), level)
        valid, response = (axi.bvalid, axi.bresp) if write else (axi.rvalid, axi.rresp)
        for self.cycles in range(1, LIMIT):
            taken = [getattr(axi, name.replace("valid", "ready")) for name in asked]
            _, _, answered, word, error, *ready = await ctx.tick().sample(valid, axi.rdata, response, *taken)
            for name, is_taken in zip(asked, ready):
                if is_taken:
                    ctx.set(getattr(axi, name), 0)
            if answered:
                return 0 if write else word, error
        raise AssertionError("there is no answer")


MASTERS = {"native": Master, "apb": APBMaster, "axi4-lite": AXI4LiteMaster}
"""By bus, as of ``ualink.config.BUSES``."""
