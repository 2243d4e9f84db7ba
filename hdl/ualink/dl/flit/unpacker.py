"""Unpacks TL flits and DL messages from DL flits (UALink_200 §6.3.3-6.3.5)."""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice
from ualink.dl.flit.beat_reader import BeatReader
from ualink.dl.flit.crc_steps import CYCLES_PER_BEAT
from ualink.dl.flit.format import SECTORS_PER_TL_FLIT, SEGMENT_HEADER_LAYOUT
from ualink.dl.flit.half_segment import (
    FIRST_HALF,
    FRAME_BITS,
    FRAME_SECTOR_BITS,
    FRAME_TURN,
    SHORT,
    fits,
    of_half,
    one_of,
    rest_beyond,
)
from ualink.dl.flit.receive_buffer import RECEIVED_BEAT_LAYOUT
from ualink.dl.flit.sector_rotator import SectorRotator
from ualink.dl.flit.unpacking_steps import UnpackingSteps
from ualink.dl.interface import tl_flit_signature
from ualink.lib.parity import ProtectedRegister, even_parity, join_parity, parity_mismatch, split_parity
from ualink.phy.interface import BEATS_PER_FLIT

__all__ = ["Unpacker"]

MISSING_LAYOUT = data.StructLayout(
    {
        "sectors": range(SECTORS_PER_TL_FLIT),
        "amount": range(SECTORS_PER_TL_FLIT),
        "fits": 1,
        "fits_after_message": 1,
        "ends": 1,
        "ends_after_message": 1,
        "some": 1,
        "aligned": 1,
        "short": range(3),
    }
)
"""Of the TL flit in hand the sectors still to come; what follows from it for the half segment in hand: the turn that
brings its first sector behind them to the start of a TL flit, whether there is one, and whether all of them are here,
both without and with a message before it; whether there are any; the half segment may be a TL flit as a whole; the
sectors that it lacks of 16."""

STATE_LAYOUT = data.StructLayout(
    {
        "held_valid": 1,
        "held_last": 1,
        "half": BEATS_PER_FLIT,
        "first_half": 1,
        "first_half_full": 1,
        "missing": MISSING_LAYOUT,
        "part_message": 2,
        "flit_valid": 1,
        "message_valid": 1,
    }
)
"""A beat is held, it is the last of its DL flit, and its number, one-hot; whether it is the first of its segment, and
whether that was full; of the TL flit in hand what is still to come and the message bits; what is given out in this
cycle."""


def _missing(sectors: Value, half: Value) -> Value:
    """``MISSING_LAYOUT`` for half segment ``half``, one-hot, with ``sectors`` still to come."""
    sectors = sectors[:4]
    some = sectors.any()
    return Cat(
        sectors,
        Mux(of_half(FRAME_TURN, half), ~sectors, -sectors)[:4],
        fits(sectors, 1, half),
        fits(sectors, 2, half),
        fits(sectors, 0, half),
        fits(sectors, 1, half),
        some,
        ~some & one_of([n for n, short in enumerate(SHORT) if not short], half),
        of_half(SHORT, half),
    )


class Unpacker(wiring.Component):
    """Takes a beat per cycle of accepted payload flits and gives out TL flits and DL messages in their order.

    A half segment is taken apart when the beat after it comes, for a sector is split between the two and the segment
    header comes second; the last half segment of a DL flit in the cycle after its beat. Latency from the beat that
    completes it to a TL flit: one cycle, for the last half segment two. Messages come with the same latency.

    With ``cycles_per_beat`` above 1 that takes as many cycles, and so does a beat to the place where it is taken apart:
    latency one to so many cycles, for the last half segment so many more; of messages the least of these.

    Segment header bits that are reserved are ignored, message bits of absent TL flits among them. A TL flit that the
    first half of its segment has no room for starts in the second, be it called TL Flit[0] or TL Flit[1] (ruling A-03
    (DL)).

    The bytes of a TL flit bring their parity along, unchecked; that of segment headers is checked here when they are
    used, that of messages when they leave, and in every cycle the one over the own state (UALink_200 §6.7.3).

    Parameters
    ----------
    cycles_per_beat : from one beat to the next are so many cycles or more: 1, 2 or 4.

    Members
    -------
    beat : stream of ``RECEIVED_BEAT_LAYOUT``, always ready: whole payload flits, FH and CRC bytes have no meaning.
    flush : drop a TL flit that has come in part, the beat in hand and the one that comes with it; the next beat must
        have ``first`` set.
    flit : stream of TL flits, always ready; ``port`` and ``error`` are 0.
    message : stream of 32-bit DL message dwords, always ready; one with bad parity is left out.
    format_error : pulse; a segment header promised a TL flit that has no sector to start in, which is left out
        (ruling A-38 (DL)).
    fault : a segment header, a message or the state has bad parity: the TL flit of this cycle, if there is one, and all
        after it may be anything, until ``flush``.
    """

    def __init__(self, cycles_per_beat: int = 1):
        check_choice("cycles_per_beat", cycles_per_beat, CYCLES_PER_BEAT)
        self._cycles_per_beat = cycles_per_beat
        super().__init__(
            {
                "beat": In(stream.Signature(RECEIVED_BEAT_LAYOUT, always_ready=True)),
                "flush": In(1),
                "flit": Out(tl_flit_signature(always_ready=True)),
                "message": Out(stream.Signature(32, always_ready=True)),
                "format_error": Out(1),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        at_once = self._cycles_per_beat == 1
        if at_once:
            m.submodules.reader = reader = BeatReader()
            m.submodules.rotator = SectorRotator()
        else:
            m.submodules.steps = reader = ResetInserter(self.flush)(UnpackingSteps(self._cycles_per_beat))
        m.submodules.state = state = ResetInserter(self.flush)(
            ProtectedRegister(
                STATE_LAYOUT,
                {
                    "half": FIRST_HALF,
                    "first_half": 1,
                    "missing": {"fits": 1, "fits_after_message": 1, "ends": 1, "ends_after_message": 1, "aligned": 1},
                },
            )
        )
        now = state.q

        half, first_half = now.half, now.first_half
        following = Signal.like(half)
        step = Signal()
        m.d.comb += [
            state.d.eq(now),
            state.d.half.eq(following),
            following.eq(half),
            reader.half.eq(half),
        ]
        came = join_parity(self.beat.p.data, self.beat.p.parity)
        if at_once:
            m.d.comb += step.eq(now.held_valid & (now.held_last | self.beat.valid))
            held = Signal(FRAME_BITS, reset_less=True)
            m.d.comb += [reader.first_half.eq(first_half), reader.beat.eq(held), reader.next_beat.eq(came)]
            header = reader.header
        else:
            # The last has to move up first: those before it have done so when the next one comes.
            m.d.comb += step.eq(now.held_valid & ((now.held_last & reader.moved) | self.beat.valid))
            m.d.comb += [reader.valid.eq(self.beat.valid), reader.beat.eq(came)]
            header = Mux(first_half, reader.header_of_first, reader.header_of_second)
        with m.If(self.beat.valid):
            if at_once:
                m.d.sync += held.eq(came)
            m.d.comb += [
                state.d.held_valid.eq(1),
                state.d.held_last.eq(self.beat.p.last),
                following.eq(Mux(self.beat.p.first, FIRST_HALF, half.rotate_left(1))),
                state.d.first_half.eq(self.beat.p.first | ~first_half),
            ]
        with m.Elif(step):
            m.d.comb += state.d.held_valid.eq(0)

        # Each header says what it says to a half segment of its own kind, whichever this one is.
        of_first, of_second = Signal(SEGMENT_HEADER_LAYOUT), Signal(SEGMENT_HEADER_LAYOUT)
        has_message = Signal()
        room_in_first = Signal()
        second_promised = Signal()
        starts = Signal()
        m.d.comb += [
            of_first.eq(reader.header_of_first[:8]),
            of_second.eq(reader.header_of_second[:8]),
            has_message.eq(first_half & of_first.alternative_sector),
            room_in_first.eq(Mux(of_first.alternative_sector, now.missing.fits_after_message, now.missing.fits)),
            second_promised.eq(of_second.tl_flit_1 | (of_second.tl_flit_0 & now.first_half_full)),
            starts.eq(Mux(first_half, of_first.tl_flit_0 & room_in_first, second_promised & now.missing.fits)),
        ]
        too_many = of_second.tl_flit_0 & of_second.tl_flit_1 & now.first_half_full
        message_bits = Mux(
            first_half,
            Mux(of_first.tl_flit_0, of_first.message_0, of_first.message_1),
            Mux(of_second.tl_flit_0 & now.first_half_full, of_second.message_0, of_second.message_1),
        )

        whole = starts & now.missing.aligned & ~has_message
        ends = Mux(has_message, now.missing.ends_after_message, now.missing.ends)
        completes = ends & now.missing.some
        emits = Signal()
        m.d.comb += emits.eq(step & (completes | whole))
        if at_once:
            flit = self._flit_at_once(m, now, reader, step, has_message, ends)
            first_sectors = reader.frame
            emitted = emits
        else:
            flit = reader.flit
            first_sectors = reader.first_sectors
            emitted = reader.ends
            m.d.comb += [
                reader.start.eq(step),
                reader.missing.eq(now.missing.sectors),
                reader.has_message.eq(has_message),
                reader.emits.eq(emits),
            ]
        flit_data, flit_parity = split_parity(flit)
        flit_message = Signal(2, reset_less=True)
        flit_control_parity = Signal(reset_less=True)
        new_message = Mux(completes, now.part_message, message_bits)
        m.d.comb += [
            self.flit.p.data.eq(flit_data),
            self.flit.p.parity.eq(flit_parity),
            self.flit.p.message.eq(flit_message),
            self.flit.p.control_parity.eq(flit_control_parity),
            self.flit.valid.eq(now.flit_valid),
            state.d.flit_valid.eq(emitted),
        ]
        with m.If(step):
            m.d.sync += [flit_message.eq(new_message), flit_control_parity.eq(even_parity(new_message))]
            m.d.comb += [
                state.d.first_half_full.eq(first_half & ~room_in_first),
            ]
            with m.If(starts):
                m.d.comb += state.d.part_message.eq(message_bits)
        # What follows from the sectors still to come is worked out for all ways that this half segment may go.
        without, behind = rest_beyond(lambda sectors: _missing(sectors, following), now.missing, step, starts)
        m.d.comb += Value.cast(state.d.missing).eq(Mux(has_message, behind, without))

        sector = Signal(FRAME_SECTOR_BITS, reset_less=True)
        message, message_parity = split_parity(sector)
        message_bad = now.message_valid & parity_mismatch(message, message_parity)
        header_bad = Signal()
        for n in set(FRAME_TURN[::2]):
            with m.If(of_half(FRAME_TURN, half) == n):
                m.d.sync += sector.eq(first_sectors.word_select(n, FRAME_SECTOR_BITS))
        fault = state.mismatch | header_bad | message_bad
        if not at_once:
            fault |= reader.mismatch
        m.d.comb += [
            state.d.message_valid.eq(step & has_message),
            self.fault.eq(fault),
            self.message.valid.eq(now.message_valid & ~self.fault),
            self.message.p.eq(message),
        ]
        m.d.sync += [
            header_bad.eq(step & parity_mismatch(header[:8], header[8:]) & ~self.flush),
            self.format_error.eq(step & ~first_half & ((second_promised & ~now.missing.fits) | too_many) & ~self.flush),
        ]
        return m

    def _flit_at_once(self, m, now, reader, step, has_message, ends):
        """The TL flit to give out, whole in the cycle after that of its last sector.

        The place of the first new sector in the frame becomes the start of a TL flit; sectors that were missing, which
        stand before it, come out at its end.
        """
        rotator = m.submodules.rotator
        # The TL flit in hand: its first 16 - ``missing`` sectors have come.
        part = Signal(FRAME_BITS, reset_less=True)
        flit = Signal(FRAME_BITS, reset_less=True)
        # A message moves all behind it by a sector, in a step of its own: the others are known before it.
        rotated = Signal(FRAME_BITS)
        m.d.comb += [
            rotator.sectors.eq(reader.frame),
            rotator.amount.eq(now.missing.amount),
            rotated.eq(Mux(has_message, rotator.rotated.rotate_right(FRAME_SECTOR_BITS), rotator.rotated)),
        ]
        for n in range(SECTORS_PER_TL_FLIT):
            arrived = rotated.word_select(n, FRAME_SECTOR_BITS)
            was_missing = now.missing.sectors + n >= SECTORS_PER_TL_FLIT
            # Whether there is a TL flit to give out or one that starts is known later than where it would stand: what
            # neither is true of has no meaning.
            m.d.sync += flit.word_select(n, FRAME_SECTOR_BITS).eq(
                Mux(was_missing | now.missing.aligned, arrived, part.word_select(n, FRAME_SECTOR_BITS))
            )
            with m.If(step & (ends | was_missing)):
                m.d.sync += part.word_select(n, FRAME_SECTOR_BITS).eq(arrived)
        return flit
