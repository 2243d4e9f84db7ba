"""Where words of Idle may be put in for rate matching (UALink_200 §7.3.5; IEEE 802.3 82.2.3.6)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCK_BITS, ERROR_BLOCK, IDLE_BLOCK
from ualink.phy.pcs.rate_words import (
    FlitPosition,
    blocks_left,
    check_blocks,
    is_idle,
    is_ordered_set,
    last_block,
)

__all__ = ["IdleInsertion"]


class IdleInsertion(wiring.Component):
    """Gives a word in every cycle: the next one, or Idle where too few are there.

    Words of Idle are put in between words: after Idle, after a sequence ordered set and between data flits; never
    inside of a data flit, and not after other control blocks, so a run of type 0x78 stays whole. If no word is there
    where none may be put in, the output is /E/, which tells the reconciliation sublayer that its flit is lost. Until
    ``start`` the output is Idle; after an error it is Idle again until then. Latency one cycle.

    Parameters
    ----------
    blocks : 1, 4 or 8 blocks a word; a flit may begin at any of them.

    Members
    -------
    word, available : 66 · ``blocks`` bit: the next word, if there is one.
    start : enough words are there to begin.
    few : put in Idle where it may be.
    take : ``word`` is taken in this cycle.
    output : 66 · ``blocks`` bit.
    empty : one cycle, with an /E/ in ``output``.
    """

    def __init__(self, *, blocks: int = 1):
        check_blocks(blocks)
        self._blocks = blocks
        super().__init__(
            {
                "word": In(BLOCK_BITS * blocks),
                "available": In(1),
                "start": In(1),
                "few": In(1),
                "take": Out(1),
                "output": Out(BLOCK_BITS * blocks, init=_repeated(IDLE_BLOCK, blocks)),
                "empty": Out(1),
            }
        )
        self.left = blocks_left()

    def elaborate(self, platform):
        m = Module()
        runs, open_, starves = Signal(), Signal(init=1), Signal()
        position = FlitPosition(m, self.left, self.word, self.take, restart=starves)
        last = last_block(self.word)
        m.d.comb += [
            self.take.eq(runs & self.available & ~(self.few & open_ & ~position.inside)),
            starves.eq(runs & ~self.available & ~(open_ & ~position.inside)),
        ]
        m.d.sync += [self.empty.eq(0), self.output.eq(_repeated(IDLE_BLOCK, self._blocks))]
        with m.If(~runs):
            m.d.sync += runs.eq(self.start)
        with m.Elif(self.take):
            m.d.sync += [
                self.output.eq(self.word),
                open_.eq(is_idle(last) | is_ordered_set(last) | position.ends),
            ]
        with m.Elif(starves):
            m.d.sync += [
                self.output.eq(_repeated(ERROR_BLOCK, self._blocks)),
                self.empty.eq(1),
                open_.eq(1),
                runs.eq(0),
            ]
        return m


def _repeated(block: int, blocks: int) -> int:
    return sum(block << BLOCK_BITS * n for n in range(blocks))
