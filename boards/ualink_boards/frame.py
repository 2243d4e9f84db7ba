"""What a design has of a board: serial line, LEDs, lanes; and the top of a bitstream."""

from amaranth.hdl import ClockDomain, Elaboratable, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from ualink.phy.serdes.ecp5_dcu import Ecp5Dcu, Ecp5ReferenceInput
from ualink.phy.serdes.ecp5_reset import Ecp5ResetTimes
from ualink.phy.serdes.interface import LaneStatusSignature, SerdesLaneSignature

from .board import LED_MEANINGS, Ecp5Board
from .ecp5_clock import Ecp5Clock
from .pins import attach, read_pin

__all__ = ["Ecp5Top", "FrameSignature"]


class FrameSignature(wiring.Signature):
    """A design's view of its board.

    The board makes the domains ``sync``, and ``tx<l>`` and ``rx<l>`` of each lane l.

    Members
    -------
    rx, tx : the serial line, from and to the computer.
    leds : one of ``LED_MEANINGS`` each, 1 lit.
    lanes, status : ``SerdesLaneSignature(width)`` and ``LaneStatusSignature`` of each lane.
    """

    def __init__(self, lanes: int, width: int):
        super().__init__(
            {
                "rx": In(1, init=1),
                "tx": Out(1, init=1),
                "leds": Out(len(LED_MEANINGS)),
                "lanes": Out(SerdesLaneSignature(width)).array(lanes),
                "status": In(LaneStatusSignature()).array(lanes),
            }
        )


class Ecp5Top(Elaboratable):
    """A design on a board with an ECP5: what is made into a bitstream."""

    def __init__(self, board: Ecp5Board, design: wiring.Component):
        self._board, self._design = board, design
        self._clock = Ecp5Clock(board.clock_hz, design.registers.clock_hz)
        self._units = []
        lane = 0
        for place in board.units:
            self._units.append(
                Ecp5Dcu(
                    place,
                    rate=board.rate,
                    width=board.width,
                    times=Ecp5ResetTimes.at(design.registers.clock_hz),
                    first_lane=lane,
                )
            )
            lane += len(place.channels)

    @property
    def clock_hz(self) -> dict[str, float]:
        """Frequencies of all domains."""
        found: dict[str, float] = {"sync": self._design.registers.clock_hz}
        for unit in self._units:
            found |= unit.clock_hz
        return found

    def elaborate(self, platform):
        m = Module()
        board = self._board
        m.domains += [ClockDomain(name) for name in self.clock_hz if not name.endswith("_half")]
        m.submodules.design = design = self._design
        m.submodules.clock = clock = self._clock
        oscillator = read_pin(m, "clock", platform.request(board.clock, dir="-"))
        m.d.comb += [clock.clock.eq(oscillator), clock.reset.eq(attach(m, platform, board, design.frame))]
        if board.reference is None:
            reference = oscillator
        else:
            m.submodules.reference = pins = Ecp5ReferenceInput(board.reference)
            reference = pins.clock
        lane = 0
        for number, unit in enumerate(self._units):
            m.submodules[f"unit{number}"] = unit
            m.d.comb += unit.reference.eq(reference)
            for serdes, status in zip(unit.lanes, unit.status):
                connect(m, design.frame.lanes[lane], serdes)
                connect(m, status, design.frame.status[lane])
                lane += 1
        return m
