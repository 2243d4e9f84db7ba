"""A design on simulated lanes, for trying it without hardware."""

from collections.abc import Callable
from dataclasses import replace

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from ualink.phy.serdes.interface import Loopback
from ualink_sim.serdes_cable import SerdesCable

from ..board import Board
from ..boards import find_board

__all__ = ["BOARD", "Looped"]

BOARD = "ecp5_5g_evn"
"""Whose registers and lanes it has."""


class Looped(wiring.Component):
    """A design on ``BOARD`` with a cable whose far end sends back what it hears, at another phase of the words.

    Words have the clock of the registers, and all clocks and resets are those of the domain ``sync``.

    Parameters
    ----------
    make_design : the design for a board.
    clock_hz, baud : what the design believes.

    Members
    -------
    rx, tx : the serial line.
    """

    def __init__(self, make_design: Callable[[Board], wiring.Component], clock_hz: int, baud: int):
        self._board = replace(find_board(BOARD), sync_hz=clock_hz, station_hz=clock_hz, baud=baud)
        self._design = make_design(self._board)
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        lanes, frame = range(self._board.lanes), self._design.frame
        m.submodules.cable = cable = SerdesCable(len(lanes), self._board.width)
        near = {f"{way}{lane}": f"a_{way}{lane}" for lane in lanes for way in ("tx", "rx")}
        m.submodules.design = DomainRenamer(near)(self._design)
        for end in ("a", "b"):
            m.domains += [ClockDomain(f"{end}_rx{lane}") for lane in lanes]
            for domain in (f"{end}_sync", *(f"{end}_tx{lane}" for lane in lanes)):
                m.domains += ClockDomain(domain)
                m.d.comb += [ClockSignal(domain).eq(ClockSignal()), ResetSignal(domain).eq(ResetSignal())]
        m.d.comb += [frame.rx.eq(self.rx), self.tx.eq(frame.tx)]
        for lane in lanes:
            connect(m, frame.lanes[lane], cable.a[lane])
            connect(m, cable.a_status[lane], frame.status[lane])
            m.d.comb += cable.b[lane].loopback.eq(Loopback.FAR_END)
        return m
