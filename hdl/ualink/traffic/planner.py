"""The Requests of a run, one after the other."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.traffic.interface import LINE_BITS, PLACE_BITS, PLAN, Command, Destinations, Pattern, SettingsSignature
from ualink.traffic.line_data import step

__all__ = ["Planner"]


class Planner(wiring.Component):
    """Chooses command, size, address and destination of each Request from one number of a random sequence.

    The sequence depends on the settings alone, not on when Requests are taken: a second run with the same settings
    asks the same again. The first plan is offered two cycles after ``restart``, the next one in each cycle.

    Members
    -------
    settings : stay as they are from ``restart`` on.
    restart : 1 bit, begin with the first Request.
    plan : the next Request.
    """

    def __init__(self):
        super().__init__(
            {
                "settings": In(SettingsSignature()),
                "restart": In(1),
                "plan": Out(stream.Signature(PLAN)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        s, plan = self.settings, self.plan
        state = Signal(64, init=1)
        pointer, following = Signal(PLACE_BITS), Signal(PLACE_BITS)
        advance = Signal()
        m.d.comb += advance.eq(~plan.valid | plan.ready)

        # Which command, and of how many lines.
        chance = state[41:49]
        to_write, to_atomic = Signal(10), Signal(11)
        command, beats = Signal(Command), Signal(2)
        m.d.comb += [
            to_write.eq(s.read + s.write),
            to_atomic.eq(to_write + s.atomic),
            command.eq(
                Mux(
                    chance < s.read,
                    Command.READ,
                    Mux(
                        chance < to_write,
                        Command.WRITE,
                        Mux(chance < to_atomic, Command.ATOMIC, Command.WRITE_FULL),
                    ),
                )
            ),
            beats.eq(Mux(command == Command.ATOMIC, 0, Mux(s.random_size, state[49:51], s.size))),
        ]

        # Where: a place in the region, moved down where the lines would leave their block of four.
        mask, hot, place, offset = (Signal(PLACE_BITS, name=name) for name in ("mask", "hot", "place", "offset"))
        by_pointer = (s.pattern == Pattern.STREAM) | (s.pattern == Pattern.STRIDE)
        is_hot = (s.pattern == Pattern.HOT_SPOT) & (state[33:41] < s.hot_share)
        last = Signal(2)
        m.d.comb += [
            mask.eq(_lines(s.region)),
            hot.eq(_lines(s.hot_region)),
            place.eq(Mux(by_pointer, pointer, state[:PLACE_BITS]) & mask & Mux(is_hot, hot, ~Const(0, PLACE_BITS))),
            last.eq(3 - beats),
            offset.eq(Cat(Mux(place[:2] > last, last, place[:2]), place[2:])),
            following.eq(Mux(s.pattern == Pattern.STREAM, offset + beats + 1, pointer + s.stride)),
        ]
        line = Signal(LINE_BITS)
        m.d.comb += line.eq((Cat(Const(0, 2), s.base) & ~Cat(mask, Const(0, LINE_BITS - PLACE_BITS))) | offset)

        # To whom.
        turn, index, chosen, dst = Signal(10), Signal(10), Signal(10), Signal(10)
        m.d.comb += [
            index.eq(
                Mux(
                    s.destinations == Destinations.ROUND_ROBIN,
                    turn,
                    Mux(s.destinations == Destinations.RANDOM, (state[51:61] * s.count)[10:20], 0),
                )
            ),
            chosen.eq(s.first + index),
            dst.eq(chosen + (s.skip_own & (chosen >= s.own))),
        ]

        strict = s.verify & (command != Command.READ)
        with m.If(self.restart):
            m.d.sync += [state.eq(s.seed), pointer.eq(0), turn.eq(0), plan.valid.eq(0)]
        with m.Elif(advance):
            m.d.sync += [
                plan.valid.eq(1),
                plan.p.command.eq(Mux(strict, Command.READ, command)),
                plan.p.line.eq(line),
                plan.p.dst.eq(dst),
                plan.p.beats.eq(beats),
                plan.p.strict.eq(strict),
                plan.p.masked.eq(s.sparse & (command == Command.WRITE)),
                state.eq(step(m, state, "next_state")),
                pointer.eq(following),
                turn.eq(Mux(turn + 1 >= s.count, 0, turn + 1)),
            ]
        return m


def _lines(blocks):
    """Mask of the lines of a region of ``2 ** blocks`` blocks."""
    return Cat(Const(3, 2), *(blocks > n for n in range(PLACE_BITS - 2)))
