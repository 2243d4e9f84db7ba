"""What rate matching knows of a word of one block, or of four aligned ones, and where it is in a data flit."""

from amaranth.hdl import Cat, Module, Signal, Value

from ualink.config import ConfigError
from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_FLIT, CONTROL_SYNC, DATA_SYNC, IDLE_BLOCK, ORDERED_SET_TYPE

__all__ = ["FlitPosition", "check_blocks", "is_idle", "is_ordered_set", "words_left"]


def check_blocks(blocks: int) -> None:
    """``ConfigError`` unless words are of one block or of four."""
    if blocks not in (1, 4) or isinstance(blocks, bool):
        raise ConfigError(f"blocks is {blocks!r}; it must be 1 or 4")


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


def words_left(blocks: int) -> Signal:
    """The count of ``FlitPosition``: words of a flit that are to follow."""
    return Signal(range(BLOCKS_PER_FLIT // blocks), name="left")


def _blocks(word: Value) -> list[Value]:
    return [word.word_select(n, BLOCK_BITS) for n in range(len(word) // BLOCK_BITS)]


class FlitPosition:
    """Counts the words of data flits; not a component, part of several.

    A data header behind control blocks, or behind a whole flit, begins a flit of 80 blocks; so does a header 00 or 11,
    after which 80 blocks are counted whatever they are (ruling R7-04). Control blocks end a flit that has begun
    well, and so does ``restart``.

    Attributes
    ----------
    inside : more words of a flit are to follow on those seen so far.
    ends : this word is the last one of a flit.
    """

    def __init__(self, m: Module, left: Signal, word: Value, step: Value, restart: Value | int = 0):
        blocks = _blocks(word)
        words = BLOCKS_PER_FLIT // len(blocks)
        damaged = Signal(name="damaged")
        control, invalid = Signal(), Signal()
        self.inside, self.ends = Signal(), Signal()
        m.d.comb += [
            control.eq(Cat(block[:2] == CONTROL_SYNC for block in blocks).all()),
            invalid.eq(Cat((block[:2] != CONTROL_SYNC) & (block[:2] != DATA_SYNC) for block in blocks).any()),
            self.inside.eq(left != 0),
            self.ends.eq((left == 1) & (damaged | ~control)),
        ]
        with m.If(step):
            with m.If(~self.inside):
                m.d.sync += damaged.eq(invalid)
                with m.If(~control):
                    m.d.sync += left.eq(words - 1)
            with m.Elif(control & ~damaged):
                m.d.sync += left.eq(0)
            with m.Else():
                m.d.sync += left.eq(left - 1)
        with m.If(restart):
            m.d.sync += left.eq(0)
