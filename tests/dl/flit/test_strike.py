"""The stages of error injection: nothing but the bit asked for changes, and nothing at all unless asked."""

from amaranth.hdl import Assert, Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.dl.flit.strike import BeatStrike, FlitStrike
from ualink.phy.interface import TxKind


class Flits(wiring.Component):
    """Any flits through a ``FlitStrike``."""

    payload: In(580)
    valid: In(1)
    ready: In(1)
    data: In(1)
    control: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = FlitStrike()
        assert len(self.payload) == len(dut.flit_in.p.as_value())
        came, leaves = dut.flit_in, dut.flit_out
        changed = leaves.p.as_value() ^ came.p.as_value()
        bits = leaves.p.shape()
        control = bits["control_parity"].offset
        m.d.comb += [
            came.payload.eq(self.payload),
            came.valid.eq(self.valid),
            leaves.ready.eq(self.ready),
            dut.data.eq(self.data),
            dut.control.eq(self.control),
            Assert(bits["data"].offset == 0),
            Assert(changed == ((self.control << control) | self.data)),
            Assert(Cat(leaves.valid, came.ready) == Cat(self.valid, self.ready)),
            Assert(dut.passed == (self.valid & self.ready)),
        ]
        return m


class Beats(wiring.Component):
    """Any beats through a ``BeatStrike``."""

    payload: In(516)
    valid: In(1)
    ready: In(1)
    bit: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = BeatStrike()
        assert len(self.payload) == len(dut.beats_in.p.as_value())
        came, leaves = dut.beats_in, dut.beats_out
        first = came.p.first & (came.p.kind == TxKind.DATA)
        m.d.comb += [
            came.payload.eq(self.payload),
            came.valid.eq(self.valid),
            leaves.ready.eq(self.ready),
            dut.bit.eq(self.bit),
            Assert((leaves.p.data ^ came.p.data) == (self.bit & first)),
            Assert(Cat(leaves.p.first, leaves.p.last) == Cat(came.p.first, came.p.last)),
            Assert(leaves.p.kind == came.p.kind),
            Assert(Cat(leaves.valid, came.ready) == Cat(self.valid, self.ready)),
            Assert(dut.struck == (self.valid & self.ready & first)),
            Assert(dut.slot_end == (self.valid & self.ready & came.p.last)),
        ]
        return m


def test_of_a_flit_only_the_bit_asked_for_changes():
    prove(Flits(), mode="prove", depth=1)


def test_of_a_beat_only_the_bit_asked_for_changes():
    prove(Beats(), mode="prove", depth=1)
