"""The top of a bitstream for a board with GTY transceivers."""

from amaranth.hdl import ClockDomain, ClockSignal, Elaboratable, Module
from amaranth.lib import wiring
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.lib.wiring import connect

from ualink.phy.serdes.gty import GtyLanes

from .board import GtyBoard
from .pins import attach, read_pin

__all__ = ["GtyTop"]


class GtyTop(Elaboratable):
    """A design on a board with GTY transceivers; ``sync`` has the clock of the board's oscillator."""

    def __init__(self, board: GtyBoard, design: wiring.Component):
        self._board, self._design = board, design
        self._lanes = GtyLanes(lanes=board.lanes, width=board.width, line_rate=board.line_rate)

    @property
    def clock_hz(self) -> dict[str, float]:
        """Frequencies of all domains."""
        return {"sync": self._board.sync_hz, **self._lanes.clock_hz}

    def elaborate(self, platform):
        m = Module()
        board = self._board
        m.submodules.design = design = self._design
        m.submodules.lanes = lanes = self._lanes
        m.domains += [ClockDomain(name) for name in self.clock_hz]
        m.d.comb += ClockSignal("sync").eq(read_pin(m, "clock", platform.request(board.clock, dir="-")))
        m.submodules.reset = ResetSynchronizer(attach(m, platform, board, design.frame), domain="sync")
        reference = platform.request("qsfp_reference", dir={"p": "-", "n": "-"})
        cage = platform.request("qsfp", dir=dict.fromkeys(("rx_p", "rx_n", "tx_p", "tx_n"), "-"))
        lanes.pins = {"reference_p": reference.p.io, "reference_n": reference.n.io} | {
            name: getattr(cage, name).io for name in ("rx_p", "rx_n", "tx_p", "tx_n")
        }
        for number in range(board.lanes):
            connect(m, design.frame.lanes[number], lanes.lanes[number])
            connect(m, lanes.status[number], design.frame.status[number])
        return m
