"""Where flit slots begin and end among the received blocks (UALink_200 §7.2.8)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one
from ualink.phy.block_mask import after, at_or_after, before_first, first_of, last_of
from ualink.phy.blocks import BLOCKS_PER_BEAT, BLOCKS_PER_FLIT
from ualink.phy.stage import has_register

__all__ = ["SlotFinder", "SlotState"]


class SlotState(enum.Enum, shape=3):
    """Of the receiver, between two blocks.

    HUNT: no AM flit has come yet. CONTROL: outside of a slot, and right behind one. DATA: in a slot of data blocks.
    BAD: in a slot with an invalid header. ABORTED: in a slot that a control block has cut short.
    """

    HUNT = 0
    CONTROL = 1
    DATA = 2
    BAD = 3
    ABORTED = 4


def _scan_layout(blocks: int) -> data.StructLayout:
    """What a word brings from a block on that is met in CONTROL: the first and the last start of a slot, and how the
    word ends if there is one."""
    return data.StructLayout({"first": blocks, "last": blocks, "state": SlotState})


class SlotFinder(wiring.Component):
    """Finds starts and ends of slots of 80 blocks, at any block of a word. Latency: two cycles, with
    fewer than eight blocks a word one.

    Outside of a slot every block but a control block begins one. A control block within a slot of data blocks aborts
    the flit: the next block that is none begins a new slot, in place of the aborted one if its 80 blocks have not
    passed by then. In a slot with an invalid header 80 blocks are counted whatever they are (rulings P-04, P-26).

    What a word means depends on the state before it. All that it could mean is found in the first cycle, so that one
    choice is left for the second.

    Parameters
    ----------
    blocks_per_word : 1, 2, 4 or 8.

    Members
    -------
    valid, control, invalid, counted : a word, as of ``BlockClassifier``.
    marker : bit n: an AM flit begins with block n.
    beat : there was a word; the members below are of it, one bit per block where they have as many bits.
    state : ``SlotState`` behind it, or with fewer than eight blocks a word ahead of it; reset value HUNT.
    first_start, last_start : the first and the last slot that begin; of several but the last goes on.
    replaced : a slot of earlier words was in hand when the first began.
    emit : a word of a slot is whole with this one: it begins with the block in ``offset`` of the word before, or with
        the first of this one.
    offset : one bit; bit 0: the first block of this word.
    first, last : with ``emit``: it is the first of the slot, the last.
    good : with ``last``: every block of the slot was a data block.
    outside : control blocks of known type that belong to no slot.
    marker_after : ``marker`` of this word.
    """

    def __init__(self, blocks_per_word: int = BLOCKS_PER_BEAT):
        self._blocks = blocks_per_word
        self._words = BLOCKS_PER_FLIT // blocks_per_word
        self._scan_layout = _scan_layout(blocks_per_word)
        super().__init__(
            {
                "valid": In(1),
                "control": In(blocks_per_word),
                "invalid": In(blocks_per_word),
                "counted": In(blocks_per_word),
                "marker": In(blocks_per_word),
                "beat": Out(1),
                "state": Out(SlotState),
                "first_start": Out(blocks_per_word),
                "last_start": Out(blocks_per_word),
                "replaced": Out(1),
                "emit": Out(1),
                "offset": Out(blocks_per_word),
                "first": Out(1),
                "last": Out(1),
                "good": Out(1),
                "outside": Out(blocks_per_word),
                "marker_after": Out(blocks_per_word),
            }
        )
        self.beats_left = Signal(range(self._words))
        self.place = Signal(blocks_per_word, init=1)

    def elaborate(self, platform):
        m = Module()
        valid = Signal()
        everything = Const(-1, self._blocks)
        scans = Signal(data.ArrayLayout(self._scan_layout, self._blocks))
        control, counted, marker = (Signal(self._blocks, name=name) for name in ("control_2", "counted_2", "marker_2"))
        cut = Signal(self._blocks)
        m.d.sync += [
            valid.eq(self.valid),
            control.eq(self.control),
            counted.eq(self.counted),
            marker.eq(self.marker),
            # The first block of a word that is no data block.
            cut.eq(first_of(self.control | self.invalid)),
            *(scans[n].eq(self._scan(n)) for n in range(self._blocks)),
        ]

        # Of the slot in hand ``words`` whole words are still to come, and then as many blocks as ``place`` says.
        words, place = self.beats_left, self.place
        in_slot, ends_here, within = Signal(), Signal(), Signal(self._blocks)
        ends_inside = words == 0
        m.d.comb += [
            in_slot.eq((self.state != SlotState.HUNT) & (self.state != SlotState.CONTROL)),
            ends_here.eq(in_slot & (ends_inside | ((words == 1) & place[0]))),
            within.eq(Mux(ends_inside, before_first(place), everything)),
        ]
        aborts = (self.state == SlotState.DATA) & (cut & control & within).any()
        spoils = (self.state == SlotState.DATA) & (cut & ~control & within).any()

        # The block from which on the word is read as in CONTROL; none: it all belongs to the slot in hand.
        origin = Signal(self._blocks)
        with m.Switch(self.state):
            with m.Case(SlotState.HUNT):
                m.d.comb += origin.eq(marker)
            with m.Case(SlotState.CONTROL, SlotState.ABORTED):
                m.d.comb += origin.eq(1)
            with m.Default():
                m.d.comb += origin.eq(Mux(aborts, cut, Mux(ends_inside, place, 0)))
        scan = Signal(self._scan_layout)
        m.d.comb += scan.as_value().eq(select_one(origin, [scans[n] for n in range(self._blocks)]))

        starts, replaced, ended, goes_on = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            starts.eq(scan.last.any()),
            replaced.eq(in_slot & (scan.first & within).any()),
            ended.eq(ends_here & ~replaced),
            goes_on.eq(in_slot & ~ended),
        ]
        next_state = Signal(SlotState)
        m.d.comb += next_state.eq(SlotState.CONTROL)
        with m.If(starts):
            m.d.comb += next_state.eq(scan.state)
        with m.Elif((self.state == SlotState.HUNT) & ~marker.any()):
            m.d.comb += next_state.eq(SlotState.HUNT)
        with m.Elif(goes_on):
            m.d.comb += next_state.eq(Mux(aborts, SlotState.ABORTED, Mux(spoils, SlotState.BAD, self.state)))
        with m.If(valid):
            m.d.sync += self.state.eq(next_state)
            with m.If(starts):
                m.d.sync += [words.eq(self._words - 1), place.eq(scan.last)]
            with m.Elif(goes_on):
                m.d.sync += words.eq(words - 1)

        ahead = Mux(in_slot, Mux(ends_inside & ended, ~within, 0), at_or_after(origin))
        domain = m.d.sync if has_register(self._blocks) else m.d.comb
        domain += [
            self.beat.eq(valid),
            self.first_start.eq(scan.first),
            self.last_start.eq(scan.last),
            self.replaced.eq(replaced),
            self.emit.eq(valid & (scan.last[0] | (in_slot & ~replaced))),
            self.offset.eq(Mux(scan.last[0], 1, place)),
            self.first.eq(scan.last[0] | ((words == self._words - 1) & ~place[0])),
            self.last.eq(ended),
            self.good.eq((self.state == SlotState.DATA) & ~aborts & ~spoils),
            self.outside.eq(counted & ahead & before_first(scan.first)),
            self.marker_after.eq(marker),
        ]
        with m.If(~valid):
            domain += [self.first_start.eq(0), self.last_start.eq(0), self.outside.eq(0), self.marker_after.eq(0)]
        return m

    def _scan(self, n):
        """The word from block ``n`` on, met in CONTROL."""
        here = Const((1 << self._blocks) - (1 << n), self._blocks)
        invalid = self.invalid & here
        behind_control = Cat(Const(1 << n, n + 1) | self.control[:n] << 1, self.control[n:-1])
        starts = here & ~self.control & behind_control & ~after(invalid)
        aborted = Mux(self.control[-1], SlotState.ABORTED, SlotState.DATA)
        return data.View(
            self._scan_layout,
            Cat(first_of(starts), last_of(starts), Mux(invalid.any(), SlotState.BAD, aborted)),
        )
