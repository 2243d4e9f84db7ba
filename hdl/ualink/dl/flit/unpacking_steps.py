"""Collects TL flits from half segments part by part, for links with fewer beats than cycles (UALink_200 §6.3.3)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice
from ualink.dl.flit.beat_reader import SEGMENT_HEADER_BYTE, frame_sources
from ualink.dl.flit.crc_steps import CYCLES_PER_BEAT
from ualink.dl.flit.format import HALF_SEGMENT_SECTORS, SECTOR_BYTES, SECTORS_PER_TL_FLIT
from ualink.dl.flit.half_segment import (
    FRAME_BITS,
    FRAME_SECTOR_BITS,
    FRAME_TURN,
    SHORT,
    frame_dword,
    of_half,
    one_of,
)
from ualink.lib.contract import apart, contract
from ualink.lib.parity import PROTECTED_BYTE_BITS, ProtectedRegister
from ualink.phy.interface import BEATS_PER_FLIT

__all__ = ["UnpackingSteps"]


class UnpackingSteps(wiring.Component):
    """Moves beats through a line, a part of 16 / ``cycles_per_beat`` sectors a cycle, and takes the sectors that leave.

    Of each part the sectors are turned so that they fall in with those of the TL flit that came before them, which make
    a part of it with them or wait for more. A message in front, and a half segment of less than 16 sectors, make the
    ones behind it fall in a sector earlier. Four parts in the way of the line's end are a TL flit.

    How far it is and what it does is protected by parity (UALink_200 §6.7.3); the sectors bring their own.

    Parameters
    ----------
    cycles_per_beat : steps, 2 or 4; from one beat to the next are so many cycles or more.

    Members
    -------
    valid, beat : a beat comes, 64 protected bytes in wire order. It has moved up ``cycles_per_beat`` cycles later, when
        ``moved`` rises.
    start : the half segment of the beat that has moved up is taken apart, in this cycle and those that follow; the beat
        behind it comes in this cycle, or later if this is the last of its DL flit. All of the following belongs to it.
    half : its number, one-hot.
    missing : sectors of the TL flit in hand that it begins with, 0: none is in hand.
    has_message : a message is in front.
    emits : it has the last sector of a TL flit.
    header_of_first, header_of_second : protected segment header if it is the first half of its segment, or the second.
    first_sectors : dwords 0 and 1 of its frame.
    ends : the last sector of a TL flit is taken: ``flit`` is that flit in the next cycle.
    flit : 16 dwords of protected bytes.
    mismatch : the own state has bad parity: what comes from now on may be anything, until reset.
    """

    def __init__(self, cycles_per_beat: int):
        check_choice("cycles_per_beat", cycles_per_beat, CYCLES_PER_BEAT[1:])
        self._steps = cycles_per_beat
        self._lanes = SECTORS_PER_TL_FLIT // cycles_per_beat
        self.state = ProtectedRegister(
            data.StructLayout(
                {
                    # One bit a cycle after the first, of moving up and of taking apart; when the TL flit ends.
                    "moving": cycles_per_beat - 1,
                    "step": cycles_per_beat - 1,
                    "ends": cycles_per_beat - 1,
                    "half": BEATS_PER_FLIT,
                    "turned": range(self._lanes),
                    "waiting": range(self._lanes),
                }
            )
        )
        super().__init__(
            {
                "valid": In(1),
                "beat": In(FRAME_BITS),
                "moved": Out(1, init=1),
                "start": In(1),
                "half": In(BEATS_PER_FLIT),
                "missing": In(range(SECTORS_PER_TL_FLIT)),
                "has_message": In(1),
                "emits": In(1),
                "header_of_first": Out(PROTECTED_BYTE_BITS),
                "header_of_second": Out(PROTECTED_BYTE_BITS),
                "first_sectors": Out(2 * FRAME_SECTOR_BITS),
                "ends": Out(1),
                "flit": Out(FRAME_BITS),
                "mismatch": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        n, lanes = self._steps, self._lanes
        part_bits = lanes * FRAME_SECTOR_BITS
        contract(m, apart(self.valid, n), f"From one beat to the next are {n} cycles or more")
        m.submodules.state = state = self.state
        now, then = state.q, state.d

        # A beat behind the other, the one in front from its part of this step on.
        line = Signal(FRAME_BITS, reset_less=True)
        behind = Signal(FRAME_BITS - part_bits, reset_less=True)
        taking, moving = Signal(), Signal()
        m.d.comb += [
            self.moved.eq(~now.moving.any()),
            self.mismatch.eq(state.mismatch),
            self.header_of_first.eq(self.beat.word_select(SEGMENT_HEADER_BYTE, PROTECTED_BYTE_BITS)),
            self.header_of_second.eq(line.word_select(SEGMENT_HEADER_BYTE, PROTECTED_BYTE_BITS)),
            taking.eq(self.start | now.step.any()),
            moving.eq(self.valid | now.moving.any() | taking),
            then.moving.eq(Mux(self.valid, 1, now.moving << 1)),
            then.step.eq(Mux(self.start, 1, now.step << 1)),
        ]
        with m.If(moving):
            m.d.sync += line.eq(Cat(line[part_bits:], Mux(self.valid, self.beat[:part_bits], behind[:part_bits])))
        with m.If(self.valid):
            m.d.sync += behind.eq(self.beat[part_bits:])
        with m.Else():
            m.d.sync += behind.eq(behind >> part_bits)

        # What the first step finds out stays for the others.
        half, turned = Signal.like(now.half), Signal.like(now.turned)
        waited, waiting = Signal.like(now.waiting), Signal.like(now.waiting)
        last_sector = Signal(range(SECTORS_PER_TL_FLIT + 1))
        with m.If(self.start):
            m.d.comb += [
                half.eq(self.half),
                waited.eq(-self.missing),
                waiting.eq(waited - self.has_message),
                turned.eq(of_half(FRAME_TURN, self.half) + self.has_message - waited),
                last_sector.eq((self.missing - 1)[: len(self.missing)] + self.has_message),
                self.ends.eq(self.emits & (last_sector // lanes == 0)),
                then.ends.eq(Cat(self.emits & (last_sector // lanes == k) for k in range(1, n))),
            ]
        with m.Else():
            m.d.comb += [
                half.eq(now.half),
                waited.eq(now.waiting),
                waiting.eq(now.waiting),
                turned.eq(now.turned),
                self.ends.eq(now.ends[0]),
                then.ends.eq(now.ends >> 1),
            ]
        m.d.comb += [then.half.eq(half), then.turned.eq(turned), then.waiting.eq(waiting)]

        sectors = self._sectors(m, half, line)
        m.d.comb += self.first_sectors.eq(sectors)
        for power in range((lanes - 1).bit_length()):
            sectors = Mux(turned[power], sectors.rotate_right(FRAME_SECTOR_BITS << power), sectors)

        # Those that wait come first; with one place less to fill, or with less to fill it, they may wait for more.
        early = Signal(part_bits - FRAME_SECTOR_BITS, reset_less=True)
        part = Signal(part_bits)
        full = Signal()
        m.d.comb += part.eq(
            Cat(
                *(
                    Mux(k < waited, early.word_select(k, FRAME_SECTOR_BITS), sectors.word_select(k, FRAME_SECTOR_BITS))
                    for k in range(lanes - 1)
                ),
                sectors[-FRAME_SECTOR_BITS:],
            )
        )
        m.d.comb += full.eq(
            Mux(
                self.start,
                ~self.has_message | (waited != 0),
                ~now.step[-1] | (now.waiting >= of_half(SHORT, now.half)),
            )
        )
        flit = Signal(FRAME_BITS, reset_less=True)
        m.d.comb += self.flit.eq(flit)
        with m.If(taking):
            m.d.sync += early.eq(Mux(full, sectors, part))
            with m.If(full):
                m.d.sync += flit.eq(Cat(flit[part_bits:], part))
        return m

    def _sectors(self, m, half, line):
        """The dwords of this step as they stand in the frame; those without a sector may be anything."""
        first = Signal(FRAME_SECTOR_BITS, reset_less=True)
        with m.If(self.start):
            m.d.sync += first.eq(line[:FRAME_SECTOR_BITS])
        steps = Cat(self.start, self.state.q.step)
        sectors = Signal(self._lanes * FRAME_SECTOR_BITS)
        for byte in range(self._lanes * SECTOR_BYTES):
            sources = self._sources(byte)
            # Where it mostly is, unless it is elsewhere.
            usual, *others = sorted(sources, key=lambda source: -len(sources[source]))
            word = _byte_at(line, first, usual)
            for source in others:
                here = 0
                for step in sorted({step for _, step in sources[source]}):
                    halves = sorted(number for number, at in sources[source] if at == step)
                    here |= steps[step] & one_of(halves, half)
                word = Mux(here, _byte_at(line, first, source), word)
            m.d.comb += sectors.word_select(byte, PROTECTED_BYTE_BITS).eq(word)
        return sectors

    def _sources(self, byte):
        """Where ``byte`` of the part is: by its place in the line, negative in the dword that left it first, the half
        segments and steps in which it is there."""
        lanes = self._lanes
        lane = byte // SECTOR_BYTES
        found: dict[int, set[tuple[int, int]]] = {}
        for half, room in enumerate(HALF_SEGMENT_SECTORS):
            places = frame_sources(half)
            for step in range(self._steps):
                sector = lanes * step + (lane - FRAME_TURN[half]) % lanes
                if sector >= room:
                    continue
                beat, wire = places[frame_dword(half, sector) * SECTOR_BYTES + byte % SECTOR_BYTES]
                place = beat * SECTORS_PER_TL_FLIT * SECTOR_BYTES + wire - lanes * SECTOR_BYTES * step
                if place < 0:
                    assert wire < SECTOR_BYTES
                    place = wire - SECTOR_BYTES
                found.setdefault(place, set()).add((half, step))
        return found


def _byte_at(line, first, place):
    """Protected byte ``place`` of ``line``, or of ``first``, which is in front of it."""
    if place < 0:
        return first.word_select(place + SECTOR_BYTES, PROTECTED_BYTE_BITS)
    return line.word_select(place, PROTECTED_BYTE_BITS)
