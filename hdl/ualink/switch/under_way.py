"""Whether anything is left inside the core that is on its way to an egress port."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["UnderWay"]

_BETWEEN_PLACES = 3
"""Cycles in which an item is in none of the places that are looked at: it is read from a buffer and comes out."""


class UnderWay(wiring.Component):
    """Tells of each egress port whether one of ``places`` holds something for it (UALink_200 §10.7).

    An item that was looked up in cycle t is told of from t + 2 on, until it has left and for 4 cycles more at the most.

    Parameters
    ----------
    egresses, places : int.

    Members
    -------
    places : ``egresses`` bit each, from registers.
    under_way : ``egresses`` bit, from a register, reset value 0.
    """

    def __init__(self, egresses: int, places: int):
        super().__init__({"places": In(egresses).array(places), "under_way": Out(egresses)})

    def elaborate(self, platform):
        m = Module()
        for k in range(len(self.under_way)):
            now = Signal(name=f"now_{k}")
            before = Signal(_BETWEEN_PLACES, name=f"before_{k}")
            m.d.comb += now.eq(Cat(place[k] for place in self.places).any())
            m.d.sync += [before.eq(Cat(now, before)[: len(before)]), self.under_way[k].eq(now | before.any())]
        return m
