"""Unpacks TL flits and DL messages from DL flits (UALink_200 §6.3.3-6.3.5)."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.beat_reader import BeatReader
from ualink.dl.flit import (
    FLIT_BEAT_LAYOUT,
    HALF_SEGMENT_SECTORS,
    SECTOR_BYTES,
    SECTORS_PER_TL_FLIT,
    SEGMENT_HEADER_LAYOUT,
)
from ualink.dl.half_segment import FRAME_TURN, sectors_beyond
from ualink.dl.interface import tl_flit_signature
from ualink.dl.sector_rotator import SectorRotator
from ualink.phy.interface import BEATS_PER_FLIT

__all__ = ["Unpacker"]

SECTOR_BITS = 8 * SECTOR_BYTES


class Unpacker(wiring.Component):
    """Takes a beat per cycle of accepted payload flits and gives out TL flits and DL messages in their order.

    A half segment is taken apart when the beat after it comes, for a sector is split between the two and the segment
    header comes second; the last half segment of a DL flit in the cycle after its beat. Latency from the beat that
    completes it to a TL flit: one cycle, for the last half segment two. Messages come with the same latency.

    Segment header bits that are reserved are ignored, message bits of absent TL flits among them. A TL flit that the
    first half of its segment has no room for starts in the second, be it called TL Flit[0] or TL Flit[1] (ruling A-03
    (DL)).

    Members
    -------
    beat : stream of ``FLIT_BEAT_LAYOUT``, always ready: whole payload flits, FH and CRC bytes have no meaning.
    flush : drop a TL flit that has come in part, the beat in hand and the one that comes with it; the next beat must
        have ``first`` set.
    flit : stream of TL flits, always ready; ``port`` and ``error`` are 0.
    message : stream of 32-bit DL message dwords, always ready.
    format_error : pulse; a segment header promised a TL flit that has no sector to start in, which is left out
        (ruling A-38 (DL)).
    """

    def __init__(self):
        super().__init__(
            {
                "beat": In(stream.Signature(FLIT_BEAT_LAYOUT, always_ready=True)),
                "flush": In(1),
                "flit": Out(tl_flit_signature(always_ready=True)),
                "message": Out(stream.Signature(32, always_ready=True)),
                "format_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = reader = BeatReader()
        m.submodules.rotator = rotator = SectorRotator()

        held = Signal(FLIT_BEAT_LAYOUT, reset_less=True)
        held_valid = Signal()
        half = Signal(range(BEATS_PER_FLIT))
        step = Signal()
        m.d.comb += [
            step.eq(held_valid & (held.last | self.beat.valid)),
            reader.half.eq(half),
            reader.beat.eq(held.data),
            reader.next_beat.eq(self.beat.p.data),
        ]
        with m.If(self.beat.valid):
            m.d.sync += [
                held.eq(self.beat.p),
                held_valid.eq(1),
                half.eq(Mux(self.beat.p.first, 0, half + 1)),
            ]
        with m.Elif(step):
            m.d.sync += held_valid.eq(0)

        # The TL flit in hand: its first 16 - ``missing`` sectors have come.
        part = Signal(SECTOR_BITS * SECTORS_PER_TL_FLIT, reset_less=True)
        part_message = Signal(2, reset_less=True)
        missing = Signal(range(SECTORS_PER_TL_FLIT))

        header = Signal(SEGMENT_HEADER_LAYOUT)
        first_half = ~half[0]
        first_half_full = Signal()
        room = Array(HALF_SEGMENT_SECTORS)[half]
        position = Signal(range(SECTORS_PER_TL_FLIT + 1))
        full = Signal()
        promised = Signal()
        starts = Signal()
        m.d.comb += [
            header.eq(reader.header),
            position.eq(missing + (first_half & header.alternative_sector)),
            full.eq(position >= room),
            promised.eq(
                Mux(first_half, header.tl_flit_0 & ~full, header.tl_flit_1 | (header.tl_flit_0 & first_half_full))
            ),
            starts.eq(promised & ~full),
        ]
        too_many = header.tl_flit_0 & header.tl_flit_1 & first_half_full
        message_bits = Mux(header.tl_flit_0 & (first_half | first_half_full), header.message_0, header.message_1)

        # The place of the first new sector in the frame becomes the start of a TL flit; sectors that were missing,
        # which stand before it, come out at its end.
        whole = starts & (position == 0) & (room == SECTORS_PER_TL_FLIT)
        completes = (missing != 0) & (position <= room)
        m.d.comb += [
            rotator.sectors.eq(reader.frame),
            rotator.amount.eq(-(position + Array(FRAME_TURN)[half])),
        ]
        emits = Signal()
        m.d.comb += emits.eq(step & (completes | whole) & ~self.flush)
        m.d.sync += self.flit.valid.eq(emits)
        for n in range(SECTORS_PER_TL_FLIT):
            arrived = rotator.rotated.word_select(n, SECTOR_BITS)
            was_missing = missing + n >= SECTORS_PER_TL_FLIT
            with m.If(emits):
                m.d.sync += self.flit.p.data.word_select(n, SECTOR_BITS).eq(
                    Mux(was_missing | whole, arrived, part.word_select(n, SECTOR_BITS))
                )
            with m.If(step & (starts | was_missing)):
                m.d.sync += part.word_select(n, SECTOR_BITS).eq(arrived)

        has_message = step & first_half & header.alternative_sector & ~self.flush
        m.d.sync += [
            self.message.valid.eq(has_message),
            self.format_error.eq(step & ~first_half & ((promised & full) | too_many) & ~self.flush),
        ]
        with m.If(has_message):
            for n in set(FRAME_TURN[::2]):
                with m.If(Array(FRAME_TURN)[half] == n):
                    m.d.sync += self.message.payload.eq(reader.frame.word_select(n, SECTOR_BITS))
        with m.If(step):
            m.d.sync += [
                missing.eq(sectors_beyond(position, room, starts)),
                first_half_full.eq(first_half & full),
                self.flit.p.message.eq(Mux(completes, part_message, message_bits)),
            ]
            with m.If(starts):
                m.d.sync += part_message.eq(message_bits)

        with m.If(self.flush):
            m.d.sync += [held_valid.eq(0), missing.eq(0)]

        return m
