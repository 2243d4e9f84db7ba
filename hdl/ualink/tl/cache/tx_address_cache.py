"""Tx Address Cache: which way of the partner's Rx Address Cache holds a region, and which is worth a new one."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .address_entry import REGION_BITS, check_geometry, entry_layout, has_mismatch, make_entry

__all__ = ["ANSWER_LAYOUT", "OLDEST", "TxAddressCache"]

OLDEST = 7
"""Age of an entry that gives way to another region: so many misses of its row it saw without a hit of its own."""

ANSWER_LAYOUT = data.StructLayout({"hit": 1, "load": 1, "way": 2})
"""``hit``: ``way`` of the row holds the region. ``load``: ``way`` takes it over now. Never both."""


class TxAddressCache(wiring.Component):
    """``rows`` x ``ways`` regions, one lookup per cycle, answered in the next (UALink_200 §5.5, §5.6).

    A lookup takes effect when its answer is taken, so all take effect in the order of the Requests. It sees everything
    that those before it changed.

    Who hits stays: a hit makes its entry young (age 0). A miss makes all entries of its row older by one, up to
    ``OLDEST``, and takes the lowest way that is empty, or else the lowest that was ``OLDEST`` before; if there is none,
    nothing is loaded. So four streams keep their ways however many others pass by, as long as each comes back within
    seven misses.

    All entries are cleared after reset and after ``clear``, one row per cycle; until that is over, lookups miss and
    load nothing. So does a lookup that reads a row in which parity is wrong; nothing in the row changes then.

    Parameters
    ----------
    rows : 1 to 1024, one per Accelerator.
    ways : 1 to 4.
    region_bits : width of a region.

    Attributes
    ----------
    lookup : what to look for; without ``candidate`` the answer is neither hit nor load, and nothing changes.
    answer : to the lookups, in order. Its payload does not change while it waits.
    clear : level, forget everything. What was looked up before is answered as if it had come before.
    invalidate : pulse, forget the entry ``invalidate_row``, ``invalidate_way``; other ways than there are have no
        meaning. What was looked up before, or is in this cycle, is answered as if it had come before. Lookups wait for
        one or two cycles; if another pulse comes before that is over, everything is forgotten.
    error : pulse with the answer that is taken: parity was wrong.
    """

    def __init__(self, rows: int, ways: int, region_bits: int = REGION_BITS):
        check_geometry("tx address cache", rows, ways, region_bits)
        self.rows, self.ways = rows, ways
        self.entry_layout = entry_layout(region_bits, age=range(OLDEST + 1))
        self.storage = memory.Memory(shape=data.ArrayLayout(self.entry_layout, ways), depth=rows, init=[])
        lookup = data.StructLayout({"row": range(rows), "region": region_bits, "candidate": 1})
        # The lookup that is to be answered: ``seen`` in the row, which is ``found``, where not ``gone`` since.
        self.asked = Signal(lookup, reset_less=True)
        self.seen = Signal()
        self.found = Signal(data.ArrayLayout(self.entry_layout, ways))
        self.gone = Signal(ways)
        self.sweeping, self.sweep_row = Signal(init=1), Signal(range(rows))
        # An entry to be forgotten, in the cycle in which that happens.
        self.doomed, self.discard = Signal(), Signal()
        super().__init__(
            {
                "lookup": In(stream.Signature(lookup)),
                "answer": Out(stream.Signature(ANSWER_LAYOUT)),
                "clear": In(1),
                "invalidate": In(1),
                "invalidate_row": In(range(rows)),
                "invalidate_way": In(2),
                "error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = self.storage
        read = self.storage.read_port()
        write = self.storage.write_port(granularity=1)
        asked, ways = self.asked, range(self.ways)
        accepted, taken, seeing = Signal(), Signal(), Signal()
        sweeping, sweep_row = self.sweeping, self.sweep_row
        doomed, doomed_row, doomed_way = self.doomed, Signal(range(self.rows)), Signal(2)
        discard = self.discard

        m.d.comb += [
            self.lookup.ready.eq((~self.answer.valid | taken) & ~doomed),
            accepted.eq(self.lookup.valid & self.lookup.ready),
            taken.eq(self.answer.valid & self.answer.ready),
            seeing.eq(self.lookup.p.candidate & ~sweeping & ~self.clear),
            read.addr.eq(self.lookup.p.row),
            read.en.eq(accepted),
        ]
        with m.If(accepted):
            m.d.sync += [self.answer.valid.eq(1), asked.eq(self.lookup.p), self.seen.eq(seeing)]
        with m.Elif(taken):
            m.d.sync += self.answer.valid.eq(0)

        # What the lookup before wrote while this one was reading comes from beside the memory.
        written, forwarded = Signal(self.ways), Signal(self.ways)
        aside = Signal(self.found.shape(), reset_less=True)
        with m.If(accepted):
            m.d.sync += [
                forwarded.eq(Mux(asked.row == self.lookup.p.row, written, 0)),
                aside.eq(write.data),
            ]
        for way in ways:
            m.d.comb += self.found[way].eq(Mux(forwarded[way], aside[way], read.data[way]))

        changed, changes = self._answer(m)
        m.d.comb += self.error.eq(taken & self.seen & self._mismatch())

        # One write per cycle: the sweep, else what the answer changed, else an entry to be forgotten.
        m.d.comb += [
            write.addr.eq(asked.row),
            write.data.eq(changes),
            discard.eq(doomed & ~taken & ~sweeping),
        ]
        with m.If(sweeping):
            m.d.comb += [write.addr.eq(sweep_row), write.data.eq(0), write.en.eq(-1)]
        with m.Elif(taken):
            m.d.comb += [written.eq(changed & ~self.gone), write.en.eq(written)]
        with m.Elif(doomed):
            m.d.comb += [write.addr.eq(doomed_row), write.data.eq(0), write.en.eq(1 << doomed_way)]

        with m.If(accepted):
            m.d.sync += self.gone.eq(0)
        with m.Elif(sweeping | self.clear):
            m.d.sync += self.gone.eq(-1)
        with m.Elif(discard & (doomed_row == asked.row)):
            m.d.sync += self.gone.eq(self.gone | (1 << doomed_way))

        with m.If(discard | sweeping):
            m.d.sync += doomed.eq(0)
        with m.If(self.invalidate):
            m.d.sync += [doomed.eq(1), doomed_row.eq(self.invalidate_row), doomed_way.eq(self.invalidate_way)]
        with m.If(sweeping):
            m.d.sync += [sweeping.eq(sweep_row != self.rows - 1), sweep_row.eq(sweep_row + 1)]
        with m.If(self.clear | (self.invalidate & doomed & ~discard & ~sweeping)):
            m.d.sync += [sweeping.eq(1), sweep_row.eq(0)]
        return m

    def _mismatch(self) -> Value:
        return Cat(has_mismatch(self.found[way]) for way in range(self.ways)).any()

    def _answer(self, m) -> tuple[Value, Value]:
        """The answer out of ``found``; gives the ways that it changes and what they become."""
        found, answer, ways = self.found, self.answer.p, range(self.ways)
        hits, empty, oldest, chosen = (Signal(self.ways, name=name) for name in ("hits", "empty", "oldest", "chosen"))
        usable, use = Signal(), Signal()
        changed, changes = Signal(self.ways), Signal(found.shape())
        for way in ways:
            m.d.comb += [
                hits[way].eq(found[way].valid & (found[way].region == self.asked.region)),
                empty[way].eq(~found[way].valid),
                oldest[way].eq(found[way].age == OLDEST),
            ]
        m.d.comb += [
            usable.eq(self.seen & ~self._mismatch()),
            answer.hit.eq(usable & hits.any()),
            answer.load.eq(usable & ~hits.any() & (empty.any() | oldest.any())),
            chosen.eq(Mux(hits.any(), hits, Mux(empty.any(), empty, oldest))),
            use.eq(answer.hit | answer.load),
        ]
        for way in reversed(ways):
            with m.If(use & chosen[way]):
                m.d.comb += answer.way.eq(way)
        # A hit leaves the same entry as a load.
        young = make_entry(self.entry_layout, valid=1, region=self.asked.region)
        for way in ways:
            entry = found[way]
            age = entry.age + (entry.age != OLDEST)
            older = make_entry(self.entry_layout, valid=entry.valid, region=entry.region, age=age)
            used = use & (answer.way == way)
            m.d.comb += [
                changed[way].eq(Mux(answer.hit, used, usable)),
                changes[way].eq(Mux(used, young, older)),
            ]
        return changed, changes
