"""Find the markers of a lane, and with them its number and where its beats begin."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_FLIT
from ualink.phy.pcs.interface import check_framing
from ualink.phy.pcs.lane_marker import lane_marker

__all__ = ["MARKER_MISSES", "MarkerFinder"]

MARKER_MISSES = 5
"""Markers missing in a row that lose the lock (IEEE 802.3 82.2.13, 119.2.6.3)."""

_NIBBLE = 4


class MarkerFinder(wiring.Component):
    """Locks on the board lane markers of a lane. Domain "rx"; latency three cycles.

    A marker is found where its first block matches in all 66 bits. Two of the same lane in the distance of a marker
    interval lock; five missing in a row, where they should be, lose the lock, and so does ``enable`` low. Between two
    expected places nothing is looked at, so data that look like a marker do no harm to a lock. A PCS with the
    alignment markers of IEEE 802.3 has another component with these members here.

    Parameters
    ----------
    lanes : 1, 2 or 4.
    marker_interval : flit slots from marker to marker.

    Members
    -------
    enable : block lock.
    block, valid : 66 bit, if there is one in this cycle.
    output, output_valid : the blocks of a locked lane, from the marker that made the lock on.
    output_marker : with ``output_valid``: a marker begins with this block, or should.
    locked : 0 after reset.
    lane : 2 bit: number in the marker; has meaning while ``locked``.
    """

    def __init__(self, *, lanes: int, marker_interval: int):
        check_framing(lanes=lanes, marker_interval=marker_interval)
        self._lanes = lanes
        self._interval = marker_interval * BLOCKS_PER_FLIT // lanes
        super().__init__(
            {
                "enable": In(1),
                "block": In(BLOCK_BITS),
                "valid": In(1),
                "output": Out(BLOCK_BITS),
                "output_valid": Out(1),
                "output_marker": Out(1),
                "locked": Out(1),
                "lane": Out(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Two steps to compare: nibbles, then all of them. What differs between lanes are two nibbles; the lanes' own.
        block_1, block_2 = Signal(BLOCK_BITS), Signal(BLOCK_BITS)
        valid_1, valid_2, found = Signal(), Signal(), Signal()
        lane_2 = Signal(2)
        markers = [lane_marker(lane, self._lanes, 0) for lane in range(self._lanes)]
        equal: list[Value] = []
        own: list[list[Value]] = [[] for _ in markers]
        for low in range(0, BLOCK_BITS, _NIBBLE):
            mask = (1 << _NIBBLE) - 1
            nibble = self.block[low : low + _NIBBLE]
            if len({marker >> low & mask for marker in markers}) == 1:
                equal.append(nibble == (markers[0] >> low & mask))
            else:
                for matches, marker in zip(own, markers):
                    matches.append(nibble == (marker >> low & mask))
        equal_1 = Signal(len(equal))
        own_1 = Signal(len(markers))
        m.d.rx += [
            block_1.eq(self.block),
            valid_1.eq(self.valid),
            equal_1.eq(Cat(equal)),
            own_1.eq(Cat(Cat(matches).all() for matches in own)),
            block_2.eq(block_1),
            valid_2.eq(valid_1),
            found.eq(equal_1.all() & own_1.any()),
            lane_2.eq(Cat(own_1[1::2].any(), own_1[2:].any())),
        ]

        searching = Signal(init=1)
        left = Signal(range(self._interval))
        expected, misses = Signal(), Signal(range(MARKER_MISSES))
        matches, begins = Signal(), Signal()
        m.d.comb += [
            matches.eq(found & (lane_2 == self.lane)),
            begins.eq(valid_2 & expected & (matches | (self.locked & (misses != MARKER_MISSES - 1)))),
        ]
        m.d.rx += [
            self.output.eq(block_2),
            self.output_valid.eq(begins | (valid_2 & self.locked & ~expected)),
            self.output_marker.eq(begins),
        ]
        with m.If(~self.enable):
            m.d.rx += [searching.eq(1), self.locked.eq(0), self.output_valid.eq(0)]
        with m.Elif(valid_2):
            m.d.rx += [left.eq(left - 1), expected.eq(left == 1)]
            with m.If(searching):
                m.d.rx += [left.eq(self._interval - 1), expected.eq(0), misses.eq(0), self.lane.eq(lane_2)]
                m.d.rx += searching.eq(~found)
            with m.Elif(expected):
                m.d.rx += left.eq(self._interval - 1)
                with m.If(matches):
                    m.d.rx += [self.locked.eq(1), misses.eq(0)]
                with m.Elif(self.locked):
                    m.d.rx += misses.eq(misses + 1)
                    with m.If(misses == MARKER_MISSES - 1):
                        m.d.rx += [self.locked.eq(0), searching.eq(1)]
                with m.Else():
                    m.d.rx += [searching.eq(~found), self.lane.eq(lane_2)]
        return m
