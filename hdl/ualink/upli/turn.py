"""What the port of a slot offers to a device that serves all ports in turn."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice
from ualink.lib.ports_used import slot_after
from ualink.lib.presence import Presence
from ualink.lib.select import of_now
from ualink.upli.channels import beat_stream
from ualink.upli.code import code_of

__all__ = ["Turn"]


class Turn(wiring.Component):
    """One stream out of one per port: in each cycle that of the port whose slot it is. All of them take turns; where it
    is chosen how many do, there is ``ChosenTurn``.

    It comes out of registers, chosen in the cycle before: what a port offers it offers until its slot, in which it may
    be taken. So what a port offers in the cycle before its slot at the latest is there in its slot.

    A port hears in its slot that its beat is taken; one of four a cycle later, out of a register: two cycles before its
    next beat is chosen. That register is kept twice (``Presence``). Where the two differ, or the port offers nothing in
    that cycle, it has heard of nothing, and what is chosen for it next has a wrong code: it may have been taken.

    Parameters
    ----------
    channel : ``"req"``, ``"orig_data"``, ``"rd_rsp"`` or ``"wr_rsp"``.
    ports : 2 or 4.
    coded : beats have a code, as of ``beat_stream``; it is wrong without ``beats.valid``.

    Attributes
    ----------
    slot : 2 bits, port that owns this cycle: 0, 1, … without a pause.
    offered : stream of beats of each port; what is there stays until it is taken.
    beats : that of the port of ``slot``.
    """

    def __init__(self, channel: str, ports: int, *, coded: bool = False):
        check_choice("turn.ports", ports, (2, 4))
        self.ports, self._coded = ports, coded
        super().__init__(
            {
                "slot": In(2),
                "offered": In(beat_stream(channel, coded=coded)).array(ports),
                "beats": Out(beat_stream(channel, coded=coded)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        following = slot_after(self.slot, self.ports)
        chosen, comes, there = Signal.like(self.beats.p), Signal(), Signal()
        beat = Signal.like(self.beats.p, reset_less=True)
        m.d.comb += [
            comes.eq(of_now(following, [stream.valid for stream in self.offered])),
            Value.cast(chosen).eq(of_now(following, [stream.p for stream in self.offered])),
        ]
        m.d.sync += [there.eq(comes), beat.eq(chosen)]
        taken, doubtful = self._taken(m)
        if self._coded:
            # What is no beat is wrong where an upset makes one of it.
            m.d.sync += beat.code.control.eq(code_of(chosen.code.control, ~comes | doubtful))
        m.d.comb += [self.beats.valid.eq(there), self.beats.p.eq(beat)]
        for port, stream in enumerate(self.offered):
            # What came too late to be chosen is not taken either.
            m.d.comb += stream.ready.eq(taken[port])
        return m

    def _taken(self, m):
        """Of each port whether its beat is taken; and whether it may have been, of the port that is chosen now."""
        goes = self.beats.valid & self.beats.ready
        if self.ports == 2:
            return [goes & (self.slot == port) for port in range(self.ports)], Const(0)
        taken = Presence(m, "taken")
        taken.becomes(m, goes)
        told = [taken.here & (self.slot == (port + 1) % self.ports) for port in range(self.ports)]
        # After an upset a port may not know of its beat in that cycle.
        unheard = Cat(one & ~stream.valid for one, stream in zip(told, self.offered)).any()
        doubtful = Signal(2)
        m.d.sync += doubtful.eq(Cat(taken.torn | unheard, doubtful[0]))
        return told, doubtful[1]
