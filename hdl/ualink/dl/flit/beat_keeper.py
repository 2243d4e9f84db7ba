"""Keeps one beat on its way to the wire, so that a stall is heard a cycle late (UALink_200 §7.2)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.interface import TX_BEAT_LAYOUT

__all__ = ["BeatKeeper"]


class BeatKeeper(wiring.Component):
    """The last stage towards the wire: ``beats_out.ready`` goes into two registers of one meaning and nowhere else.

    What comes while the wire stalls is kept; only from the next cycle on ``beats_in`` has to wait. Latency 0, one more
    cycle for each beat that is kept; as many beats go as ``beats_out.ready`` lets go.

    Members
    -------
    beats_in : stream of ``TX_BEAT_LAYOUT``; ``ready`` is a register, reset value 1.
    beats_out : stream of ``TX_BEAT_LAYOUT``; an offered beat does not change before it is taken, unless it does so at
        ``beats_in``.
    """

    def __init__(self):
        super().__init__(
            {
                "beats_in": In(stream.Signature(TX_BEAT_LAYOUT)),
                "beats_out": Out(stream.Signature(TX_BEAT_LAYOUT)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        came, leaves = self.beats_in, self.beats_out
        # Each the inverse of the other: one for all that moves before this stage, one for the stage itself.
        room, kept = Signal(init=1), Signal()
        place = Signal(TX_BEAT_LAYOUT, reset_less=True)
        # What is not kept may be anything: the place does not wait for ``ready`` either.
        with m.If(~kept):
            m.d.sync += place.eq(came.p)
        m.d.sync += [
            room.eq(leaves.ready | (room & ~came.valid)),
            kept.eq(~leaves.ready & (kept | came.valid)),
        ]
        m.d.comb += [
            came.ready.eq(room),
            leaves.valid.eq(came.valid | kept),
            leaves.p.eq(Mux(kept, place, came.p)),
        ]
        return m
