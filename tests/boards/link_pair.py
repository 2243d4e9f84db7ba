"""Two boards with the design ``link`` and the cable between them, as one piece of hardware to simulate."""

from dataclasses import replace

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.lib.wiring import In, Out, connect

from ualink.config import PhyConfig
from ualink_boards.boards import find_board
from ualink_boards.designs.link import Link
from ualink_sim.serdes_cable import CableLaneSignature, SerdesCable

__all__ = ["BIT_CYCLES", "ENDS", "LinkPair"]

ENDS = ("a", "b")
BIT_CYCLES = 8
"""Cycles of a bit on the serial lines, which are as fast as they can be."""
SKEW_WORDS = 4


class LinkPair(wiring.Component):
    """Boards ``a`` and ``b``, both of the same kind.

    Members
    -------
    <x>_clk, <x>_tx_clk : of the registers and the data path, and of the words that are sent.
    <x>_rst : reset of all but the receivers.
    <x>_rx, <x>_tx, <x>_leds : serial line and LEDs.
    to_a, to_b : what happens to the lanes on their way there, ``CableLaneSignature``.
    """

    def __init__(self, board: str = "versa_ecp5_5g", lanes: int = 1, marker_interval: int = 16):
        chosen = find_board(board)
        self._board = replace(chosen, baud=chosen.sync_hz // BIT_CYCLES)
        self._lanes = lanes
        phy = PhyConfig(rate=200, marker_interval=marker_interval, idle_interval=marker_interval)
        self.designs = {end: Link(self._board, phy) for end in ENDS}
        members: dict[str, wiring.Member] = {}
        for end in ENDS:
            members |= {
                f"{end}_clk": In(1),
                f"{end}_tx_clk": In(1),
                f"{end}_rst": In(1),
                f"{end}_rx": In(1, init=1),
                f"{end}_tx": Out(1),
                f"{end}_leds": Out(8),
                f"to_{end}": In(CableLaneSignature(self._board.width, SKEW_WORDS)).array(lanes),
            }
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.cable = cable = SerdesCable(self._lanes, self._board.width, skew_words=SKEW_WORDS)
        for end in ENDS:
            names = ["sync", *(f"{way}{lane}" for way in ("tx", "rx") for lane in range(self._lanes))]
            design = self.designs[end]
            m.domains += [ClockDomain(f"{end}_{name}") for name in names]
            m.submodules[end] = DomainRenamer({name: f"{end}_{name}" for name in names})(design)
            m.d.comb += [
                ClockSignal(f"{end}_sync").eq(getattr(self, f"{end}_clk")),
                ResetSignal(f"{end}_sync").eq(getattr(self, f"{end}_rst")),
                design.frame.rx.eq(getattr(self, f"{end}_rx")),
                getattr(self, f"{end}_tx").eq(design.frame.tx),
                getattr(self, f"{end}_leds").eq(design.frame.leds),
            ]
            for lane in range(self._lanes):
                m.d.comb += ClockSignal(f"{end}_tx{lane}").eq(getattr(self, f"{end}_tx_clk"))
                m.submodules += ResetSynchronizer(getattr(self, f"{end}_rst"), domain=f"{end}_tx{lane}")
                connect(m, design.frame.lanes[lane], getattr(cable, end)[lane])
                connect(m, getattr(cable, f"{end}_status")[lane], design.frame.status[lane])
                connect(m, wiring.flipped(getattr(self, f"to_{end}")[lane]), getattr(cable, f"to_{end}")[lane])
        return m
