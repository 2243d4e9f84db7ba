"""What rate matching knows of a word of one, four or eight blocks, and where it is in a data flit."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from ualink.checks import check_choice
from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_FLIT, CONTROL_SYNC, DATA_SYNC, IDLE_BLOCK, ORDERED_SET_TYPE

__all__ = ["FlitPosition", "blocks_left", "check_blocks", "is_idle", "is_ordered_set", "last_block"]


def check_blocks(blocks: int) -> None:
    """``ConfigError`` unless words are of one block, of four or of eight."""
    check_choice("blocks", blocks, (1, 4, 8))


def is_idle(word: Value) -> Value:
    """All blocks are Idle."""
    return Cat(block == IDLE_BLOCK for block in _blocks(word)).all()


def is_ordered_set(word: Value) -> Value:
    """All blocks are the same sequence ordered set: type 0x4B, O code 0."""
    first, *others = _blocks(word)
    return (
        (first[:2] == CONTROL_SYNC)
        & (first[2:10] == ORDERED_SET_TYPE)
        & (first[34:38] == 0)
        & Cat(Value.cast(1), *(other == first for other in others)).all()
    )


def last_block(word: Value) -> Value:
    """The block of a word that is sent last."""
    return word[-BLOCK_BITS:]


def blocks_left() -> Signal:
    """The count of ``FlitPosition``: blocks of a flit that are to follow."""
    return Signal(range(BLOCKS_PER_FLIT), name="left")


def _blocks(word: Value) -> list[Value]:
    return [word.word_select(n, BLOCK_BITS) for n in range(len(word) // BLOCK_BITS)]


class FlitPosition:
    """Counts the blocks of data flits, which may begin at any block of a word; not a component, part of several.

    A data header behind control blocks, or behind a whole flit, begins a flit of 80 blocks; so does a header 00 or 11.
    From such a header on the flit goes to its eightieth block, whatever comes (rulings P-04, R7-04). Control blocks
    end a flit that has had none, and so does ``restart``.

    Attributes
    ----------
    inside : the first block of this word still belongs to a flit that has begun before.
    ends : a flit ends with the last block of this word.
    """

    def __init__(self, m: Module, left: Signal, word: Value, step: Value, restart: Value | int = 0):
        damaged = Signal(name="damaged")
        self.inside, self.ends = Signal(), Signal()
        count, bad, ends = left, damaged, Value.cast(0)
        for n, block in enumerate(_blocks(word)):
            control, invalid = Signal(name=f"control_{n}"), Signal(name=f"invalid_{n}")
            after, bad_after = Signal.like(left, name=f"left_{n}"), Signal(name=f"damaged_{n}")
            outside = count == 0
            m.d.comb += [
                control.eq(block[:2] == CONTROL_SYNC),
                invalid.eq((block[:2] != CONTROL_SYNC) & (block[:2] != DATA_SYNC)),
                bad_after.eq(invalid | (bad & ~outside)),
                after.eq(Mux(outside, BLOCKS_PER_FLIT - 1, count - 1)),
            ]
            with m.If(control & (outside | ~bad)):
                m.d.comb += after.eq(0)
            ends = (count == 1) & (bad | ~control)
            count, bad = after, bad_after
        m.d.comb += [self.inside.eq(left != 0), self.ends.eq(ends)]
        with m.If(step):
            m.d.sync += [left.eq(count), damaged.eq(bad)]
        with m.If(restart):
            m.d.sync += left.eq(0)
