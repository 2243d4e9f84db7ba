"""Design ``bert``: the SERDES alone, a pseudo-random sequence and an error counter on each lane."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from ualink.csr.console import ConsoleRegisters
from ualink.csr.design import RegisterDesign

from ..board import LED_MEANINGS, Board
from ..frame import FrameSignature
from .bert_lane import BertLane

__all__ = ["Bert"]

_SHOWN_BITS = 24


class Bert(wiring.Component):
    """A lane of ``BertLane`` on each lane of the board, registers on its serial line, LEDs.

    LEDs: *reference*, *signal*, *words*, *locked* are lit when that is so on every lane; *error* after a wrong bit for
    a third of a second or so; *loopback* when a lane has one; *traffic* as *locked*.

    Members
    -------
    frame : to the board, ``FrameSignature``.
    """

    needs_lanes = 1
    synthesis_options = place_options = ""

    def __init__(self, board: Board):
        self._clock_hz = board.sync_hz
        self._lanes = [
            BertLane(lane, width=board.width, line_rate=board.line_rate, clock_hz=board.sync_hz)
            for lane in range(board.lanes)
        ]
        self.registers = RegisterDesign(
            "bert", board.sync_hz, tuple((f"lane{n}", lane.registers) for n, lane in enumerate(self._lanes))
        )
        self._console = ConsoleRegisters(self.registers, board.baud)
        super().__init__({"frame": wiring.Out(FrameSignature(board.lanes, board.width))})

    def elaborate(self, platform):
        m = Module()
        frame = self.frame
        m.submodules.console = console = self._console
        m.d.comb += [console.rx.eq(frame.rx), frame.tx.eq(console.tx)]
        for number, lane in enumerate(self._lanes):
            m.submodules[f"lane{number}"] = lane
            connect(m, getattr(console.windows, f"lane{number}"), lane.bus)
            connect(m, lane.serdes, flipped(frame.lanes[number]))
            connect(m, lane.lane_status, flipped(frame.status[number]))

        alive, error = Signal(_SHOWN_BITS), Signal(_SHOWN_BITS)
        m.d.sync += [alive.eq(alive + 1), error.eq(error - error.any())]
        with m.If(_any(lane.error for lane in self._lanes)):
            m.d.sync += error.eq(-1)
        locked = _all(lane.locked for lane in self._lanes)
        shown = {
            "alive": alive[-1],
            "reference": _all(lane.lane_status.pll_locked for lane in self._lanes),
            "signal": _all(lane.lane_status.signal for lane in self._lanes),
            "words": _all(lane.ready for lane in self._lanes),
            "locked": locked,
            "traffic": locked,
            "error": error.any(),
            "loopback": _any(lane.looped for lane in self._lanes),
        }
        m.d.sync += [led.eq(shown[meaning]) for led, meaning in zip(frame.leds, LED_MEANINGS)]
        return m


def _all(bits):
    found = 1
    for bit in bits:
        found = found & bit
    return found


def _any(bits):
    found = 0
    for bit in bits:
        found = found | bit
    return found
