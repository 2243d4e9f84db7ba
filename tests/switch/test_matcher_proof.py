"""The matcher proved: one reader and one writer at each end, transfers stay whole, nobody starves."""

import os

import pytest
from amaranth.hdl import Assert, Assume, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import BITWUZLA, prove
from ualink.lib.select import select_one
from ualink.switch.matching.matcher import Matcher

INGRESSES, PATIENCE = 2, 2


class Bench(wiring.Component):
    """Whatever waits, in queues of any length: what is there stays until it is accepted, what is said to come comes.

    ``waits``, ``data``: what the oldest item of each pair is in the next cycle, if it is another; ``beats``: of it.
    ``soon``: whether the matcher is told so. ``more``: what it is told of those behind.
    ``room``, ``data_room``: of egress ports.
    """

    def __init__(self, egresses):
        self.egresses = egresses
        self.bound = Matcher(INGRESSES, egresses, PATIENCE).bound
        pair = INGRESSES * egresses
        super().__init__(
            {
                **{name: In(pair) for name in ("waits", "data", "soon", "more")},
                "beats": In(2).array(pair),
                **{name: In(egresses) for name in ("room", "data_room")},
                "who": In(range(INGRESSES)),
                "whom": In(range(egresses)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        self.matcher = matcher = Matcher(INGRESSES, self.egresses, PATIENCE)
        m.submodules.matcher = matcher
        self.there, self.whole = Signal(len(self.waits)), Signal(len(self.waits))
        self.left = [Signal(2, name=f"left_{n}") for n in range(INGRESSES)]
        accepted = Cat(matcher.accept)
        m.d.comb += [matcher.room.eq(self.room), matcher.data_room.eq(self.data_room)]
        for n in range(INGRESSES):
            for k in range(self.egresses):
                place = n * self.egresses + k
                there, with_data = Signal(name=f"there_{n}_{k}"), Signal(name=f"with_data_{n}_{k}")
                beats = Signal(2, name=f"beats_{n}_{k}")
                free = ~there | accepted[place]
                with m.If(free):
                    m.d.sync += [
                        there.eq(self.waits[place]),
                        with_data.eq(self.data[place]),
                        beats.eq(self.beats[place]),
                    ]
                soon = free & self.waits[place] & self.soon[place] & ~there
                m.d.comb += [
                    self.there[place].eq(there),
                    matcher.with_data[n][k].eq(there & with_data),
                    matcher.without[n][k].eq(there & ~with_data),
                    matcher.beats[n][k].eq(beats),
                    matcher.more[n][k].eq(self.more[place]),
                    matcher.soon_with_data[n][k].eq(soon & self.data[place]),
                    matcher.soon_without[n][k].eq(soon & ~self.data[place]),
                    Assert(~accepted[place] | there),
                ]
        self.check(m)
        return m


def one_or_none(bits):
    return (bits & (bits - 1)) == 0


class WholeBench(Bench):
    """Each accepted item is read from the next cycle on, beat after beat, and shares no end with another."""

    def check(self, m):
        matcher = self.matcher
        for n in range(INGRESSES):
            accept, start, hold = matcher.accept[n], matcher.start[n], matcher.hold[n]
            with_data = Signal(self.egresses, name=f"accepted_data_{n}")
            beats = Signal(2, name=f"accepted_beats_{n}")
            m.d.comb += [
                with_data.eq(accept & matcher.with_data[n]),
                beats.eq(select_one(accept, matcher.beats[n])),
            ]
            owner, left = Signal(self.egresses, name=f"owner_{n}"), Signal(2, name=f"owner_left_{n}")
            was = Signal(self.egresses, name=f"was_{n}")
            m.d.sync += was.eq(accept)
            with m.If(with_data.any()):
                m.d.sync += [owner.eq(with_data), left.eq(beats)]
            with m.Elif(left == 0):
                m.d.sync += owner.eq(0)
            with m.Else():
                m.d.sync += left.eq(left - 1)
            m.d.comb += [
                Assert(one_or_none(accept)),
                Assert(~with_data.any() | ~owner.any() | (left == 0)),
                Assert(start == was),
                Assert(hold == owner),
                Assert(~owner.any() | (matcher.ends[n] == (left == 0))),
            ]
        for k in range(self.egresses):
            m.d.comb += [
                Assert(one_or_none(Cat(accept[k] for accept in matcher.accept))),
                Assert(one_or_none(Cat(hold[k] for hold in matcher.hold))),
            ]


class FairBench(Bench):
    """Somebody waits for an egress port with room, and is accepted in time."""

    def check(self, m):
        matcher = self.matcher
        who, whom, begun = Signal.like(self.who), Signal.like(self.whom), Signal()
        m.d.sync += begun.eq(1)
        with m.If(~begun):
            m.d.sync += [who.eq(self.who), whom.eq(self.whom)]
        m.d.comb += Assume(self.room.bit_select(whom, 1) & self.data_room.bit_select(whom, 1))
        place = (who * self.egresses + whom)[:2]
        waited = Signal(range(self.bound + 2))
        with m.If(begun & self.there.bit_select(place, 1) & ~Cat(matcher.accept).bit_select(place, 1)):
            m.d.sync += waited.eq(waited + 1)
        with m.Else():
            m.d.sync += waited.eq(0)
        m.d.comb += Assert(waited < self.bound)


@pytest.mark.req("UPLI-302", "SW-043")
def test_transfers_stay_whole():
    prove(WholeBench(2), mode="bmc", depth=10, engine=BITWUZLA)


@pytest.mark.soak
@pytest.mark.req("SW-039", "SW-040", "SW-041")
@pytest.mark.parametrize("egresses", [1, 2] if os.environ.get("UALINK_SOAK") else [1])
def test_nobody_starves(egresses):
    """With two egress ports, whose grants an ingress port chooses from, it takes minutes."""
    bench = FairBench(egresses)
    prove(bench, mode="bmc", depth=bench.bound + 4, engine=BITWUZLA)
