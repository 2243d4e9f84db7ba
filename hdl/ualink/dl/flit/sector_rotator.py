"""Rotates 64 protected bytes by sectors."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, is_integer
from ualink.dl.flit.half_segment import FRAME_BITS, FRAME_SECTOR_BITS

__all__ = ["SectorRotator"]


class SectorRotator(wiring.Component):
    """Rotates 16 sectors upwards: sector n, parity and all, goes to place (n + amount) mod 16.

    Combinational, one level of 2:1 muxes per stage.

    Parameters
    ----------
    stages : width of ``amount``, 1 to 4: two stages rotate by 0 to 3.
    """

    def __init__(self, stages: int = 4):
        if not is_integer(stages, 1, 4):
            raise ConfigError(f"a sector rotator has {stages!r} stages; it must have 1 to 4")
        self._stages = stages
        super().__init__({"sectors": In(FRAME_BITS), "amount": In(stages), "rotated": Out(FRAME_BITS)})

    def elaborate(self, platform):
        m = Module()

        value = Cat(self.sectors)
        for stage in range(self._stages):
            value = Mux(self.amount[stage], value.rotate_left(FRAME_SECTOR_BITS << stage), value)
        m.d.comb += self.rotated.eq(value)

        return m
