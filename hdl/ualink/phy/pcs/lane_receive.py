"""A lane's way in: from words in the lane's clock to shares of beats for the core."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, check_integer
from ualink.phy.blocks import BLOCKS_PER_BEAT, BLOCKS_PER_FLIT
from ualink.phy.pcs.block_lock import BlockLock
from ualink.phy.pcs.interface import check_framing, lane_word_layout
from ualink.phy.pcs.lane_fifo import lane_fifo
from ualink.phy.pcs.marker_finder import MarkerFinder
from ualink.phy.pcs.receive_gearbox import ReceiveGearbox
from ualink.phy.stage import has_register

__all__ = ["LaneReceive", "receive_depth", "receive_patience"]

_JITTER = 4
"""Beats that a lane may seem early or late besides its skew: pointers under way, lanes that fill a share in turn."""
_CROSSING = 4
"""Beats that a FIFO holds besides what has waited: one wait in vain, and one for the others."""


def receive_patience(*, lanes: int, max_skew: int, marker_interval: int, blocks_per_word: int = BLOCKS_PER_BEAT) -> int:
    """Beats that a lane waits for one that is ``max_skew`` blocks later; ``ConfigError`` where half an interval is
    not longer, since then two markers in a row cannot be told apart."""
    check_framing(lanes=lanes, marker_interval=marker_interval, blocks_per_word=blocks_per_word)
    check_integer("max_skew", max_skew, 0)
    if lanes == 1:
        return _JITTER
    skew = -(-max_skew * lanes // blocks_per_word)
    beats = marker_interval * BLOCKS_PER_FLIT // blocks_per_word
    if 2 * skew + _JITTER >= beats:
        most = (beats - _JITTER - 1) // 2 * blocks_per_word // lanes
        raise ConfigError(
            f"max_skew is {max_skew}; a marker interval of {marker_interval} slots leaves room for {most}"
        )
    return skew + _JITTER


def receive_depth(*, lanes: int, max_skew: int, marker_interval: int, blocks_per_word: int = BLOCKS_PER_BEAT) -> int:
    """Beats in a lane's FIFO that absorb ``max_skew`` blocks between two lanes."""
    patience = receive_patience(
        lanes=lanes, max_skew=max_skew, marker_interval=marker_interval, blocks_per_word=blocks_per_word
    )
    return 1 << (2 * patience + _CROSSING - 1).bit_length()


class LaneReceive(wiring.Component):
    """Gearbox, block lock, marker finder, and a FIFO from the lane's domain "rx" to "sync", which is the deskew buffer.

    The FIFO gets nothing before the first trusted marker. A share that finds no room is told as ``overflow``, and all
    that follow it are dropped up to the next marker, so that nothing in the FIFO follows on a hole but a marker.

    Parameters
    ----------
    lanes : 1, 2 or 4: a share is ``blocks_per_word`` / ``lanes`` blocks.
    width : bits of a word.
    marker_interval : flit slots from marker to marker.
    max_skew : blocks between the earliest and the latest lane that are absorbed.
    blocks_per_word : 1, 2, 4 or 8, a multiple of ``lanes``.

    Members
    -------
    rx_data, rx_ready : [rx] as in ``LaneWordsSignature``; without ``rx_ready`` there is no lock.
    output : [sync] stream of ``lane_word_layout(lanes, blocks_per_word)``.
    level : [sync] shares that wait.
    block_lock, marker_lock : [sync] levels.
    overflow : [sync] one cycle for each overflow.
    ready : [sync] ``rx_ready``.
    """

    def __init__(
        self,
        *,
        lanes: int,
        width: int,
        marker_interval: int,
        max_skew: int,
        blocks_per_word: int = BLOCKS_PER_BEAT,
    ):
        check_framing(lanes=lanes, width=width, marker_interval=marker_interval, blocks_per_word=blocks_per_word)
        self._share, self._wide = blocks_per_word // lanes, has_register(blocks_per_word)
        self._lanes, self._width, self._interval = lanes, width, marker_interval
        self._depth = receive_depth(
            lanes=lanes, max_skew=max_skew, marker_interval=marker_interval, blocks_per_word=blocks_per_word
        )
        self._layout = lane_word_layout(lanes, blocks_per_word)
        super().__init__(
            {
                "rx_data": In(width),
                "rx_ready": In(1),
                "output": Out(stream.Signature(self._layout)),
                "level": Out(range(self._depth + 2)),
                "block_lock": Out(1),
                "marker_lock": Out(1),
                "overflow": Out(1),
                "ready": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.gearbox = gearbox = ReceiveGearbox(self._width)
        m.submodules.block_lock = block_lock = BlockLock()
        m.submodules.finder = finder = MarkerFinder(lanes=self._lanes, marker_interval=self._interval)
        m.submodules.fifo = fifo = lane_fifo(
            self._wide, width=self._layout.size, depth=self._depth, w_domain="rx", r_domain="sync"
        )
        m.d.comb += [
            gearbox.data.eq(self.rx_data),
            gearbox.slip.eq(block_lock.slip),
            block_lock.enable.eq(self.rx_ready),
            block_lock.header.eq(gearbox.block[:2]),
            block_lock.valid.eq(gearbox.valid),
            finder.enable.eq(block_lock.locked),
            finder.block.eq(gearbox.block),
            finder.valid.eq(gearbox.valid),
        ]
        share = Signal(self._layout)
        index = Signal(range(self._share))
        place = Signal.like(index)
        gathers, complete, overflows = Signal(), Signal(), Signal()
        takes = Signal()
        m.d.comb += [
            takes.eq(finder.output_valid & (gathers | finder.output_marker)),
            fifo.w_data.eq(share),
            fifo.w_en.eq(complete),
        ]
        with m.If(~finder.output_marker):
            m.d.comb += place.eq(index)
        m.d.rx += complete.eq(takes & (place == self._share - 1))
        with m.If(takes):
            m.d.rx += [share.blocks[place].eq(finder.output), index.eq(place + 1), gathers.eq(1)]
            with m.If(place == 0):
                m.d.rx += [share.marker.eq(finder.output_marker), share.lane.eq(finder.lane)]
        with m.If(~finder.locked):
            m.d.rx += gathers.eq(0)
        with m.Elif(complete & ~fifo.w_rdy):
            m.d.rx += [gathers.eq(0), overflows.eq(~overflows)]

        locked, overflow, seen = Signal(), Signal(), Signal()
        m.d.rx += locked.eq(finder.locked)
        m.submodules.overflow_seen = FFSynchronizer(overflows, overflow)
        m.submodules.block_lock_seen = FFSynchronizer(block_lock.locked, self.block_lock)
        m.submodules.marker_lock_seen = FFSynchronizer(locked, self.marker_lock)
        m.submodules.ready_seen = FFSynchronizer(self.rx_ready, self.ready)
        m.d.sync += seen.eq(overflow)
        m.d.comb += [
            self.overflow.eq(overflow != seen),
            self.output.p.eq(fifo.r_data),
            self.output.valid.eq(fifo.r_rdy),
            self.level.eq(fifo.r_level),
            fifo.r_en.eq(self.output.ready),
        ]
        return m
