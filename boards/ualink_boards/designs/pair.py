"""Design ``pair``: two links in one device that talk with each other over its lanes."""

from amaranth.hdl import DomainRenamer, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import connect

from ualink.config import PhyConfig
from ualink.csr.console import ConsoleRegisters
from ualink.csr.design import RegisterDesign

from ..board import LED_MEANINGS, Board
from ..frame import FrameSignature
from .link import Link
from .link_config import LINK_PHY, lanes_used

__all__ = ["LINKS", "Pair"]

LINKS = ("a", "b")
_OF_EITHER = ("traffic", "error", "loopback")
"""LEDs that are lit when that of one of the links would be; the others when those of both would be."""


class Pair(wiring.Component):
    """Links ``a`` and ``b``, each as design ``link`` with half of the board's lanes.

    Link ``a`` sends on the first half of the lanes and hears the second half, link ``b`` the other way round. So a
    loopback plug, or near-end loopback on all lanes, joins the two. Registers are on one serial line, in windows
    ``a_traffic`` to ``b_phy``; lane l of a link is that on which it sends with ``tx_invert`` and ``pll_locked``, and
    that which it hears with everything else.

    LEDs: as of ``link``; *traffic*, *error* and *loopback* for either of the links, the others for both together.

    Parameters
    ----------
    board : two lanes or four of it, and its clocks.
    phy : markers and Idle flits.

    Members
    -------
    frame : to the board, ``FrameSignature``.
    """

    needs_lanes = 2
    synthesis_options, place_options = Link.synthesis_options, Link.place_options

    def __init__(self, board: Board, phy: PhyConfig = LINK_PHY):
        self._half = lanes_used(board, len(LINKS))
        self._links = {name: Link(board, phy, lanes=self._half, serial=False) for name in LINKS}
        self.registers = RegisterDesign(
            "pair",
            board.station_hz,
            tuple(
                (f"{name}_{window}", table)
                for name, link in self._links.items()
                for window, table in link.registers.windows
            ),
        )
        self._console = ConsoleRegisters(self.registers, board.baud)
        super().__init__({"frame": wiring.Out(FrameSignature(board.lanes, board.width))})

    def elaborate(self, platform):
        m = Module()
        frame, half = self.frame, self._half
        m.submodules.console = console = self._console
        m.d.comb += [console.rx.eq(frame.rx), frame.tx.eq(console.tx)]
        for (name, link), sends, hears in zip(self._links.items(), (0, half), (half, 0)):
            domains = {f"tx{lane}": f"tx{sends + lane}" for lane in range(half)}
            domains |= {f"rx{lane}": f"rx{hears + lane}" for lane in range(half)}
            m.submodules[name] = DomainRenamer(domains)(link)
            for window, _ in link.registers.windows:
                connect(m, getattr(console.windows, f"{name}_{window}"), getattr(link.windows, window))
            for lane in range(half):
                self._lane(m, link, lane, sends + lane, hears + lane)
        for number, meaning in enumerate(LED_MEANINGS):
            first, second = (link.frame.leds[number] for link in self._links.values())
            m.d.comb += frame.leds[number].eq(first | second if meaning in _OF_EITHER else first & second)
        return m

    def _lane(self, m: Module, link: Link, lane: int, sends: int, hears: int):
        """Lane ``lane`` of ``link`` on two lanes of the board."""
        words, status = link.frame.lanes[lane], link.frame.status[lane]
        out, back = self.frame.lanes[sends], self.frame.lanes[hears]
        out_status, back_status = self.frame.status[sends], self.frame.status[hears]
        m.d.comb += [
            out.tx_data.eq(words.tx_data),
            out.tx_invert.eq(words.tx_invert),
            words.tx_ready.eq(out.tx_ready),
            words.rx_data.eq(back.rx_data),
            words.rx_ready.eq(back.rx_ready),
            back.rx_invert.eq(words.rx_invert),
            back.reset.eq(words.reset),
            back.loopback.eq(words.loopback),
            status.pll_locked.eq(out_status.pll_locked),
            status.pll_retries.eq(out_status.pll_retries),
            *(
                getattr(status, name).eq(getattr(back_status, name))
                for name in ("signal", "locked", "ready", "retries")
            ),
        ]
