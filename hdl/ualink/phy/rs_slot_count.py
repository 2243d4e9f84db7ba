"""Which received slots are control flits by their place behind the marker (UALink_200 §7.2.8, §7.3.5)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import PhyConfig
from ualink.lib.select import select_one
from ualink.phy.block_mask import after, index_of
from ualink.phy.blocks import BLOCKS_PER_FLIT

__all__ = ["SlotCount"]

NEAREST = BLOCKS_PER_FLIT // 2


class SlotCount(wiring.Component):
    """Counts slots from the marker. The PCS may have inserted and deleted idles, so that the start of a slot is taken
    for the nearest place of the count, which goes on from there (ruling P-26).

    Parameters
    ----------
    config : ``control_interval`` and ``blocks_per_word`` are used.

    Members
    -------
    beat, marker, first_start, last_start, replaced : as of ``SlotFinder``.
    control_slot : the slot in hand at the beginning of the word stands where a control flit is sent.
    owed : in its place another slot was begun that no control flit was to be in.
    """

    def __init__(self, config: PhyConfig):
        self._interval = config.control_interval
        self._blocks = config.blocks_per_word
        super().__init__(
            {
                "beat": In(1),
                "marker": In(self._blocks),
                "first_start": In(self._blocks),
                "last_start": In(self._blocks),
                "replaced": In(1),
                "control_slot": Out(1),
                "owed": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # The nearest place, and the blocks since it became that.
        nearest = Signal(range(self._interval))
        blocks = Signal(range(BLOCKS_PER_FLIT))
        following = Mux(nearest == self._interval - 1, 0, nearest + 1)

        moved = Signal(range(BLOCKS_PER_FLIT + self._blocks))
        starts, passes, in_control_slot = Signal(), Signal(), Signal()
        # Does the count pass to the following place before the first start, or within the word?
        before_start = select_one(self.first_start, [blocks >= BLOCKS_PER_FLIT - n for n in range(self._blocks)])
        first_behind = (self.first_start & after(self.marker)).any()
        last_behind = (self.last_start & after(self.marker)).any()
        m.d.comb += [
            moved.eq(blocks + self._blocks),
            starts.eq(self.last_start.any()),
            passes.eq(Mux(starts, before_start, blocks >= BLOCKS_PER_FLIT - self._blocks)),
            in_control_slot.eq(first_behind | Mux(before_start, nearest == self._interval - 1, nearest == 0)),
        ]
        with m.If(self.beat):
            m.d.sync += [
                nearest.eq(Mux(passes, following, nearest)),
                blocks.eq(Mux(passes, moved - BLOCKS_PER_FLIT, moved)),
            ]
            with m.If(self.marker.any()):
                m.d.sync += [nearest.eq(0), blocks.eq(NEAREST + self._blocks - index_of(self.marker))]
            with m.If(starts & (last_behind | ~self.marker.any())):
                m.d.sync += blocks.eq(NEAREST + self._blocks - index_of(self.last_start))
            with m.If(starts):
                several = self.first_start != self.last_start
                m.d.sync += [
                    self.control_slot.eq(last_behind | in_control_slot),
                    self.owed.eq((self.replaced & (self.owed | ~self.control_slot)) | (several & ~in_control_slot)),
                ]
        return m
