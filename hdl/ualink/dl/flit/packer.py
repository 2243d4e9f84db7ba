"""Packs TL flits and DL messages into DL flits, on the fly (UALink_200 §6.3.3-6.3.5, Figure 6-5)."""

from amaranth.hdl import Array, Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.flit.beat_writer import BeatWriter
from ualink.dl.flit.format import HALF_SEGMENT_SECTORS, SECTORS_PER_TL_FLIT, SEGMENT_HEADER_LAYOUT
from ualink.dl.flit.half_segment import FRAME_BITS, FRAME_SECTOR_BITS, FRAME_STEP, FRAME_TURN, sectors_beyond
from ualink.dl.flit.sector_rotator import SectorRotator
from ualink.dl.interface import tl_flit_signature
from ualink.lib.parity import ProtectedRegister, byte_parity, even_parity, join_parity, split_parity
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

STATE_LAYOUT = data.StructLayout(
    {
        "half": range(BEATS_PER_FLIT),
        "accepted": 1,
        "first_tick": SEGMENT_HEADER_LAYOUT,
        "first_half_full": 1,
        "payload": 1,
        "error": 1,
        "tail_sectors": range(SECTORS_PER_TL_FLIT),
        "tail_turn": 2,
        "tail_error": 1,
    }
)
"""Between two beats: the half segment to make; of the DL flit in hand whether it was accepted, holds something and is
spoilt; of the segment in hand the header of its first tick, and whether that was full; of the TL flit started last the
sectors still to send, the turn that brings them into the frame to come, and its error."""


class Packer(wiring.Component):
    """Fills a half segment per beat: DL message, then what the half segment before had no room for, then a TL flit.

    Each byte takes the parity that it came with, or that is made for it here (messages, segment headers), into the
    beat; nothing is checked on the way. The state that decides on places has a parity bit of its own: once that does
    not fit, all beats until ``flush`` have ``error`` set (UALink_200 §6.7.3-4).

    A TL flit or message taken in cycle t is in the beat offered from cycle t + 1. The packer makes a beat whenever it
    has no other to offer, with or without anything to put into it: DL flits follow each other without end. A tick of
    the standard is a cycle in which a beat is made.

    Members
    -------
    flit : stream of TL flits; ``ready`` when a flit can start in the half segment being made.
    message : stream of 32-bit DL message dwords; ``ready`` in the first half of each segment.
    accept : sampled when beat 0 of a DL flit is made; 0 makes it a NOP flit, over which carried-over sectors are kept
        (ruling A-04 (DL)).
    channel_online : 0: no TL flit starts; messages and the rest of a started TL flit still go.
    flush : drop carried-over sectors and the DL flit in hand; while it is set no beat is made or offered from the next
        cycle on. The first beat after it is beat 0.
    beat : stream of ``PACKED_BEAT_LAYOUT``; an offered beat does not change before it is taken.
    """

    def __init__(self):
        super().__init__(
            {
                "flit": In(tl_flit_signature()),
                "message": In(stream.Signature(32)),
                "accept": In(1),
                "channel_online": In(1),
                "flush": In(1),
                "beat": Out(stream.Signature(PACKED_BEAT_LAYOUT)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.flit_rotator = flit_rotator = SectorRotator()
        m.submodules.tail_rotator = tail_rotator = SectorRotator(stages=2)
        m.submodules.writer = writer = BeatWriter()

        # What is being made.
        m.submodules.state = state = ResetInserter(self.flush)(ProtectedRegister(STATE_LAYOUT))
        now = state.q
        half = now.half
        packing = Signal()
        move = Signal()
        first = Signal()
        last = Signal()
        m.d.comb += [
            first.eq(half == 0),
            last.eq(half == LAST_HALF),
            packing.eq(Mux(first, self.accept, now.accepted)),
            move.eq((~self.beat.valid | self.beat.ready) & ~self.flush),
        ]

        # The frame in which the TL flit started last did so.
        tail = Signal(FRAME_BITS, reset_less=True)

        # A first half filled by message and tail alone leaves a flit no place before the second, where it counts as the
        # first of its segment, whichever tick offered it (UALink_200 §6.3.4, ruling A-03 (DL)).
        first_half = ~half[0]
        room = Array(HALF_SEGMENT_SECTORS)[half]
        position = Signal(range(SECTORS_PER_TL_FLIT + 1))
        has_message = Signal()
        may_start = Signal()
        starts = Signal()
        m.d.comb += [
            has_message.eq(packing & first_half & self.message.valid),
            position.eq(Mux(packing, now.tail_sectors + has_message, 0)),
            may_start.eq(packing & self.channel_online & (position < room)),
            starts.eq(may_start & self.flit.valid),
            self.flit.ready.eq(may_start & move),
            self.message.ready.eq(packing & first_half & move),
        ]

        turn = Array(FRAME_TURN)[half]
        m.d.comb += [
            flit_rotator.sectors.eq(join_parity(self.flit.p.data, self.flit.p.parity)),
            flit_rotator.amount.eq(position + turn),
            tail_rotator.sectors.eq(tail),
            tail_rotator.amount.eq(has_message + now.tail_turn),
        ]
        taken = Signal(SECTORS_PER_TL_FLIT)
        taken_frame = Signal(SECTORS_PER_TL_FLIT)
        m.d.comb += [
            taken.eq(Cat(n < position for n in range(SECTORS_PER_TL_FLIT))),
            taken_frame.eq(Mux(turn, taken.rotate_left(1), taken)),
        ]
        for n in range(SECTORS_PER_TL_FLIT):
            for_tail = taken_frame[n].replicate(FRAME_SECTOR_BITS)
            for_flit = (starts & ~taken_frame[n]).replicate(FRAME_SECTOR_BITS)
            from_tail = tail_rotator.rotated.word_select(n, FRAME_SECTOR_BITS) & for_tail
            from_flit = flit_rotator.rotated.word_select(n, FRAME_SECTOR_BITS) & for_flit
            m.d.comb += writer.frame.word_select(n, FRAME_SECTOR_BITS).eq(from_tail | from_flit)
        message = join_parity(self.message.payload, byte_parity(self.message.payload))
        with m.If(has_message):
            for n in set(FRAME_TURN[::2]):
                with m.If(turn == n):
                    m.d.comb += writer.frame.word_select(n, FRAME_SECTOR_BITS).eq(message)

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
            occupied.eq(starts | (position != 0)),
            flit_error.eq(
                self.flit.p.error | even_parity(self.flit.p.message, self.flit.p.error, self.flit.p.control_parity)
            ),
            error.eq((starts & flit_error) | (packing & (now.tail_sectors != 0) & now.tail_error) | state.mismatch),
            writer.half.eq(half),
            writer.header.eq(Cat(header, even_parity(header))),
            writer.move.eq(move),
        ]

        m.d.comb += state.d.eq(now)
        with m.If(move):
            m.d.comb += [
                state.d.half.eq(Mux(last, 0, half + 1)),
                state.d.accepted.eq(packing),
                state.d.first_tick.eq(Mux(first_half, header.as_value(), 0)),
                state.d.first_half_full.eq(first_half & (position == SECTORS_PER_TL_FLIT)),
                state.d.payload.eq(~last & (now.payload | occupied)),
                state.d.error.eq(~last & (now.error | error)),
            ]
            with m.If(packing):
                m.d.comb += [
                    state.d.tail_sectors.eq(sectors_beyond(position, room, starts)),
                    state.d.tail_turn.eq(Mux(starts, 0, now.tail_turn) + Array(FRAME_STEP)[half]),
                ]
            with m.If(starts):
                m.d.comb += state.d.tail_error.eq(flit_error)
                m.d.sync += tail.eq(flit_rotator.rotated)

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
        with m.If(move):
            m.d.sync += [self.beat.valid.eq(1), self.beat.p.eq(beat)]
        with m.If(self.flush):
            m.d.sync += self.beat.valid.eq(0)

        return m
