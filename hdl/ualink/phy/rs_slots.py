"""Where flit slots begin and end among the received blocks (UALink_200 §7.2.8)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.select import select_one
from ualink.phy.block_mask import after, at_or_after, before_first, first_of, last_of
from ualink.phy.blocks import BLOCKS_PER_BEAT
from ualink.phy.interface import BEATS_PER_FLIT

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


ALL = (1 << BLOCKS_PER_BEAT) - 1

SCAN_LAYOUT = data.StructLayout({"first": BLOCKS_PER_BEAT, "last": BLOCKS_PER_BEAT, "state": SlotState})
"""What a beat brings from a block on that is met in CONTROL: the first and the last start of a slot, and how the beat
ends if there is one."""


class SlotFinder(wiring.Component):
    """Finds starts and ends of slots of 80 blocks, at any of the eight blocks of a beat. Latency: two cycles.

    Outside of a slot every block but a control block begins one. A control block within a slot of data blocks aborts
    the flit: the next block that is none begins a new slot, in place of the aborted one if its 80 blocks have not
    passed by then. In a slot with an invalid header 80 blocks are counted whatever they are (rulings P-04, P-26).

    What a beat means depends on the state before it. All that it could mean is found in the first cycle, so that one
    choice is left for the second.

    Members
    -------
    valid, control, invalid, counted : a beat, as of ``BlockClassifier``.
    marker : bit n: an AM flit begins with block n.
    beat : there was a beat; the members below are of it, one bit per block where they have eight bits.
    state : ``SlotState`` behind it, reset value HUNT.
    first_start, last_start : the first and the last slot that begin; of several but the last goes on.
    replaced : a slot of earlier beats was in hand when the first began.
    emit : eight blocks of a slot are whole with this beat: with the block in ``offset`` of the beat before they begin,
        or with the first of this one.
    offset : one bit; bit 0: the first block of this beat.
    first, last : with ``emit``: they are the first eight of the slot, the last eight.
    good : with ``last``: every block of the slot was a data block.
    outside : control blocks of known type that belong to no slot.
    marker_after : ``marker`` of this beat.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": In(1),
                "control": In(BLOCKS_PER_BEAT),
                "invalid": In(BLOCKS_PER_BEAT),
                "counted": In(BLOCKS_PER_BEAT),
                "marker": In(BLOCKS_PER_BEAT),
                "beat": Out(1),
                "state": Out(SlotState),
                "first_start": Out(BLOCKS_PER_BEAT),
                "last_start": Out(BLOCKS_PER_BEAT),
                "replaced": Out(1),
                "emit": Out(1),
                "offset": Out(BLOCKS_PER_BEAT),
                "first": Out(1),
                "last": Out(1),
                "good": Out(1),
                "outside": Out(BLOCKS_PER_BEAT),
                "marker_after": Out(BLOCKS_PER_BEAT),
            }
        )
        self.beats_left = Signal(range(BEATS_PER_FLIT))
        self.place = Signal(BLOCKS_PER_BEAT, init=1)

    def elaborate(self, platform):
        m = Module()
        valid = Signal()
        scans = Signal(data.ArrayLayout(SCAN_LAYOUT, BLOCKS_PER_BEAT))
        control, counted, marker = (
            Signal(BLOCKS_PER_BEAT, name=name) for name in ("control_2", "counted_2", "marker_2")
        )
        cut = Signal(BLOCKS_PER_BEAT)
        m.d.sync += [
            valid.eq(self.valid),
            control.eq(self.control),
            counted.eq(self.counted),
            marker.eq(self.marker),
            # The first block of a beat that is no data block.
            cut.eq(first_of(self.control | self.invalid)),
            *(scans[n].eq(self._scan(n)) for n in range(BLOCKS_PER_BEAT)),
        ]

        # Of the slot in hand ``beats`` whole beats are still to come, and then as many blocks as ``place`` says.
        beats, place = self.beats_left, self.place
        in_slot, ends_here, within = Signal(), Signal(), Signal(BLOCKS_PER_BEAT)
        ends_inside = beats == 0
        m.d.comb += [
            in_slot.eq((self.state != SlotState.HUNT) & (self.state != SlotState.CONTROL)),
            ends_here.eq(in_slot & (ends_inside | ((beats == 1) & place[0]))),
            within.eq(Mux(ends_inside, before_first(place), ALL)),
        ]
        aborts = (self.state == SlotState.DATA) & (cut & control & within).any()
        spoils = (self.state == SlotState.DATA) & (cut & ~control & within).any()

        # The block from which on the beat is read as in CONTROL; none: it all belongs to the slot in hand.
        origin = Signal(BLOCKS_PER_BEAT)
        with m.Switch(self.state):
            with m.Case(SlotState.HUNT):
                m.d.comb += origin.eq(marker)
            with m.Case(SlotState.CONTROL, SlotState.ABORTED):
                m.d.comb += origin.eq(1)
            with m.Default():
                m.d.comb += origin.eq(Mux(aborts, cut, Mux(ends_inside, place, 0)))
        scan = Signal(SCAN_LAYOUT)
        m.d.comb += scan.as_value().eq(select_one(origin, [scans[n] for n in range(BLOCKS_PER_BEAT)]))

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
                m.d.sync += [beats.eq(BEATS_PER_FLIT - 1), place.eq(scan.last)]
            with m.Elif(goes_on):
                m.d.sync += beats.eq(beats - 1)

        ahead = Mux(in_slot, Mux(ends_inside & ended, ~within, 0), at_or_after(origin))
        m.d.sync += [
            self.beat.eq(valid),
            self.first_start.eq(scan.first),
            self.last_start.eq(scan.last),
            self.replaced.eq(replaced),
            self.emit.eq(valid & (scan.last[0] | (in_slot & ~replaced))),
            self.offset.eq(Mux(scan.last[0], 1, place)),
            self.first.eq(scan.last[0] | ((beats == BEATS_PER_FLIT - 1) & ~place[0])),
            self.last.eq(ended),
            self.good.eq((self.state == SlotState.DATA) & ~aborts & ~spoils),
            self.outside.eq(counted & ahead & before_first(scan.first)),
            self.marker_after.eq(marker),
        ]
        with m.If(~valid):
            m.d.sync += [self.first_start.eq(0), self.last_start.eq(0), self.outside.eq(0), self.marker_after.eq(0)]
        return m

    def _scan(self, n):
        """The beat from block ``n`` on, met in CONTROL."""
        here = Const(ALL & ~((1 << n) - 1), BLOCKS_PER_BEAT)
        invalid = self.invalid & here
        behind_control = Cat(Const(1 << n, n + 1) | self.control[:n] << 1, self.control[n:-1])
        starts = here & ~self.control & behind_control & ~after(invalid)
        aborted = Mux(self.control[-1], SlotState.ABORTED, SlotState.DATA)
        return data.View(
            SCAN_LAYOUT,
            Cat(first_of(starts), last_of(starts), Mux(invalid.any(), SlotState.BAD, aborted)),
        )
