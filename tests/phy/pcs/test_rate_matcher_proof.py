"""Proof for all streams of well-formed flits: rate matching leaves out and puts in nothing inside of a data flit."""

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from formal import prove
from ualink.phy.blocks import ERROR_BLOCK, IDLE_BLOCK
from ualink.phy.pcs.idle_deletion import IdleDeletion
from ualink.phy.pcs.idle_insertion import IdleInsertion

FLIT = 80


class _Flit(wiring.Component):
    """Counts the blocks of well-formed data flits among control blocks, written apart from the design."""

    def __init__(self):
        super().__init__({"header": In(2), "step": In(1)})
        self.count = Signal(range(FLIT))
        self.left = Signal(range(FLIT))

    def elaborate(self, platform):
        m = Module()
        data = self.header == 0b10
        with m.If(self.count != 0):
            m.d.comb += self.left.eq(FLIT - self.count)
        with m.If(self.step):
            m.d.comb += Assume(data | ((self.header == 0b01) & (self.count == 0)))
            with m.If(data):
                m.d.sync += self.count.eq(self.count + 1)
                with m.If(self.count == FLIT - 1):
                    m.d.sync += self.count.eq(0)
        return m


class _DeletionBench(wiring.Component):
    def __init__(self):
        super().__init__({"word": In(66), "valid": In(1), "much": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = IdleDeletion()
        m.submodules.flit = flit = _Flit()
        m.d.comb += [
            dut.word.eq(self.word),
            dut.valid.eq(self.valid),
            dut.much.eq(self.much),
            flit.header.eq(self.word[:2]),
            flit.step.eq(self.valid),
        ]
        m.d.comb += Assert(~dut.delete | (flit.count == 0))
        m.d.comb += Assert(~dut.delete | (self.word == IDLE_BLOCK) | (self.word[2:10] == 0x4B))
        # What the induction needs: both count alike.
        m.d.comb += [Assert(dut.left == flit.left), Assert(flit.count < FLIT)]
        return m


class _InsertionBench(wiring.Component):
    def __init__(self):
        super().__init__({"word": In(66), "available": In(1), "start": In(1), "few": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = IdleInsertion()
        m.submodules.flit = flit = _Flit()
        for name in self.signature.members:
            m.d.comb += getattr(dut, name).eq(getattr(self, name))
        # The word stays until it is taken.
        last, waits = Signal(66), Signal()
        m.d.sync += [last.eq(self.word), waits.eq(self.available & ~dut.take)]
        with m.If(waits):
            m.d.comb += [Assume(self.word == last), Assume(self.available)]
        m.d.comb += [flit.header.eq(self.word[:2]), flit.step.eq(dut.take)]
        taken, inside, valid = Signal(), Signal(), Signal()
        m.d.sync += [taken.eq(dut.take), inside.eq(flit.count != 0), valid.eq(1)]
        # In each cycle the output is the word taken before; else, inside of a flit, /E/ and an error, and else Idle.
        with m.If(valid & taken):
            m.d.comb += Assert(dut.output == last)
        with m.Elif(valid & inside):
            m.d.comb += [Assert(dut.output == ERROR_BLOCK), Assert(dut.empty)]
        with m.Elif(valid):
            m.d.comb += Assert((dut.output == IDLE_BLOCK) | dut.empty)
        m.d.comb += [Assert(dut.empty | (dut.left == flit.left)), Assert(flit.count < FLIT)]
        # After an error there is no flit to count any more: end the story.
        m.d.comb += Assume(~dut.empty)
        return m


@pytest.mark.req("PHY-061", "PHY-065")
def test_nothing_of_a_data_flit_is_left_out():
    prove(_DeletionBench(), depth=3)


@pytest.mark.req("PHY-064", "PHY-111")
def test_nothing_is_put_into_a_data_flit():
    prove(_InsertionBench(), depth=3)
