"""Makes the frame of a half segment part by part, for links with fewer beats than cycles (UALink_200 §6.3.3)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice
from ualink.dl.flit.crc_steps import CYCLES_PER_BEAT
from ualink.dl.flit.format import SECTORS_PER_TL_FLIT
from ualink.dl.flit.half_segment import FRAME_BITS, FRAME_SECTOR_BITS
from ualink.lib.parity import ProtectedRegister
from ualink.lib.select import select_one

__all__ = ["PackingSteps"]


class PackingSteps(wiring.Component):
    """Holds two TL flits one behind the other, as a line of sectors, and takes a half segment out of it in steps.

    A half segment holds what is left of the flit before and then the new one, which follow each other without a gap:
    sector n of it is what stands as many sectors before sector n of the new flit as message and rest take. So one
    distance places all of them. A step takes a part of 16 / ``cycles_per_beat`` sectors out of the line: each from the
    part of the line that is so far behind, and then turned within the part. Line and frame move on by a part then: the
    frame comes into the place that the new flit leaves.

    The steps follow ``start``; in the last of them, ``cycles_per_beat`` cycles later, the frame is on offer until
    ``gone``, with which the next may ``start``. Parity protects what decides on places (UALink_200 §6.7.3); the sectors
    bring their own.

    Parameters
    ----------
    cycles_per_beat : steps, 2 or 4.

    Members
    -------
    start : a half segment begins: all of the following belongs to it.
    flit, starts : TL flit, 16 dwords of protected bytes; it starts in this half segment.
    sectors : what the TL flit before has left, of which the half segment takes what it has room for.
    packing : message and rest may go; otherwise the frame is 0, with ``starts`` low.
    message, has_message : protected dword in front of all else.
    turn : dword 0 of the frame holds the last sector, not the first (``half_segment.FRAME_TURN``).
    gone : the frame on offer is not needed any more.
    busy, whole : a frame is in hand; it is on offer.
    frame : with ``whole``: 16 dwords, as ``half_segment`` says; dwords without a sector have no meaning.
    mismatch : the own state has bad parity: this frame and those after it may be anything, until reset.
    """

    def __init__(self, cycles_per_beat: int):
        check_choice("cycles_per_beat", cycles_per_beat, CYCLES_PER_BEAT[1:])
        self._steps = cycles_per_beat
        self._lanes = SECTORS_PER_TL_FLIT // cycles_per_beat
        self.state = ProtectedRegister(
            data.StructLayout(
                {
                    "step": cycles_per_beat,
                    # Parts of the line that the first sector of a part is behind, one-hot, and sectors beyond them.
                    "behind": cycles_per_beat + 1,
                    "beyond": range(self._lanes),
                    "turned": range(self._lanes),
                    "turn": 1,
                    "starts": 1,
                    "packing": 1,
                    "message": 1,
                }
            )
        )
        super().__init__(
            {
                "start": In(1),
                "flit": In(FRAME_BITS),
                "starts": In(1),
                "sectors": In(range(SECTORS_PER_TL_FLIT)),
                "packing": In(1),
                "message": In(FRAME_SECTOR_BITS),
                "has_message": In(1),
                "turn": In(1),
                "gone": In(1),
                "busy": Out(1),
                "whole": Out(1),
                "frame": Out(FRAME_BITS),
                "mismatch": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.state = state = self.state
        now, then = state.q, state.d
        lanes, part_bits = self._lanes, self._lanes * FRAME_SECTOR_BITS
        # The new flit and what there is of the frame; the flit before, whole, and later this one.
        work = Signal(FRAME_BITS, reset_less=True)
        line = Signal(FRAME_BITS, reset_less=True)
        message = Signal(FRAME_SECTOR_BITS, reset_less=True)
        distance = Signal(range(SECTORS_PER_TL_FLIT + 1))
        moves = Signal()
        m.d.comb += [
            self.busy.eq(now.step.any()),
            self.whole.eq(now.step[-1]),
            self.mismatch.eq(state.mismatch),
            moves.eq(Mux(self.whole, self.gone, self.busy)),
            distance.eq(self.sectors + self.has_message),
            then.eq(now),
        ]
        with m.If(moves):
            m.d.comb += then.step.eq(now.step << 1)
        with m.If(self.start):
            m.d.comb += [
                then.step.eq(1),
                then.beyond.eq(distance % lanes),
                then.turned.eq((distance + self.turn) % lanes),
                then.turn.eq(self.turn),
                then.starts.eq(self.starts),
                then.packing.eq(self.packing),
                then.message.eq(self.has_message),
                *(then.behind[n].eq(distance // lanes == n) for n in range(self._steps + 1)),
            ]
            m.d.sync += message.eq(self.message)

        part = self._part(m, now, line, work, message)
        with m.If(self.start):
            m.d.sync += work.eq(self.flit)
        with m.Elif(moves):
            m.d.sync += work.eq(Cat(work[part_bits:], part))
        with m.If(moves):
            # Without a new flit the one before goes round.
            m.d.sync += line.eq(Cat(line[part_bits:], Mux(now.starts, work[:part_bits], line[:part_bits])))

        # Of each part dword 0 is its last sector where the frame is turned: it belongs to the part behind.
        made = [Cat(work[part_bits:], part).word_select(n, part_bits) for n in range(self._steps)]
        for n, here in enumerate(made):
            m.d.comb += self.frame.word_select(n, part_bits).eq(
                Cat(Mux(now.turn, made[n - 1][:FRAME_SECTOR_BITS], here[:FRAME_SECTOR_BITS]), here[FRAME_SECTOR_BITS:])
            )
        return m

    def _part(self, m, now, line, work, message):
        """The dwords of this step, turned as the frame is."""
        lanes = self._lanes
        part_bits = lanes * FRAME_SECTOR_BITS
        # From the newest to the oldest.
        parts = [work[:part_bits], *(line.word_select(n, part_bits) for n in reversed(range(self._steps)))]
        taken = Signal(part_bits)
        for lane in range(lanes):
            # A sector that the turn brings into the next part is out of one that is older by a part.
            older = Signal(name=f"older_{lane}")
            chosen = Signal(len(parts), name=f"chosen_{lane}")
            m.d.comb += [
                older.eq(lane + now.beyond >= lanes),
                chosen.eq(Mux(older, now.behind << 1, now.behind)),
                taken.word_select(lane, FRAME_SECTOR_BITS).eq(
                    select_one(chosen, (part.word_select(lane, FRAME_SECTOR_BITS) for part in parts))
                ),
            ]
        turned = taken
        for power in range((lanes - 1).bit_length()):
            turned = Mux(now.turned[power], turned.rotate_left(FRAME_SECTOR_BITS << power), turned)

        # Sectors of the rest, in the order of the half segment.
        all_rest, some_rest = Signal(), Signal()
        rest, valid = Signal(lanes), Signal(lanes)
        m.d.comb += [
            all_rest.eq(Cat(now.step[n] & now.behind[n + 1 :].any() for n in range(self._steps)).any()),
            some_rest.eq((now.step & now.behind[: self._steps]).any()),
            rest.eq(Cat(all_rest | (some_rest & (n < now.beyond)) for n in range(lanes))),
            valid.eq(Cat(Mux(one, now.packing, now.starts) for one in rest)),
        ]
        placed = Mux(now.turn, valid.rotate_left(1), valid)
        first = now.message & now.step[0]
        words = []
        for lane in range(lanes):
            word = Mux(placed[lane], turned.word_select(lane, FRAME_SECTOR_BITS), 0)
            if lane < 2:
                word = Mux(first & (now.turn == lane), message, word)
            words.append(word)
        part = Signal(part_bits)
        m.d.comb += part.eq(Cat(words))
        return part
