"""A board with the design ``pair`` and a loopback plug on each of its lanes, as hardware to simulate."""

from dataclasses import replace

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from ualink_boards.boards import find_board
from ualink_boards.designs.pair import Pair
from ualink_boards.link_pair import BIT_CYCLES, PHY
from ualink_sim.serdes_cable import SerdesCable

__all__ = ["BOARD", "PairTop"]

BOARD = "vcu118"
SKEW_WORDS = 2


class PairTop(wiring.Component):
    """All clocks and resets are those of ``sync``.

    Members
    -------
    rx, tx, leds : serial line and LEDs of the board.
    cut : a bit for each lane: it hears noise.
    """

    def __init__(self) -> None:
        board = find_board(BOARD)
        self._board = replace(board, baud=board.station_hz // BIT_CYCLES)
        self.design = Pair(self._board, PHY)
        super().__init__(
            {"rx": In(1, init=1), "tx": Out(1, init=1), "leds": Out(8), "cut": In(self._board.lanes)},
        )

    def elaborate(self, platform):
        m = Module()
        lanes, frame = range(self._board.lanes), self.design.frame
        m.submodules.cable = cable = SerdesCable(len(lanes), self._board.width, skew_words=SKEW_WORDS)
        near = {f"{way}{lane}": f"a_{way}{lane}" for lane in lanes for way in ("tx", "rx")}
        m.submodules.design = DomainRenamer(near)(self.design)
        for end in ("a", "b"):
            m.domains += [ClockDomain(f"{end}_rx{lane}") for lane in lanes]
            for domain in (f"{end}_sync", *(f"{end}_tx{lane}" for lane in lanes)):
                m.domains += ClockDomain(domain)
                m.d.comb += [ClockSignal(domain).eq(ClockSignal()), ResetSignal(domain).eq(ResetSignal())]
        m.d.comb += [frame.rx.eq(self.rx), self.tx.eq(frame.tx), self.leds.eq(frame.leds)]
        for lane in lanes:
            connect(m, frame.lanes[lane], cable.a[lane])
            connect(m, cable.a_status[lane], frame.status[lane])
            wires = cable.to_a[lane]
            # Lanes are late by 0, 33, 66 and 99 bits.
            m.d.comb += [wires.plug.eq(1), wires.cut.eq(self.cut[lane]), wires.skew.eq(33 * lane)]
        return m
