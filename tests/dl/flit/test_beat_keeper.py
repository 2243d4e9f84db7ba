"""The keeper at the wire: beats leave as they came, in every cycle in which the wire takes one."""

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.dl.flit.beat_keeper import BeatKeeper


class Beats(wiring.Component):
    """Numbered beats through a keeper, with gaps and stalls anywhere."""

    valid: In(1)
    ready: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = BeatKeeper()
        came, leaves = dut.beats_in, dut.beats_out
        width = len(came.p.data)
        taken, sent = Signal(8), Signal(8)
        started, stalled, kept, took = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            came.valid.eq(self.valid),
            came.p.data.eq(taken.replicate(width // len(taken))),
            came.p.first.eq(taken[0]),
            came.p.last.eq(taken[1]),
            came.p.port.eq(taken[:2]),
            leaves.ready.eq(self.ready),
            # One is kept if the offer is not.
            Assert((taken - sent)[: len(taken)] == ~came.ready),
            Assert(leaves.valid == (self.valid | ~came.ready)),
        ]
        with m.If(leaves.valid):
            m.d.comb += [
                Assert(leaves.p.data == sent.replicate(width // len(sent))),
                Assert(leaves.p.first == sent[0]),
                Assert(leaves.p.last == sent[1]),
                Assert(leaves.p.port == sent[:2]),
            ]
        m.d.sync += [
            taken.eq(taken + (came.valid & came.ready)),
            sent.eq(sent + (leaves.valid & leaves.ready)),
            started.eq(1),
            stalled.eq(~leaves.ready),
            kept.eq(~came.ready),
            took.eq(came.ready & came.valid),
        ]
        with m.If(started):
            # The stall of the wire is the source's a cycle later, unless there was nothing to keep; no other is.
            m.d.comb += Assert(came.ready == ~(stalled & (took | kept)))
        return m


def test_beats_leave_as_they_came_and_no_cycle_is_lost():
    prove(Beats(), mode="prove", depth=2)
