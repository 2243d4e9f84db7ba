"""Proof for all streams of well-formed flits, which begin at any block of a word: rate matching leaves out and puts in
nothing inside of a data flit."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.phy.blocks import ERROR_BLOCK, IDLE_BLOCK, ORDERED_SET_TYPE
from ualink.phy.pcs.idle_deletion import IdleDeletion
from ualink.phy.pcs.idle_insertion import IdleInsertion

FLIT = 80


class _Flit(wiring.Component):
    """Counts the blocks of well-formed data flits among control blocks, written apart from the design. ``count`` of
    the flit have gone, so many are ``left``."""

    def __init__(self, blocks: int):
        self.blocks = blocks
        super().__init__({"word": In(66 * blocks), "step": In(1)})
        self.count = Signal(range(FLIT))
        self.left = Signal(range(FLIT))

    def elaborate(self, platform):
        m = Module()
        with m.If(self.count != 0):
            m.d.comb += self.left.eq(FLIT - self.count)
        count = self.count
        for n in range(self.blocks):
            header = self.word.word_select(n, 66)[:2]
            data, following = header == 0b10, Signal(range(FLIT + 1), name=f"count_{n}")
            with m.If(self.step):
                m.d.comb += Assume(data | ((header == 0b01) & (count == 0)))
            m.d.comb += following.eq(Mux(data & (count != FLIT - 1), count + 1, 0))
            count = following
        with m.If(self.step):
            m.d.sync += self.count.eq(count)
        return m


class _DeletionBench(wiring.Component):
    def __init__(self, blocks: int):
        self.blocks = blocks
        super().__init__({"word": In(66 * blocks), "valid": In(1), "much": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = IdleDeletion(blocks=self.blocks)
        m.submodules.flit = flit = _Flit(self.blocks)
        m.d.comb += [
            dut.word.eq(self.word),
            dut.valid.eq(self.valid),
            dut.much.eq(self.much),
            flit.word.eq(self.word),
            flit.step.eq(self.valid),
        ]
        m.d.comb += Assert(~dut.delete | (flit.count == 0))
        for n in range(self.blocks):
            block = self.word.word_select(n, 66)
            m.d.comb += Assert(
                ~dut.delete | (block == IDLE_BLOCK) | ((block[:2] == 0b01) & (block[2:10] == ORDERED_SET_TYPE))
            )
        # What the induction needs: both count alike.
        m.d.comb += [Assert(dut.left == flit.left), Assert(flit.count < FLIT)]
        return m


class _InsertionBench(wiring.Component):
    def __init__(self, blocks: int):
        self.blocks = blocks
        super().__init__({"word": In(66 * blocks), "available": In(1), "start": In(1), "few": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = IdleInsertion(blocks=self.blocks)
        m.submodules.flit = flit = _Flit(self.blocks)
        for name in self.signature.members:
            m.d.comb += getattr(dut, name).eq(getattr(self, name))
        # The word stays until it is taken.
        last, waits = Signal.like(self.word), Signal()
        m.d.sync += [last.eq(self.word), waits.eq(self.available & ~dut.take)]
        with m.If(waits):
            m.d.comb += [Assume(self.word == last), Assume(self.available)]
        m.d.comb += [flit.word.eq(self.word), flit.step.eq(dut.take)]
        taken, inside, valid = Signal(), Signal(), Signal()
        m.d.sync += [taken.eq(dut.take), inside.eq(flit.count != 0), valid.eq(1)]
        idle, error = (Cat(Const(block, 66) for _ in range(self.blocks)) for block in (IDLE_BLOCK, ERROR_BLOCK))
        # In each cycle the output is the word taken before; else, inside of a flit, /E/ and an error, and else Idle.
        with m.If(valid & taken):
            m.d.comb += Assert(dut.output == last)
        with m.Elif(valid & inside):
            m.d.comb += [Assert(dut.output == error), Assert(dut.empty)]
        with m.Elif(valid):
            m.d.comb += Assert((dut.output == idle) | dut.empty)
        m.d.comb += [Assert(dut.empty | (dut.left == flit.left)), Assert(flit.count < FLIT)]
        # After an error there is no flit to count any more: end the story.
        m.d.comb += Assume(~dut.empty)
        return m


@pytest.mark.parametrize("blocks", [1, 8])
@pytest.mark.req("PHY-061", "PHY-065")
def test_nothing_of_a_data_flit_is_left_out(blocks):
    prove(_DeletionBench(blocks), depth=3)


@pytest.mark.parametrize("blocks", [1, 8])
@pytest.mark.req("PHY-064", "PHY-111")
def test_nothing_is_put_into_a_data_flit(blocks):
    prove(_InsertionBench(blocks), depth=3)
