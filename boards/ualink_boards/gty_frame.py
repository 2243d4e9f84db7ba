"""The top of a bitstream for a board with GTY transceivers."""

from amaranth.hdl import ClockDomain, ClockSignal, Elaboratable, Module
from amaranth.lib import wiring
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.lib.wiring import connect

from ualink.phy.serdes.gty import GtyLanes

from .board import GtyBoard

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
        m.domains += ClockDomain("sync")
        m.d.comb += ClockSignal("sync").eq(platform.request(board.clock).i)
        m.submodules.reset = ResetSynchronizer(platform.request(board.reset).i, domain="sync")
        uart = platform.request("uart")
        m.d.comb += [
            design.frame.rx.eq(uart.rx.i),
            uart.tx.o.eq(design.frame.tx),
            *(led.eq(shown) for led, shown in zip(board.leds(platform), design.frame.leds)),
            *(platform.request(name).o.eq(1) for name in board.high),
            *(platform.request(name).o.eq(0) for name in board.low),
        ]
        reference = platform.request("qsfp_reference", dir={"p": "-", "n": "-"})
        cage = platform.request("qsfp", dir=dict.fromkeys(("rx_p", "rx_n", "tx_p", "tx_n"), "-"))
        lanes.pins = {"reference_p": reference.p.io, "reference_n": reference.n.io} | {
            name: getattr(cage, name).io for name in ("rx_p", "rx_n", "tx_p", "tx_n")
        }
        for number in range(board.lanes):
            connect(m, design.frame.lanes[number], lanes.lanes[number])
            connect(m, lanes.status[number], design.frame.status[number])
        return m
