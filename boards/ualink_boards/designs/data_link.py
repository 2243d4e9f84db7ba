"""Design ``data_link``: one data link with endless TL flits, over the lanes of a board."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from ualink.config import PhyConfig
from ualink.csr.console import ConsoleRegisters
from ualink.csr.design import RegisterDesign
from ualink.dl.links import Links
from ualink.dl.registers.block import DLRegisterBlock
from ualink.lib.parity import WithoutDataParity
from ualink.traffic.flits.traffic import FlitTraffic

from ..board import Board
from ..frame import FrameSignature
from .board_phy import BoardPhy
from .leds import LinkLeds
from .link import Link
from .link_config import LINK_PHY, link_config

__all__ = ["DataLinkTest"]


class DataLinkTest(wiring.Component):
    """A data link by itself: endless TL flits in the place of a transaction layer, reconciliation sublayer, PCS.

    Two boards, or a board whose lanes are looped back, compare each other's flits. It is design ``link`` without what
    stands above its data link, for devices that do not hold that. Registers are on the serial line, in the windows
    ``flits``, ``dl`` and ``phy``. Data has no parity (``WithoutDataParity``).

    LEDs: as of ``LinkLeds``; *traffic* for TL flits sent, *error* for lost flit slots and wrong TL flits.

    Parameters
    ----------
    board : its lanes, one, two or four of them, and its clocks.
    phy : markers and Idle flits; its blocks per word are those which the board needs.

    Members
    -------
    frame : to the board, ``FrameSignature``.
    """

    needs_lanes = 1
    synthesis_options, place_options = Link.synthesis_options, Link.place_options

    def __init__(self, board: Board, phy: PhyConfig = LINK_PHY):
        config = link_config(board, phy)
        self._lanes = config.lanes
        self._links = Links(config.station.port_dl, 1)
        self._traffic = FlitTraffic()
        self._dl_registers = DLRegisterBlock(config.station.port_dl)
        self._phy = BoardPhy(config.phy, lanes=config.lanes, width=board.width, line_rate=board.line_rate)
        self._leds = LinkLeds(self._phy)
        self.registers = RegisterDesign(
            "data_link",
            board.station_hz,
            (
                ("flits", self._traffic.registers),
                ("dl", self._dl_registers.registers),
                ("phy", self._phy.registers),
            ),
        )
        self._console = ConsoleRegisters(self.registers, board.baud)
        super().__init__({"frame": wiring.Out(FrameSignature(board.lanes, board.width))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.console = console = self._console
        traffic = self._traffic
        m.submodules.traffic = WithoutDataParity(traffic)
        links = self._links
        m.submodules.links = WithoutDataParity(links)
        m.submodules.dl_registers = registers = self._dl_registers
        m.submodules.phy = phy = self._phy
        m.submodules.leds = leds = self._leds
        connect(m, traffic.tx_flit, links.tx_flit)
        connect(m, links.rx_flit, traffic.rx_flit)
        connect(m, links.rs, phy.dl)
        for number in range(self._lanes):
            connect(m, phy.lanes[number], flipped(self.frame.lanes[number]))
            connect(m, flipped(self.frame.status[number]), phy.status[number])
        for window, block in (("flits", traffic), ("dl", registers), ("phy", phy)):
            connect(m, getattr(console.windows, window), block.bus)
        connect(m, registers.dl_config, links.config[0])
        connect(m, links.status[0], registers.dl_status)
        connect(m, registers.uart_tx, links.uart_tx[0])
        connect(m, links.uart_rx[0], registers.uart_rx)
        m.d.comb += [
            registers.here.eq(1),
            traffic.online.eq(links.online),
            console.rx.eq(self.frame.rx),
            self.frame.tx.eq(console.tx),
            leds.online.eq(links.status[0].online),
            leds.traffic.eq(traffic.sent),
            leds.error.eq(traffic.bad),
            self.frame.leds.eq(leds.leds),
        ]
        return m
