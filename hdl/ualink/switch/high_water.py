"""The most that several queues have held."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["HighWater"]


class HighWater(wiring.Component):
    """Follows levels that rise by one in a cycle at most, and shows the highest since reset, two cycles later.

    It counts up while any level is above it, so it needs no choice among the levels, and may be a level of another.

    Parameters
    ----------
    depth : int, the highest level.
    ways : int, how many levels.

    Members
    -------
    levels : 0..``depth`` each.
    most : 0..``depth``, reset value 0.
    """

    def __init__(self, depth: int, ways: int):
        level = range(depth + 1)
        super().__init__({"levels": In(level).array(ways), "most": Out(level)})

    def elaborate(self, platform):
        m = Module()
        above = []
        for n, level in enumerate(self.levels):
            now = Signal.like(level, name=f"seen_{n}")
            m.d.sync += now.eq(level)
            above.append(now > self.most)
        m.d.sync += self.most.eq(self.most + Cat(above).any())
        return m
