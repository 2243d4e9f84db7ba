"""Bring the lanes into step and into order by their markers (UALink_200 §7.3.2; IEEE 802.3 82.2.13, 82.2.14)."""

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCKS_PER_BEAT, BLOCKS_PER_FLIT
from ualink.phy.pcs.interface import check_framing, lane_word_layout, pcs_beat_signature

__all__ = ["Deskew"]

_FRESH = 3
"""Shares that wait in a lane that is read on: what comes in at once, and pointers under way."""


class Deskew(wiring.Component):
    """Reads all lanes in step from a beat on in which each of them begins a marker, and puts them into the order of
    their numbers.

    Not aligned, all lanes are read on. The first marker after a time without one, and without shares that wait, waits
    for the others', but no longer than the skew may be. All markers there and all numbers different: aligned. While a
    lane has no marker lock nothing waits, so that old shares go. Alignment is lost with a lane's marker lock, where a
    lane has nothing for as long, and where markers or numbers do not agree in a beat, which is not given on. Latency
    two cycles.

    What waits behind a marker tells how long ago it came in. Markers that came in further apart than ``patience`` do
    not belong together, and the older one is read on: a lane has lost one between them.

    Parameters
    ----------
    lanes : 1, 2 or 4.
    blocks_per_word : 1, 2, 4 or 8, a multiple of ``lanes``.
    depth : highest ``level``.
    patience : shares without a marker before the first marker of a group; more than the skew, and less than
        what the skew leaves of a marker interval.

    Members
    -------
    lane : array of streams of ``lane_word_layout(lanes, blocks_per_word)``, as they come in.
    marker_lock : a bit per lane.
    level : array: shares that wait in the lane's FIFO.
    output : stream of ``pcs_beat_layout``, always ready; ``codeword`` is on every 80th block from a marker.
    aligned : 0 after reset; may fall while beats are on their way.
    number : array of 2 bits: number of the lane, from its last share.
    skew : array: blocks of each lane that waited when the lanes came into step. Their differences are the skew, to
        the blocks of a share.
    """

    def __init__(self, *, lanes: int, depth: int, patience: int, blocks_per_word: int = BLOCKS_PER_BEAT):
        check_framing(lanes=lanes, blocks_per_word=blocks_per_word)
        self._patience = patience
        self._lanes, self._blocks, self._share = lanes, blocks_per_word, blocks_per_word // lanes
        super().__init__(
            {
                "lane": In(stream.Signature(lane_word_layout(lanes, blocks_per_word))).array(lanes),
                "marker_lock": In(lanes),
                "level": In(range(depth + 1)).array(lanes),
                "output": Out(pcs_beat_signature(blocks_per_word, always_ready=True)),
                "aligned": Out(1),
                "number": Out(2).array(lanes),
                "skew": Out(range(depth * self._share + 1)).array(lanes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes = range(self._lanes)
        valid = Cat(self.lane[n].valid for n in lanes)
        marker = Cat(self.lane[n].p.marker for n in lanes)
        present = Cat(Cat(self.lane[n].p.lane == number for n in lanes).any() for number in lanes)
        locked, in_order, together, step, gives = (Signal() for _ in range(5))
        old = Cat(self._is_old(n) for n in lanes)
        m.d.comb += [
            locked.eq(self.marker_lock.all()),
            in_order.eq(present.all()),
            together.eq(marker.all() & ~old.any()),
            step.eq(valid.all() & (self.aligned | together)),
            gives.eq(locked & valid.all() & in_order & (together | (self.aligned & ~marker.any()))),
        ]
        longest = Cat(self.level[n] > 2 * self._patience for n in lanes)
        with m.If(self.aligned), m.If(~locked | (valid.all() & ~gives) | (~valid.all() & longest.any())):
            m.d.sync += self.aligned.eq(0)
        with m.Elif(gives):
            m.d.sync += self.aligned.eq(1)
            for n in lanes:
                m.d.sync += self.skew[n].eq(self.level[n] * self._share)
        # The first marker of a group follows on a time without any: a lane met in mid-group does not wait, or it
        # would wait for markers that are gone. Nor does one that still has shares of an earlier wait: its markers would
        # come after the others' for as long as it waits in vain once an interval.
        quiet = Signal(range(self._patience + 1))
        armed, group = Signal(), Signal()
        waiting: list[Value] = []
        m.d.comb += armed.eq(quiet == self._patience)
        for n in lanes:
            marks = self.lane[n].p.marker
            patient = (armed | (group & ~longest[n])) & ~old[n]
            waits = locked & ~step & (self.aligned | (self.lane[n].valid & marks & patient))
            waiting.append(waits & ~self.aligned)
            m.d.comb += self.lane[n].ready.eq(~waits)
            with m.If(self.lane[n].valid):
                m.d.sync += self.number[n].eq(self.lane[n].p.lane)
        m.d.sync += group.eq(Cat(waiting).any())
        fresh = Cat(self.level[n] <= _FRESH for n in lanes).all()
        with m.If(~locked | ~fresh | (valid & marker).any()):
            m.d.sync += quiet.eq(0)
        with m.Elif(self.lane[0].valid & self.lane[0].ready & ~armed):
            m.d.sync += quiet.eq(quiet + 1)

        shares = Array(Signal.like(self.lane[n].p.blocks) for n in lanes)
        source = [Signal(range(self._lanes)) for _ in lanes]
        moved, moved_marker, codeword = Signal(), Signal(), Signal()
        beats = BLOCKS_PER_FLIT // self._blocks
        beat = Signal(range(beats))
        m.d.sync += moved.eq(gives)
        with m.If(gives):
            m.d.sync += [
                moved_marker.eq(marker[0]),
                codeword.eq(marker[0] | (beat == 0)),
                beat.eq(beat + 1),
            ]
            with m.If(marker[0]):
                m.d.sync += beat.eq(1)
            with m.Elif(beat == beats - 1):
                m.d.sync += beat.eq(0)
            for n in lanes:
                m.d.sync += shares[n].eq(self.lane[n].p.blocks)
                for number in lanes:
                    with m.If(self.lane[n].p.lane == number):
                        m.d.sync += source[number].eq(n)
        m.d.sync += self.output.valid.eq(moved)
        with m.If(moved):
            m.d.sync += [self.output.p.marker.eq(moved_marker), self.output.p.codeword.eq(codeword)]
            for n in range(self._blocks):
                m.d.sync += self.output.p.blocks[n].eq(shares[source[n % self._lanes]][n // self._lanes])
        return m

    def _is_old(self, n: int) -> Value:
        """Another lane's marker came in too long after what lane ``n`` gives."""
        others = (other for other in range(self._lanes) if other != n)
        return Cat(
            self.lane[other].valid & self.lane[other].p.marker & (self.level[n] > self.level[other] + self._patience)
            for other in others
        ).any()
