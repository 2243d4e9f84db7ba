"""Packs TL flits and DL messages into DL flits, on the fly (UALink_200 §6.3.3-6.3.5, Figure 6-5)."""

from amaranth.hdl import Cat, Const, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice
from ualink.dl.flit.beat_writer import BeatWriter
from ualink.dl.flit.crc_steps import CYCLES_PER_BEAT
from ualink.dl.flit.format import SECTORS_PER_TL_FLIT, SEGMENT_HEADER_LAYOUT
from ualink.dl.flit.half_segment import (
    FIRST_HALF,
    FRAME_BITS,
    FRAME_SECTOR_BITS,
    FRAME_STEP,
    FRAME_TURN,
    SHORT,
    fits,
    of_half,
    rest_beyond,
)
from ualink.dl.flit.packing_steps import PackingSteps
from ualink.dl.flit.sector_rotator import SectorRotator
from ualink.dl.interface import tl_flit_signature
from ualink.lib.parity import ProtectedRegister, byte_parity, even_parity, join_parity, split_parity
from ualink.lib.select import select_one
from ualink.phy.interface import BEATS_PER_FLIT

__all__ = ["PACKED_BEAT_LAYOUT", "Packer"]

PACKED_BEAT_LAYOUT = data.StructLayout(
    {"data": 512, "parity": 64, "first": 1, "last": 1, "payload": 1, "error": 1, "control_parity": 1}
)
"""One of ten beats of a DL flit in wire order: segment headers in place, FH and CRC bytes zero. Valid with ``last``:
``payload`` (a payload flit; otherwise a NOP flit, all zero) and ``error`` (a TL flit with bytes in here was marked or
has bad control parity, or the packer lost its own state). Bit n of ``parity`` is the even parity of byte n, as it was
made when the byte came; ``control_parity`` that of the four flags."""

LAST_HALF = BEATS_PER_FLIT - 1

FLAGS = ("first", "last", "payload", "error", "control_parity")

TAIL_LAYOUT = data.StructLayout(
    {
        "sectors": range(SECTORS_PER_TL_FLIT),
        "place": range(SECTORS_PER_TL_FLIT + 1),
        "fits": 1,
        "fits_after_message": 1,
        "short": range(3),
    }
)
"""Of the TL flit started last the sectors still to send; what follows from it for the half segment to make: the dword
of its frame behind them, and whether a TL flit may start there, without and with a message before it; the sectors that
the half segment lacks of 16."""

STATE_LAYOUT = data.StructLayout(
    {
        "half": BEATS_PER_FLIT,
        "first_half": 1,
        "accepted": 1,
        "first_tick": SEGMENT_HEADER_LAYOUT,
        "first_half_full": 1,
        "payload": 1,
        "error": 1,
        "tail": TAIL_LAYOUT,
        "tail_turn": 2,
        "tail_error": 1,
    }
)
"""Between two beats: the half segment to make, one-hot, and whether it is the first of its segment; of the DL flit in
hand whether it was accepted, holds something and is spoilt; of the segment in hand the header of its first tick, and
whether that was full; of the TL flit started last what is still to send, the turn that brings it into the frame to
come, a message before it included, and its error."""


def _tail(sectors: Value, following: Value) -> Value:
    """``TAIL_LAYOUT`` for half segment ``following``, one-hot, with ``sectors`` still to send."""
    sectors = sectors[:4]
    place = sectors + of_half(FRAME_TURN, following)
    return Cat(sectors, place[:5], fits(sectors, 1, following), fits(sectors, 2, following), of_half(SHORT, following))


class Packer(wiring.Component):
    """Fills a half segment per beat: DL message, then what the half segment before had no room for, then a TL flit.

    Each byte takes the parity that it came with, or that is made for it here (messages, segment headers), into the
    beat; nothing is checked on the way. The state that decides on places has parity of its own: once that does
    not fit, all beats until ``flush`` have ``error`` set (UALink_200 §6.7.3-4).

    A TL flit or message taken in cycle t is in the beat offered from cycle t + 1. The packer makes a beat whenever it
    has no other to offer, with or without anything to put into it: DL flits follow each other without end. A tick of
    the standard is a cycle in which a beat is made. Where a TL flit goes, and whether there is one to accept, is known
    from the cycle before.

    With ``cycles_per_beat`` above 1 a tick is the cycle in which a beat begins to be made: what comes later is for the
    next. What was taken in cycle t is in the beat offered from cycle t + ``cycles_per_beat`` on, and the next tick is
    the cycle in which that beat leaves.

    Parameters
    ----------
    cycles_per_beat : a beat leaves at most every so many cycles: 1, 2 or 4.

    Members
    -------
    flit : stream of TL flits; ``ready`` when a flit can start in the half segment being made.
    message : stream of 32-bit DL message dwords; ``ready`` in the first half of each segment.
    accept_one, accept_two : one more payload flit, two more may be made; sampled in the cycle before beat 0 of a DL
        flit is made. The flit before it counts, if it has payload. Without room it becomes a NOP flit, over which
        carried-over sectors are kept (ruling A-04 (DL)).
    channel_online : 0: no TL flit starts; messages and the rest of a started TL flit still go.
    flush : drop carried-over sectors and the DL flit in hand; while it is set, and in the cycle after it, no beat is
        made, and none is offered from the next cycle on. The first beat after it is beat 0.
    beat : stream of ``PACKED_BEAT_LAYOUT``; an offered beat does not change before it is taken.
    """

    def __init__(self, cycles_per_beat: int = 1):
        check_choice("cycles_per_beat", cycles_per_beat, CYCLES_PER_BEAT)
        self._cycles_per_beat = cycles_per_beat
        if cycles_per_beat > 1:
            self.steps = PackingSteps(cycles_per_beat)
        super().__init__(
            {
                "flit": In(tl_flit_signature()),
                "message": In(stream.Signature(32)),
                "accept_one": In(1),
                "accept_two": In(1),
                "channel_online": In(1),
                "flush": In(1),
                "beat": Out(stream.Signature(PACKED_BEAT_LAYOUT)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        at_once = self._cycles_per_beat == 1
        if at_once:
            m.submodules.flit_rotator = SectorRotator()
            m.submodules.tail_rotator = SectorRotator(stages=2)
            in_hand, leaves = self.beat.valid, self.beat.ready
        else:
            m.submodules.steps = ResetInserter(self.flush)(self.steps)
            steps = self.steps
            in_hand, leaves = steps.busy, steps.gone
        m.submodules.writer = writer = BeatWriter()

        # What is being made.
        m.submodules.state = state = ResetInserter(self.flush)(
            ProtectedRegister(
                STATE_LAYOUT,
                {"half": FIRST_HALF, "first_half": 1, "tail": {"fits": 1, "fits_after_message": 1}},
            )
        )
        now = state.q
        half, first_half = now.half, now.first_half
        following = Signal.like(half)
        packing = now.accepted
        flushed = Signal(init=1)
        halted = Signal()
        free = Signal()
        move = Signal()
        first = Signal()
        last = Signal()

        def moved(condition):
            """``condition`` in a cycle in which the beat in hand, if any, leaves: that comes late, all else waits."""
            return (~in_hand & condition) | (leaves & condition)

        m.d.comb += [
            first.eq(half[0]),
            last.eq(half[LAST_HALF]),
            following.eq(half.rotate_left(1)),
            halted.eq(self.flush | flushed),
            free.eq(~in_hand | leaves),
            move.eq(moved(~halted)),
        ]
        m.d.sync += flushed.eq(self.flush)

        # A first half filled by message and tail alone leaves a flit no place before the second, where it counts as the
        # first of its segment, whichever tick offered it (UALink_200 §6.3.4, ruling A-03 (DL)). Of a NOP flit nothing
        # but ``packing`` decides: all else is as if it had payload.
        offers_message = Signal()
        has_message = Signal()
        may_start = Signal()
        starts = Signal()
        offers_flit = Signal()
        m.d.comb += [
            offers_message.eq(first_half & self.message.valid),
            has_message.eq(packing & offers_message),
            may_start.eq(
                (packing & self.channel_online & ~halted)
                & Mux(offers_message, now.tail.fits_after_message, now.tail.fits)
            ),
            starts.eq(may_start & self.flit.valid),
            offers_flit.eq(packing & self.channel_online & self.flit.valid),
            self.flit.ready.eq(moved(may_start)),
            self.message.ready.eq(packing & first_half & move),
        ]

        if at_once:
            self._frame_at_once(m, now, writer, offers_message, offers_flit, moved(starts))

        # The segment header goes into the second beat of its segment.
        header = Signal(SEGMENT_HEADER_LAYOUT)
        m.d.comb += header.eq(now.first_tick)
        with m.If(starts):
            with m.If(first_half | now.first_half_full):
                m.d.comb += [header.tl_flit_0.eq(1), header.message_0.eq(self.flit.p.message)]
            with m.Else():
                m.d.comb += [header.tl_flit_1.eq(1), header.message_1.eq(self.flit.p.message)]
        with m.If(has_message):
            m.d.comb += header.alternative_sector.eq(1)

        occupied = Signal()
        flit_error = Signal()
        error = Signal()
        m.d.comb += [
            occupied.eq(starts | (packing & ((now.tail.sectors != 0) | offers_message))),
            flit_error.eq(
                self.flit.p.error | even_parity(self.flit.p.message, self.flit.p.error, self.flit.p.control_parity)
            ),
            error.eq((starts & flit_error) | (packing & (now.tail.sectors != 0) & now.tail_error) | state.mismatch),
        ]
        protected_header = join_parity(header.as_value(), byte_parity(header.as_value()))
        if at_once:
            m.d.comb += [
                writer.half.eq(half),
                writer.header.eq(protected_header),
                # What is kept at a flush is not looked at.
                writer.move.eq(free),
            ]
        else:
            kept_header = Signal.like(protected_header, reset_less=True)
            with m.If(free):
                m.d.sync += kept_header.eq(protected_header)
            m.d.comb += [
                # The half segment in hand is not the one to make any more.
                writer.half.eq(half.rotate_right(1)),
                writer.header.eq(kept_header),
                writer.frame.eq(steps.frame),
                writer.move.eq(free),
                steps.start.eq(move),
                steps.flit.eq(join_parity(self.flit.p.data, self.flit.p.parity)),
                steps.starts.eq(starts),
                steps.sectors.eq(now.tail.sectors),
                steps.packing.eq(packing),
                steps.message.eq(join_parity(self.message.p, byte_parity(self.message.p))),
                steps.has_message.eq(has_message),
                steps.turn.eq(of_half(FRAME_TURN, half)),
                steps.gone.eq(steps.whole & self.beat.ready),
            ]

        m.d.comb += state.d.eq(now)
        with m.If(move):
            m.d.comb += [
                state.d.half.eq(following),
                state.d.first_half.eq(~first_half),
                state.d.first_tick.eq(Mux(first_half, header.as_value(), 0)),
                state.d.first_half_full.eq(has_message & (now.tail.sectors == SECTORS_PER_TL_FLIT - 1)),
                state.d.payload.eq(~last & (now.payload | occupied)),
                state.d.error.eq(~last & (now.error | error)),
            ]
            # For all ways that this half segment may go.
            without, behind = rest_beyond(lambda sectors: _tail(sectors, following), now.tail, packing, starts)
            m.d.comb += Value.cast(state.d.tail).eq(Mux(offers_message, behind, without))
            step = of_half(FRAME_STEP, half)
            # In steps the number of sectors tells all of where they go.
            with m.If(packing if at_once else 0):
                m.d.comb += state.d.tail_turn.eq(Mux(starts, step + offers_message, now.tail_turn + step))
            with m.If(starts):
                m.d.comb += state.d.tail_error.eq(flit_error)

        # Whether the next flit has a place, when the last beat of this one is made and as long as it is on offer.
        with m.If(Mux(move, last, first)):
            holds = Mux(move, now.payload | occupied, in_hand & self.beat.p.payload)
            m.d.comb += state.d.accepted.eq(Mux(holds, self.accept_two, self.accept_one))

        beat = Signal(PACKED_BEAT_LAYOUT)
        beat_data, beat_parity = split_parity(writer.beat)
        m.d.comb += [
            beat.data.eq(beat_data),
            beat.parity.eq(beat_parity),
            beat.first.eq(first),
            beat.last.eq(last),
            beat.payload.eq(now.payload | occupied),
            beat.error.eq(now.error | error),
            beat.control_parity.eq(even_parity(beat.first, beat.last, beat.payload, beat.error)),
        ]
        if at_once:
            # What is not offered may be anything.
            with m.If(free):
                m.d.sync += self.beat.p.eq(beat)
            with m.If(move):
                m.d.sync += self.beat.valid.eq(1)
            with m.If(halted):
                m.d.sync += self.beat.valid.eq(0)
        else:
            self._offer_in_steps(m, beat, free, steps, state.mismatch)
        return m

    def _frame_at_once(self, m, now, writer, offers_message, offers_flit, starts):
        """All dwords of the frame in the cycle in which the half segment is made."""
        # A message moves all behind it by a sector. Every dword is made without one and with one, and chosen last.
        flit_rotator, tail_rotator = m.submodules.flit_rotator, m.submodules.tail_rotator
        packing = now.accepted
        # The TL flit started last, in the frame in which it did so, but for the message before it.
        tail = Signal(FRAME_BITS, reset_less=True)
        turn = of_half(FRAME_TURN, now.half)
        m.d.comb += [
            flit_rotator.sectors.eq(join_parity(self.flit.p.data, self.flit.p.parity)),
            flit_rotator.amount.eq(now.tail.place),
            tail_rotator.sectors.eq(tail),
            tail_rotator.amount.eq(now.tail_turn),
        ]
        message = join_parity(self.message.p, byte_parity(self.message.p))
        # Dwords of the frame in which message and tail are; with a turn, dword 0 is the last of them.
        before = [n < now.tail.place for n in range(SECTORS_PER_TL_FLIT)]
        for n in range(SECTORS_PER_TL_FLIT):
            if n:
                taken, taken_by_both = before[n], before[n] | before[n - 1]
            else:
                taken, taken_by_both = ~turn & before[0], ~turn | now.tail.place[4]
            # The message is in front of the tail.
            here = turn == n if n in FRAME_TURN[::2] else Const(0, 1)
            # What stands a dword lower without a message.
            lower = (n - 1) % SECTORS_PER_TL_FLIT
            flit, flit_behind = (flit_rotator.rotated.word_select(k, FRAME_SECTOR_BITS) for k in (n, lower))
            rest, rest_behind = (tail_rotator.rotated.word_select(k, FRAME_SECTOR_BITS) for k in (n, lower))
            without = select_one((packing & taken, offers_flit & now.tail.fits & ~taken), (rest, flit))
            behind = select_one(
                (
                    packing & taken_by_both & ~here,
                    packing & here,
                    offers_flit & now.tail.fits_after_message & ~taken_by_both,
                ),
                (rest_behind, message, flit_behind),
            )
            m.d.comb += writer.frame.word_select(n, FRAME_SECTOR_BITS).eq(Mux(offers_message, behind, without))
        with m.If(starts):
            m.d.sync += tail.eq(flit_rotator.rotated)

    def _offer_in_steps(self, m, beat, free, steps, mismatch):
        """The bytes as the last step makes them, the flags as they were known when the first began."""
        flags = Signal(data.StructLayout({name: 1 for name in FLAGS}), reset_less=True)
        offered = self.beat.p
        lost = mismatch | steps.mismatch
        with m.If(free):
            m.d.sync += [flags[name].eq(beat[name]) for name in FLAGS]
        m.d.comb += [
            self.beat.valid.eq(steps.whole),
            offered.data.eq(beat.data),
            offered.parity.eq(beat.parity),
            *(offered[name].eq(flags[name]) for name in FLAGS),
            # What is lost on the way spoils this beat too: the number of its half segment is in the state.
            offered.error.eq(flags.error | lost),
            offered.control_parity.eq(flags.control_parity ^ (lost & ~flags.error)),
        ]
