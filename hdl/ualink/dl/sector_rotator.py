"""Rotates 64 bytes by sectors."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError
from ualink.dl.flit import SECTOR_BYTES, SECTORS_PER_TL_FLIT

__all__ = ["SectorRotator"]


class SectorRotator(wiring.Component):
    """Rotates 16 sectors upwards: sector n goes to place (n + amount) mod 16.

    Combinational, one level of 2:1 muxes per stage.

    Parameters
    ----------
    stages : width of ``amount``, 1 to 4: two stages rotate by 0 to 3.
    """

    def __init__(self, stages: int = 4):
        if isinstance(stages, bool) or stages not in range(1, 5):
            raise ConfigError(f"a sector rotator has {stages!r} stages; it must have 1 to 4")
        self._stages = stages
        size = 8 * SECTOR_BYTES * SECTORS_PER_TL_FLIT
        super().__init__({"sectors": In(size), "amount": In(stages), "rotated": Out(size)})

    def elaborate(self, platform):
        m = Module()

        value = Cat(self.sectors)
        for stage in range(self._stages):
            value = Mux(self.amount[stage], value.rotate_left(8 * SECTOR_BYTES << stage), value)
        m.d.comb += self.rotated.eq(value)

        return m
