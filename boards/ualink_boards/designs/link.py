"""Design ``link``: one port of a station with a traffic engine, over the lanes of a board."""

from collections.abc import Callable

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from ualink.config import PhyConfig, StationConfig
from ualink.csr.console import ConsoleRegisters
from ualink.csr.design import RegisterDesign
from ualink.csr.table import BusSignature
from ualink.lib.parity import WithoutDataParity
from ualink.station import Station
from ualink.station_registers import StationRegisters
from ualink.traffic.engine import TrafficEngine

from ..board import Board
from ..frame import FrameSignature
from .board_phy import BoardPhy
from .leds import LinkLeds
from .link_config import LINK_PHY, link_config

__all__ = ["Link"]


class Link(wiring.Component):
    """An accelerator as a partner on the wire sees one: traffic engine, station, reconciliation sublayer, PCS.

    Two boards, or a board whose lanes are looped back, read and write each other's memory. Registers are on the serial
    line, in the windows ``traffic``, ``dl``, ``tl``, ``upli`` and ``phy``. Data has no parity (``WithoutDataParity``).

    LEDs: as of ``LinkLeds``; *traffic* for Requests of the engine, *error* for flits that were lost or damaged.

    Parameters
    ----------
    board : its lanes, one, two or four of them, and its clocks.
    phy : markers and Idle flits; its blocks per word are those which the board needs.
    lanes : as many, in place of all that a station may have on the board.
    serial : the registers are on the serial line; else ``windows`` are buses to them.
    make_station : makes the station, or what stands for it.

    Members
    -------
    frame : to the board, ``FrameSignature``.
    windows : without ``serial``: ``windows.<name>`` is the bus of each window.
    """

    needs_lanes = 1
    synthesis_options = "-nowidelut"
    """Without the multiplexers between LUTs, which ask for more of these and tie them to neighbours."""
    place_options = "--placer static --router router2 --no-tmdriv"
    """The placer that needs least wire, and the router that finds its way through a full device; the other one stands
    still for minutes at single wires. Without regard to time: with it, nets of long paths do not give way, and some
    wires stay in conflict however long it goes on (``docs/boards.md``)."""

    def __init__(
        self,
        board: Board,
        phy: PhyConfig = LINK_PHY,
        *,
        lanes: int | None = None,
        serial: bool = True,
        make_station: Callable[[StationConfig], wiring.Component] = Station,
    ):
        frame = FrameSignature(lanes or board.lanes, board.width)
        config = link_config(board, phy, lanes)
        self._lanes, self._board = config.lanes, board
        self._station = make_station(config.station)
        self._traffic = TrafficEngine(config.traffic)
        self._phy = BoardPhy(config.phy, lanes=config.lanes, width=board.width, line_rate=board.line_rate)
        self._leds = LinkLeds(self._phy)
        self._blocks = StationRegisters(config.station)
        maps = self._blocks.maps
        self.registers = RegisterDesign(
            "link",
            board.station_hz,
            (
                ("traffic", self._traffic.registers),
                ("dl", maps["dl_0"]),
                ("tl", maps["tl_0"]),
                ("upli", maps["upli"]),
                ("phy", self._phy.registers),
            ),
        )
        self._console = ConsoleRegisters(self.registers, board.baud) if serial else None
        buses = {name: wiring.Out(BusSignature(table.address_bits)) for name, table in self.registers.windows}
        members = {"frame": wiring.Out(frame)}
        super().__init__(members if serial else members | {"windows": wiring.In(wiring.Signature(buses))})

    def elaborate(self, platform):
        m = Module()
        station = self._station
        m.submodules.station = WithoutDataParity(station)
        traffic = self._traffic
        m.submodules.traffic = WithoutDataParity(traffic)
        m.submodules.phy = phy = self._phy
        m.submodules.leds = leds = self._leds
        windows = self._console.windows if self._console is not None else flipped(self.windows)
        if self._console is not None:
            m.submodules.console = self._console
        connect(m, traffic.originator, station.upli_completer)
        connect(m, station.upli_originator, traffic.completer)
        connect(m, station.rs, phy.dl)
        for number in range(self._lanes):
            connect(m, phy.lanes[number], flipped(self.frame.lanes[number]))
            connect(m, flipped(self.frame.status[number]), phy.status[number])
        if self._console is not None:
            m.d.comb += [self._console.rx.eq(self.frame.rx), self.frame.tx.eq(self._console.tx)]
        for name, block in (
            ("traffic", traffic),
            ("dl", self._blocks.blocks["dl_0"]),
            ("tl", self._blocks.blocks["tl_0"]),
            ("upli", self._blocks.blocks["upli"]),
            ("phy", self._phy),
        ):
            connect(m, getattr(windows, name), block.bus)
        self._blocks.bind(m, station)
        lost = station.dl_status[0].crc_errors
        before = Signal.like(lost)
        m.d.sync += before.eq(lost)
        m.d.comb += [
            leds.online.eq(station.dl_status[0].online),
            leds.traffic.eq(traffic.originator.req.vld),
            leds.error.eq(lost != before),
            self.frame.leds.eq(leds.leds),
        ]
        return m
