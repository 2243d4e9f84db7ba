"""Proofs of the framing of the reconciliation sublayer, for every stream of blocks and every behaviour of DL and PCS.

By induction: what the benches assert of registers inside is what makes the rest follow."""

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.config import PhyConfig
from ualink.phy.interface import BEATS_PER_FLIT, TxKind
from ualink.phy.link_fault import LinkFault
from ualink.phy.rs_slots import SlotFinder, SlotState
from ualink.phy.rs_transmit import RSTransmit

CONFIG = PhyConfig(rate=200, marker_interval=8, idle_interval=4)
LAST = BEATS_PER_FLIT - 1
BLOCKS = 80


class Received(wiring.Component):
    """Any blocks in any cycles, ``size`` in each; the words that come out are counted from each ``first``."""

    def __init__(self, size: int):
        self._size = size
        super().__init__({"valid": In(1), "control": In(size), "invalid": In(size), "marker": In(size)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.slots = slots = SlotFinder(self._size)
        m.d.comb += [
            slots.valid.eq(self.valid),
            slots.control.eq(self.control),
            slots.invalid.eq(self.invalid & ~self.control),
            slots.counted.eq(self.control),
            # An AM flit begins with a control block, once in a beat.
            slots.marker.eq(self.marker),
            Assume((self.marker & ~self.control) == 0),
            Assume((self.marker & (self.marker - 1)) == 0),
        ]
        words = BLOCKS // self._size
        beats, counted = Signal(range(words + 1)), Signal(range(words + 1))
        m.d.comb += counted.eq(beats)
        with m.If(slots.emit):
            m.d.comb += [
                counted.eq(Mux(slots.first, 1, beats + 1)),
                # A word that is not the first follows one; that with the 80th block is the last and no other.
                Assert(slots.first | (beats != 0)),
                Assert(slots.last == (counted == words)),
            ]
            m.d.sync += beats.eq(Mux(slots.last, 0, counted))
        in_slot = (slots.state != SlotState.HUNT) & (slots.state != SlotState.CONTROL)
        at_once, left = slots.place[0], slots.beats_left
        # Those that are out, or in the output: of short words the output is that of the cycle to come.
        out = counted if self._size == 8 else beats
        m.d.comb += [
            Assert(slots.place.any() & ((slots.place & (slots.place - 1)) == 0)),
            Assert(left < words),
            Assert(beats < words),
            # Words of the slot in hand: a slot that does not begin with its word's first block has none before its
            # second word.
            Assert(~(in_slot & at_once) | ((left != 0) & (out == words - left))),
            Assert(~(in_slot & ~at_once & (left != words - 1)) | (out == words - 1 - left)),
        ]
        return m


@pytest.mark.req("PHY-019", "PHY-021", "PHY-046")
@pytest.mark.parametrize("size", [8, 4, 2, 1])
def test_every_slot_has_ten_beats(size):
    prove(Received(size), depth=3)


class Sent(wiring.Component):
    """Any DL that keeps to its contract, any PCS and any fault."""

    def __init__(self):
        super().__init__(
            {
                "valid": In(1),
                "kind": In(TxKind),
                "tag": In(4),
                "ready": In(1),
                "link_fault": In(LinkFault),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.rs = rs = RSTransmit(CONFIG)
        number, kind, tag, waits = Signal(range(BEATS_PER_FLIT)), Signal(TxKind), Signal(4), Signal()
        taken = self.valid & rs.beat.ready
        m.d.comb += [
            rs.beat.valid.eq(self.valid),
            rs.beat.p.first.eq(number == 0),
            rs.beat.p.last.eq(number == LAST),
            rs.beat.p.kind.eq(self.kind),
            rs.beat.p.data[:4].eq(self.tag),
            rs.blocks.ready.eq(self.ready),
            rs.link_fault.eq(self.link_fault),
            # A beat stays until it is taken; ten without a pause make a slot of one kind.
            Assume((number == 0) | (self.valid & (self.kind == kind))),
            Assume(~waits | (self.valid & (self.tag == tag) & (self.kind == kind))),
        ]
        m.d.sync += [kind.eq(self.kind), tag.eq(self.tag), waits.eq(self.valid & ~rs.beat.ready)]
        with m.If(taken):
            m.d.sync += number.eq(Mux(number == LAST, 0, number + 1))

        # Ten beats to a slot on the side of the PCS, all data or all control.
        beat, is_data = Signal(range(BEATS_PER_FLIT)), Signal()
        headers = [rs.blocks.p.blocks[n][:2] for n in range(8)]
        data = headers[0] == 0b10
        m.d.comb += [Assert(~rs.blocks.valid | (header == Mux(data, 0b10, 0b01))) for header in headers]
        m.d.comb += Assert(~rs.blocks.valid | (beat == 0) | (data == is_data))
        with m.If(rs.blocks.valid & self.ready):
            m.d.sync += [beat.eq(Mux(beat == LAST, 0, beat + 1)), is_data.eq(data)]

        # A flit that is taken is on its way in the next cycle, unless a fault is in force; then none is.
        flit = self.kind == TxKind.DATA
        sent, lost, fault = Signal(), Signal(), Signal(LinkFault)
        within = rs.slot_beat != 0
        m.d.sync += [
            sent.eq(taken & flit & (rs.fault == LinkFault.OK)),
            lost.eq(taken & (~flit | (rs.fault != LinkFault.OK))),
            fault.eq(rs.fault),
        ]
        m.d.comb += [
            Assert(~sent | (rs.blocks.valid & data & (rs.blocks.p.blocks[0][2:6] == tag))),
            Assert(~lost | (rs.blocks.valid & ~data)),
            # Where a control flit is due, no flit is taken.
            Assert(~(rs.schedule.control & taken & flit & (rs.fault == LinkFault.OK))),
            # The fault in force changes between slots only.
            Assert(~within | (rs.fault == fault)),
            # DL, reconciliation sublayer and PCS are in step.
            Assert((number <= LAST) & (rs.slot_beat <= LAST) & (beat <= LAST)),
            Assert(within | (number == 0)),
            Assert(~within | (number == Mux(rs.flit_after | rs.lost_after, rs.slot_beat, 0))),
            Assert(~(rs.flit_after & rs.lost_after)),
            Assert(rs.slot_beat == Mux(~rs.blocks.valid, beat, Mux(beat == LAST, 0, beat + 1))),
            Assert(~rs.blocks.valid | (data == rs.flit_after)),
            Assert(rs.blocks.valid | ~within | (is_data == rs.flit_after)),
            Assert(~(within & rs.flit_after) | ((kind == TxKind.DATA) & (rs.fault == LinkFault.OK))),
            Assert(~(within & rs.flit_after & rs.schedule.control)),
            Assert(~(within & rs.lost_after) | (kind != TxKind.DATA) | (rs.fault != LinkFault.OK)),
        ]
        return m


@pytest.mark.req("PHY-021", "PHY-023", "PHY-025", "PHY-041")
def test_every_sent_slot_is_a_flit_or_a_control_flit():
    prove(Sent(), depth=2)
