"""Firmware of cocotb at a switch in Amaranth's simulator."""

from ualink_sim.bfm.common.register_bus import RegisterBus, RegisterError

__all__ = ["SimulatedBus"]


class SimulatedBus(RegisterBus):
    """The register bus of ``bench`` in Amaranth's simulator, in the place of cocotb's."""

    def __init__(self, bench, ctx, table):
        self.table, self.base = table, 0
        self._master, self._ctx = bench.master, ctx

    async def _access(self, kind, offset, word):
        address = self.base + offset
        if kind == "write":
            data, error = 0, await self._master.write(self._ctx, address, word)
        else:
            data, error = await self._master.read(self._ctx, address)
        if error:
            raise RegisterError(f"{kind} at {address:#x}")
        return data
