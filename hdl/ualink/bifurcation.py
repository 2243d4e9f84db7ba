"""How many ports of a station are in force, and when another number may be (UALink_200 §2.5, §7.1, §10.2)."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.ports_used import FOUR_USED, RESTART_CYCLES

__all__ = ["QUIET_CYCLES", "Bifurcation", "BifurcationMode", "BifurcationSignature"]

QUIET_CYCLES = 64
"""So long nothing has moved at a station when it is taken for empty: longer than a beat is on its way through it."""


class BifurcationMode(enum.Enum, shape=2):
    """Links of a station by what its four lanes make up; a fourth code is none of them."""

    ONE_X4 = 0
    TWO_X2 = 1
    FOUR_X1 = 2


class BifurcationSignature(wiring.Signature):
    """What firmware tells of the number of ports and sees of it. Reset values are that of four ports, and 0.

    Members
    -------
    wanted : ``BifurcationMode``, 2 bit; any other code is what is in force.
    in_force : ``BifurcationMode``, 2 bit; another one with the end of the restart.
    pending : 1 bit: ``wanted`` is not in force yet.
    links_down : 1 bit: no link is further than DL Idle.
    """

    def __init__(self):
        super().__init__(
            {
                "wanted": Out(2, init=BifurcationMode.FOUR_X1.value),
                "in_force": In(BifurcationMode, init=BifurcationMode.FOUR_X1),
                "pending": In(1),
                "links_down": In(1),
            }
        )


class Bifurcation(wiring.Component):
    """Puts into force what is ``wanted``, once all links have been down and nothing has moved for ``QUIET_CYCLES``.

    During ``restart`` all that serves the ports has to be reset. Another number is used from its second cycle on, so
    that copies of ``used`` that are some cycles late agree when it is over.

    Members
    -------
    choice : ``BifurcationSignature``, from firmware.
    links_down : 1 bit, no link is further than DL Idle.
    moves : 1 bit, a beat waits for somebody, or is on an interface.
    used : as of ``ports_used``, register.
    restart : 1 bit, register, reset value 0, ``RESTART_CYCLES`` long.
    """

    def __init__(self):
        super().__init__(
            {
                "choice": In(BifurcationSignature()),
                "links_down": In(1),
                "moves": In(1),
                "used": Out(3, init=FOUR_USED),
                "restart": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        wanted, quiet = Signal(3), Signal(range(QUIET_CYCLES))
        with m.Switch(self.choice.wanted):
            for n in range(3):
                with m.Case(n):
                    m.d.comb += wanted.eq(1 << n)
            with m.Default():
                m.d.comb += wanted.eq(self.used)
        waits = wanted != self.used
        due, began, left = Signal(), Signal(), Signal(range(RESTART_CYCLES))
        told = Signal.like(Value.cast(self.choice.in_force), init=BifurcationMode.FOUR_X1.value)
        m.d.comb += [
            due.eq(quiet == QUIET_CYCLES - 1),
            self.choice.pending.eq(waits | self.restart),
            self.choice.links_down.eq(self.links_down),
            # Firmware hears of it when the station can be used.
            self.choice.in_force.eq(Mux(self.restart, told, self.used[1:])),
        ]
        m.d.sync += told.eq(self.choice.in_force)
        m.d.sync += [quiet.eq(0), began.eq(due), self.restart.eq(due | (left != 0)), left.eq(left - (left != 0))]
        with m.If(due):
            m.d.sync += left.eq(RESTART_CYCLES - 1)
        with m.Elif(began):
            m.d.sync += self.used.eq(wanted)
        with m.Elif(waits & self.links_down & ~self.moves):
            m.d.sync += quiet.eq(quiet + 1)
        return m
