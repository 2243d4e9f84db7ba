"""Proofs about the packer as a stream, whatever is offered to it."""

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.dl.flit.packer import PACKED_BEAT_LAYOUT, Packer


class Bench(wiring.Component):
    """A packer under free inputs."""

    def __init__(self):
        super().__init__(
            {
                "flit_valid": In(1),
                "flit_data": In(512),
                "flit_message": In(2),
                "message_valid": In(1),
                "message": In(32),
                "accept_one": In(1),
                "accept_two": In(1),
                "channel_online": In(1),
                "flush": In(1),
                "ready": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.packer = packer = Packer()
        m.d.comb += [
            packer.flit.valid.eq(self.flit_valid),
            packer.flit.p.data.eq(self.flit_data),
            packer.flit.p.message.eq(self.flit_message),
            packer.message.valid.eq(self.message_valid),
            packer.message.payload.eq(self.message),
            packer.accept_one.eq(self.accept_one),
            packer.accept_two.eq(self.accept_two),
            packer.channel_online.eq(self.channel_online),
            packer.flush.eq(self.flush),
            packer.beat.ready.eq(self.ready),
        ]

        held = Signal()
        made = Signal()
        flushed = Signal()
        beat = Signal(PACKED_BEAT_LAYOUT)
        m.d.sync += [
            held.eq(packer.beat.valid & ~self.ready & ~self.flush),
            made.eq((packer.flit.ready & self.flit_valid) | (packer.message.ready & self.message_valid)),
            flushed.eq(self.flush),
            beat.eq(packer.beat.p),
        ]
        with m.If(held):
            m.d.comb += [Assert(packer.beat.valid), Assert(packer.beat.p == beat)]
        with m.If(made):
            m.d.comb += Assert(packer.beat.valid)
            with m.If(packer.beat.p.last):
                m.d.comb += Assert(packer.beat.p.payload)
        with m.If(flushed):
            m.d.comb += [Assert(~packer.beat.valid), Assert(~packer.flit.ready), Assert(~packer.message.ready)]
        with m.If(~self.channel_online):
            m.d.comb += Assert(~packer.flit.ready)
        with m.If(self.flush | (packer.beat.valid & ~self.ready)):
            m.d.comb += [Assert(~packer.flit.ready), Assert(~packer.message.ready)]
        return m


def test_offered_beats_stand_still_and_nothing_is_taken_without_a_beat():
    prove(Bench(), mode="prove", depth=2)
