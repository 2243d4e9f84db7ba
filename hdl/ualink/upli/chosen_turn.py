"""What the port of a slot offers to a device that serves one, two or four ports in turn, as many as are used."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.ports_used import slot_after, used_member
from ualink.lib.presence import Presence
from ualink.lib.select import of_now
from ualink.upli.channels import beat_stream
from ualink.upli.code import code_of

__all__ = ["ChosenTurn"]

TOLD_LATER = (2, 3)
"""Ports that only take turns with all four."""


class ChosenTurn(wiring.Component):
    """A ``Turn`` of four ports of which as many take turns as are used.

    Of several ports it does the same, but ports 0 and 1 hear in their slot that their beat is taken, and ports 2 and 3
    a cycle later.

    One port alone gives its beats away: that of the next cycle, and one behind it, which has a place here for when
    that of this cycle is not taken. So no beat waits for what the device decides in the same cycle. Whether there are
    the two is kept twice (``Presence``). Where that differs a beat may be lost, and after that of this cycle comes one
    with a wrong code.

    Parameters
    ----------
    channel : ``"req"``, ``"orig_data"``, ``"rd_rsp"`` or ``"wr_rsp"``.
    coded : beats have a code, as of ``beat_stream``; it is wrong without ``beats.valid``.

    Attributes
    ----------
    used : as of ``ports_used``; it changes in reset only.
    moves : 1 bit, there is a beat here.
    slot : 2 bits, port that owns this cycle: 0, 1, … without a pause.
    offered : stream of beats of each port; what is there stays until it is taken.
    beats : that of the port of ``slot``, a cycle later than it was offered at the earliest.
    """

    def __init__(self, channel: str, *, coded: bool = False):
        self.ports, self._coded = 4, coded
        super().__init__(
            {
                **used_member(True),
                "moves": Out(1),
                "slot": In(2),
                "offered": In(beat_stream(channel, coded=coded)).array(self.ports),
                "beats": Out(beat_stream(channel, coded=coded)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        following, alone = slot_after(self.slot, self.ports, self.used), self.used[0]
        offered, comes = Signal.like(self.beats.p), Signal()
        m.d.comb += [
            comes.eq(of_now(following, [stream.valid for stream in self.offered])),
            Value.cast(offered).eq(of_now(following, [stream.p for stream in self.offered])),
        ]
        beat = Signal.like(self.beats.p, reset_less=True)
        there = Presence(m, "there", protected=self._coded)
        m.d.comb += [self.beats.valid.eq(there.here), self.beats.p.eq(beat)]
        taken, doubtful = self._taken(m)
        stays = Signal()
        m.d.comb += stays.eq(alone & there.here & ~self.beats.ready)
        waits = Presence(m, "waits", protected=self._coded)
        waits.becomes(m, stays & (waits.here | self.offered[0].valid))
        behind = Signal.like(beat, name="behind", reset_less=True)
        with m.If(~waits.here):
            m.d.sync += behind.eq(self.offered[0].p)
        chosen = Signal.like(beat, name="chosen")
        m.d.comb += chosen.eq(Mux(waits.here, behind, offered))
        taken[0] = Mux(alone, ~waits.here, taken[0])
        lost, untold = Signal(), Signal()
        m.d.comb += lost.eq(untold | (alone & (there.torn | waits.torn)))
        # It is told by what is there next.
        m.d.sync += untold.eq(lost & stays)
        comes, doubtful = comes | waits.here | lost, doubtful | lost
        m.d.comb += self.moves.eq(there.here | waits.here)
        there.becomes(m, comes | stays)
        with m.If(~stays):
            m.d.sync += beat.eq(chosen)
            if self._coded:
                # What is no beat is wrong where an upset makes one of it.
                m.d.sync += beat.code.control.eq(code_of(chosen.code.control, ~comes | doubtful))
        for port, stream in enumerate(self.offered):
            # What came too late to be chosen is not taken either.
            m.d.comb += stream.ready.eq(taken[port])
        return m

    def _taken(self, m):
        """Of each of several ports whether its beat is taken; and whether it may have been, of the port that is chosen
        now."""
        goes = self.beats.valid & self.beats.ready
        told = [goes & (self.slot == port) for port in range(self.ports)]
        taken = Presence(m, "taken")
        taken.becomes(m, goes & Cat(self.slot == port for port in TOLD_LATER).any())
        unheard = Const(0)
        for port in TOLD_LATER:
            told[port] = taken.here & (self.slot == (port + 1) % self.ports)
            # After an upset a port may not know of its beat in that cycle.
            unheard |= told[port] & ~self.offered[port].valid
        doubtful = Signal(2)
        m.d.sync += doubtful.eq(Cat(taken.torn | unheard, doubtful[0]))
        return told, doubtful[1]
