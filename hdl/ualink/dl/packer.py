"""Packs TL flits and DL messages into DL flits, on the fly (UALink_200 §6.3.3-6.3.5, Figure 6-5)."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.beat_writer import BeatWriter
from ualink.dl.flit import (
    HALF_SEGMENT_SECTORS,
    SECTOR_BYTES,
    SECTORS_PER_TL_FLIT,
    SEGMENT_HEADER_LAYOUT,
)
from ualink.dl.half_segment import FRAME_STEP, FRAME_TURN, sectors_beyond
from ualink.dl.interface import tl_flit_signature
from ualink.dl.sector_rotator import SectorRotator
from ualink.phy.interface import BEATS_PER_FLIT

__all__ = ["PACKED_BEAT_LAYOUT", "Packer"]

PACKED_BEAT_LAYOUT = data.StructLayout({"data": 512, "first": 1, "last": 1, "payload": 1, "error": 1})
"""One of ten beats of a DL flit in wire order: segment headers in place, FH and CRC bytes zero. Valid with ``last``:
``payload`` (a payload flit; otherwise a NOP flit, all zero) and ``error`` (a TL flit with bytes in here was marked)."""

LAST_HALF = BEATS_PER_FLIT - 1
SECTOR_BITS = 8 * SECTOR_BYTES


class Packer(wiring.Component):
    """Fills a half segment per beat: DL message, then what the half segment before had no room for, then a TL flit.

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
        half = Signal(range(BEATS_PER_FLIT))
        accepted = Signal()
        packing = Signal()
        move = Signal()
        first = Signal()
        last = Signal()
        m.d.comb += [
            first.eq(half == 0),
            last.eq(half == LAST_HALF),
            packing.eq(Mux(first, self.accept, accepted)),
            move.eq((~self.beat.valid | self.beat.ready) & ~self.flush),
        ]

        # What the TL flit started last has left to send. ``tail`` keeps the frame in which it started; ``tail_turn``
        # turns that into the frame of the half segment to come.
        tail = Signal(SECTOR_BITS * SECTORS_PER_TL_FLIT, reset_less=True)
        tail_turn = Signal(2, reset_less=True)
        tail_error = Signal(reset_less=True)
        tail_sectors = Signal(range(SECTORS_PER_TL_FLIT))

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
            position.eq(Mux(packing, tail_sectors + has_message, 0)),
            may_start.eq(packing & self.channel_online & (position < room)),
            starts.eq(may_start & self.flit.valid),
            self.flit.ready.eq(may_start & move),
            self.message.ready.eq(packing & first_half & move),
        ]

        turn = Array(FRAME_TURN)[half]
        m.d.comb += [
            flit_rotator.sectors.eq(self.flit.p.data),
            flit_rotator.amount.eq(position + turn),
            tail_rotator.sectors.eq(tail),
            tail_rotator.amount.eq(has_message + tail_turn),
        ]
        taken = Signal(SECTORS_PER_TL_FLIT)
        taken_frame = Signal(SECTORS_PER_TL_FLIT)
        m.d.comb += [
            taken.eq(Cat(n < position for n in range(SECTORS_PER_TL_FLIT))),
            taken_frame.eq(Mux(turn, taken.rotate_left(1), taken)),
        ]
        for n in range(SECTORS_PER_TL_FLIT):
            from_tail = tail_rotator.rotated.word_select(n, SECTOR_BITS) & taken_frame[n].replicate(SECTOR_BITS)
            from_flit = flit_rotator.rotated.word_select(n, SECTOR_BITS) & (starts & ~taken_frame[n]).replicate(
                SECTOR_BITS
            )
            m.d.comb += writer.frame.word_select(n, SECTOR_BITS).eq(from_tail | from_flit)
        with m.If(has_message):
            for n in set(FRAME_TURN[::2]):
                with m.If(turn == n):
                    m.d.comb += writer.frame.word_select(n, SECTOR_BITS).eq(self.message.payload)

        # The segment header goes into the second beat of its segment.
        first_tick = Signal(SEGMENT_HEADER_LAYOUT)
        first_half_full = Signal()
        header = Signal(SEGMENT_HEADER_LAYOUT)
        m.d.comb += header.eq(first_tick)
        with m.If(starts):
            with m.If(first_half | first_half_full):
                m.d.comb += [header.tl_flit_0.eq(1), header.message_0.eq(self.flit.p.message)]
            with m.Else():
                m.d.comb += [header.tl_flit_1.eq(1), header.message_1.eq(self.flit.p.message)]
        with m.If(has_message):
            m.d.comb += header.alternative_sector.eq(1)

        occupied = Signal()
        payload_before = Signal()
        error = Signal()
        error_before = Signal()
        m.d.comb += [
            occupied.eq(starts | (position != 0)),
            error.eq((starts & self.flit.p.error) | (packing & (tail_sectors != 0) & tail_error)),
            writer.half.eq(half),
            writer.header.eq(header),
            writer.move.eq(move),
        ]

        with m.If(move):
            m.d.sync += [
                half.eq(Mux(last, 0, half + 1)),
                accepted.eq(packing),
                first_tick.eq(Mux(first_half, header.as_value(), 0)),
                first_half_full.eq(first_half & (position == SECTORS_PER_TL_FLIT)),
                payload_before.eq(~last & (payload_before | occupied)),
                error_before.eq(~last & (error_before | error)),
                self.beat.valid.eq(1),
                self.beat.p.data.eq(writer.data),
                self.beat.p.first.eq(first),
                self.beat.p.last.eq(last),
                self.beat.p.payload.eq(payload_before | occupied),
                self.beat.p.error.eq(error_before | error),
            ]
            with m.If(packing):
                m.d.sync += [
                    tail_sectors.eq(sectors_beyond(position, room, starts)),
                    tail_turn.eq(Mux(starts, 0, tail_turn) + Array(FRAME_STEP)[half]),
                ]
            with m.If(starts):
                m.d.sync += [tail.eq(flit_rotator.rotated), tail_error.eq(self.flit.p.error)]

        with m.If(self.flush):
            m.d.sync += [
                half.eq(0),
                tail_sectors.eq(0),
                first_tick.eq(0),
                payload_before.eq(0),
                error_before.eq(0),
                self.beat.valid.eq(0),
            ]

        return m
