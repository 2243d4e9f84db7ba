"""Design ``link``: one port of a station with a traffic engine, over the lanes of a board."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from ualink.config import PhyConfig
from ualink.csr.console import ConsoleRegisters
from ualink.csr.design import RegisterDesign
from ualink.csr.table import BusSignature
from ualink.dl.registers.block import DLRegisterBlock
from ualink.phy.pcs.pcs import PCS
from ualink.phy.reconciliation import Reconciliation
from ualink.phy.register_block import PhyRegisterBlock
from ualink.station import Station
from ualink.tl.registers.block import TLRegisterBlock
from ualink.traffic.engine import TrafficEngine
from ualink.upli.agent_registers import AGENT_REGISTERS, AGENTS, AgentRegisterBlock

from ..board import LED_MEANINGS, Board
from ..frame import FrameSignature
from .link_config import LINK_PHY, LINK_STATION, LINK_TRAFFIC

__all__ = ["Link", "lanes_used"]

_SHOWN_BITS = 24


class Link(wiring.Component):
    """An accelerator as a partner on the wire sees one: traffic engine, station, reconciliation sublayer, PCS.

    Two boards, or a board whose lanes are looped back, read and write each other's memory. Registers are on the serial
    line, in the windows ``traffic``, ``dl``, ``tl``, ``upli`` and ``phy``.

    LEDs: *reference*, *signal*, *words* are lit when that is so on every lane, *locked* when the link is up; *traffic*
    and *error* for a third of a second or so after a Request of the engine was sent and after a flit was lost or
    damaged; *loopback* when a lane has one.

    Parameters
    ----------
    board : its lanes, one, two or four of them, and its clocks.
    phy : markers and Idle flits.
    lanes : as many, in place of all that the board has.
    serial : the registers are on the serial line; else ``windows`` are buses to them.

    Members
    -------
    frame : to the board, ``FrameSignature``.
    windows : without ``serial``: ``windows.<name>`` is the bus of each window.
    """

    needs_lanes = 1
    synthesis_options = "-nowidelut"
    """Without the multiplexers between LUTs, which ask for more of these and tie them to neighbours."""

    def __init__(self, board: Board, phy: PhyConfig = LINK_PHY, *, lanes: int | None = None, serial: bool = True):
        frame = FrameSignature(lanes or board.lanes, board.width)
        lanes = lanes or lanes_used(board)
        self._lanes, self._board = lanes, board
        self._station = Station(LINK_STATION)
        self._traffic = TrafficEngine(LINK_TRAFFIC)
        self._rs = Reconciliation(phy)
        self._pcs = PCS(
            lanes=lanes,
            width=board.width,
            marker_blocks=phy.marker_blocks,
            marker_interval=phy.marker_slots,
        )
        self._dl_registers = DLRegisterBlock(LINK_STATION.port_dl)
        self._tl_registers = TLRegisterBlock(LINK_STATION.tl)
        self._agents = AgentRegisterBlock()
        self._phy = PhyRegisterBlock(phy, lanes=lanes, line_rate=board.line_rate)
        self.registers = RegisterDesign(
            "link",
            board.station_hz,
            (
                ("traffic", self._traffic.registers),
                ("dl", self._dl_registers.registers),
                ("tl", self._tl_registers.registers),
                ("upli", AGENT_REGISTERS),
                ("phy", self._phy.registers),
            ),
        )
        self._console = ConsoleRegisters(self.registers, board.baud) if serial else None
        buses = {name: wiring.Out(BusSignature(table.address_bits)) for name, table in self.registers.windows}
        members = {"frame": wiring.Out(frame)}
        super().__init__(members if serial else members | {"windows": wiring.In(wiring.Signature(buses))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.station = station = self._station
        m.submodules.traffic = traffic = self._traffic
        m.submodules.rs = rs = self._rs
        m.submodules.pcs = pcs = self._pcs
        windows = self._console.windows if self._console is not None else flipped(self.windows)
        if self._console is not None:
            m.submodules.console = self._console
        m.submodules.phy_registers = self._phy
        connect(m, traffic.originator, station.upli_completer)
        connect(m, station.upli_originator, traffic.completer)
        connect(m, station.rs, rs.dl)
        connect(m, rs.pcs, pcs.blocks)
        m.d.comb += rs.slot.eq(station.slot)
        if self._console is not None:
            m.d.comb += [self._console.rx.eq(self.frame.rx), self.frame.tx.eq(self._console.tx)]
        for name, block in (
            ("traffic", traffic),
            ("dl", self._dl_registers),
            ("tl", self._tl_registers),
            ("upli", self._agents),
            ("phy", self._phy),
        ):
            connect(m, getattr(windows, name), block.bus)
        self._connect_registers(m)
        self._connect_lanes(m)
        self._show(m)
        return m

    def _connect_registers(self, m: Module):
        station, dl, tl, agents = self._station, self._dl_registers, self._tl_registers, self._agents
        m.submodules.dl_registers, m.submodules.tl_registers, m.submodules.agent_registers = dl, tl, agents
        connect(m, dl.dl_config, station.dl_config[0])
        connect(m, station.dl_status[0], dl.dl_status)
        connect(m, dl.uart_tx, station.dl_uart_tx[0])
        connect(m, station.dl_uart_rx[0], dl.uart_rx)
        connect(m, tl.tl_control, station.tl_control[0])
        connect(m, station.tl_status[0], tl.tl_status)
        m.d.comb += [dl.here.eq(1), tl.here.eq(1)]
        for agent in AGENTS:
            status, control = getattr(station, f"{agent}_status"), getattr(station, f"{agent}_control")
            m.d.comb += control.clear_errors.eq(getattr(agents, f"{agent}_clear_errors"))
            for name in status.signature.members:
                m.d.comb += getattr(agents, f"{agent}_{name}").eq(getattr(status, name))

    def _connect_lanes(self, m: Module):
        pcs, phy, frame = self._pcs, self._phy, self.frame
        connect(m, self._rs.status[0], phy.rs)
        m.d.comb += [
            pcs.ber_monitor.eq(phy.ber_monitor),
            pcs.clear.eq(phy.clear),
            phy.aligned.eq(pcs.aligned),
            phy.hi_ber.eq(pcs.hi_ber),
            phy.running.eq(pcs.running),
            phy.underflow.eq(pcs.underflow),
        ]
        for number in range(self._lanes):
            connect(m, pcs.lane[number], phy.lane[number])
            connect(m, flipped(frame.status[number]), phy.serdes[number])
            words, lane, settings = pcs.lanes[number], frame.lanes[number], phy.settings[number]
            m.d.comb += [
                lane.tx_data.eq(words.tx_data),
                words.rx_data.eq(lane.rx_data),
                words.tx_ready.eq(lane.tx_ready),
                words.rx_ready.eq(lane.rx_ready),
                lane.loopback.eq(settings.loopback),
                lane.reset.eq(settings.reset),
                lane.tx_invert.eq(settings.tx_invert),
                lane.rx_invert.eq(settings.rx_invert),
            ]

    def _show(self, m: Module):
        frame, rs = self.frame, self._rs.status[0]
        alive, traffic, error = (Signal(_SHOWN_BITS, name=name) for name in ("alive", "traffic_shown", "error_shown"))
        m.d.sync += alive.eq(alive + 1)
        request = self._traffic.originator.req
        lost = self._station.dl_status[0].crc_errors
        before = Signal.like(lost)
        m.d.sync += before.eq(lost)
        for shown, event in ((traffic, request.vld), (error, rs.received_bad | (lost != before))):
            m.d.sync += shown.eq(shown - shown.any())
            with m.If(event):
                m.d.sync += shown.eq(-1)

        lanes = range(self._lanes)
        reference, signal, words, looped = 1, 1, 1, 0
        for number in lanes:
            status = frame.status[number]
            reference, signal, words = reference & status.pll_locked, signal & status.signal, words & status.ready
            looped = looped | (self._phy.settings[number].loopback.as_value() != 0)
        meanings = {
            "alive": alive[-1],
            "reference": reference,
            "signal": signal,
            "words": words,
            "locked": self._station.dl_status[0].online,
            "traffic": traffic.any(),
            "error": error.any(),
            "loopback": looped,
        }
        m.d.sync += [led.eq(meanings[meaning]) for led, meaning in zip(frame.leds, LED_MEANINGS)]


def lanes_used(board: Board) -> int:
    """One, two or four lanes of those that the board has."""
    return max(lanes for lanes in (1, 2, 4) if lanes <= board.lanes)
