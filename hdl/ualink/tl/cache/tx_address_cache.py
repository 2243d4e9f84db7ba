"""Tx Address Cache: which way of the partner's Rx Address Cache holds a region, and which is worth a new one."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.contract import contract, stays_on_offer
from ualink.lib.select import select_one

from .address_entry import REGION_BITS, check_geometry, entry_layout, has_mismatch, make_entry

__all__ = ["ANSWER_LAYOUT", "OLDEST", "TxAddressCache"]

OLDEST = 7
"""Age of an entry that gives way to another region: so many misses of its row it saw without a hit of its own."""

ANSWER_LAYOUT = data.StructLayout({"hit": 1, "load": 1, "way": 2})
"""``hit``: ``way`` of the row holds the region. ``load``: ``way`` takes it over now. Never both."""


class TxAddressCache(wiring.Component):
    """``rows`` x ``ways`` regions, one lookup per cycle, answered two cycles later (UALink_200 §5.5, §5.6).

    In the first cycle the row that was read is compared, in the second one it is decided and written. A lookup takes
    effect when its answer is taken, so all take effect in the order of the Requests. It sees everything that those
    before it changed.

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
    clear : level, forget everything. An answer that is there already stays; other lookups miss and load nothing.
    invalidate : pulse, forget the entry ``invalidate_row``, ``invalidate_way``; other ways than there are have no
        meaning. What was looked up before, or is in this cycle, is answered as if it had come before. Further lookups
        wait until all answers have been taken and the entry is forgotten; if another pulse comes before that is over,
        everything is forgotten as by ``clear``.
    error : pulse with the answer that is taken: parity was wrong.
    """

    def __init__(self, rows: int, ways: int, region_bits: int = REGION_BITS):
        check_geometry("tx address cache", rows, ways, region_bits)
        self.rows, self.ways = rows, ways
        self.entry_layout = entry_layout(region_bits, age=range(OLDEST + 1))
        self.storage = memory.Memory(shape=data.ArrayLayout(self.entry_layout, ways), depth=rows, init=[])
        lookup = data.StructLayout({"row": range(rows), "region": region_bits, "candidate": 1})
        row = data.ArrayLayout(self.entry_layout, ways)
        # The lookup whose row was ``read``, if there is one and it may see what the row ``holds``.
        self.coming = Signal(lookup, reset_less=True)
        self.comes, self.sees = Signal(), Signal()
        self.read, self.holds = Signal(row), Signal(row)
        # The lookup that is to be answered: ``seen`` in the row, which is ``found``, where it ``hits``; or the entries
        # that are ``wrong`` kept it from that. Of what is ``gone`` since, nothing is written any more.
        self.asked = Signal(lookup, reset_less=True)
        self.looks, self.wrong, self.gone = Signal(), Signal(ways), Signal()
        self.seen = Signal()
        self.found, self.hits = Signal(row, reset_less=True), Signal(ways, reset_less=True)
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
        coming, asked = self.coming, self.asked
        enters, moves, taken, forget, blind = (Signal(name=name) for name in _EVENTS)
        sweeping, sweep_row = self.sweeping, self.sweep_row
        doomed, doomed_row, doomed_way = self.doomed, Signal(range(self.rows)), Signal(2)

        m.d.comb += [
            taken.eq(self.answer.valid & self.answer.ready),
            moves.eq(~self.answer.valid | taken),
            enters.eq(~self.comes | moves),
            self.lookup.ready.eq(enters & ~doomed),
            self.discard.eq(doomed & ~self.comes & ~self.answer.valid & ~sweeping),
            forget.eq(self.clear | (self.invalidate & doomed & ~self.discard & ~sweeping)),
            blind.eq(forget | sweeping),
            read.addr.eq(self.lookup.p.row),
            read.en.eq(enters),
            self.read.eq(read.data),
            self.seen.eq(self.looks & ~self.wrong.any()),
            self.error.eq(taken & self.looks & self.wrong.any()),
        ]
        contract(m, stays_on_offer(self.answer), "an answer does not change while it waits")
        changed, used = self._answer(m)
        hits, mismatch = self._compare(m, changed, used, enters)

        with m.If(enters):
            m.d.sync += [
                self.comes.eq(self.lookup.valid & ~doomed),
                coming.eq(self.lookup.p),
                self.sees.eq(self.lookup.p.candidate & ~blind),
            ]
        with m.Elif(blind):
            m.d.sync += self.sees.eq(0)
        with m.If(moves):
            m.d.sync += [
                self.answer.valid.eq(self.comes),
                asked.eq(coming),
                self.looks.eq(self.sees & ~blind),
                self.wrong.eq(mismatch),
                self.gone.eq(0),
            ]
        with m.Elif(blind):
            m.d.sync += self.gone.eq(1)

        # What the lookup in front changes in this cycle comes late.
        same_row, same_region = Signal(), Signal()
        m.d.comb += [
            same_row.eq(coming.row == asked.row),
            same_region.eq(coming.region == asked.region),
        ]
        for way in range(self.ways):
            left = self._older(self.holds[way]), self.holds[way]
            with m.If(moves):
                m.d.sync += [
                    self.found[way].eq(
                        Mux(used[way] & same_row, self._young(asked), Mux(changed[way] & same_row, *left))
                    ),
                    self.hits[way].eq(Mux(used[way] & same_row, same_region, hits[way])),
                ]

        # One write per cycle: the sweep, else what the answer changes, else an entry to be forgotten.
        m.d.comb += write.addr.eq(asked.row)
        for way in range(self.ways):
            m.d.comb += write.data[way].eq(Mux(used[way], self._young(asked), self._older(self.found[way])))
        with m.If(sweeping):
            m.d.comb += [write.addr.eq(sweep_row), write.data.eq(0), write.en.eq(-1)]
        with m.Elif(self.discard):
            m.d.comb += [write.addr.eq(doomed_row), write.data.eq(0), write.en.eq(1 << doomed_way)]
        with m.Else():
            m.d.comb += write.en.eq(changed)

        with m.If(self.discard | sweeping):
            m.d.sync += doomed.eq(0)
        with m.If(self.invalidate):
            m.d.sync += [doomed.eq(1), doomed_row.eq(self.invalidate_row), doomed_way.eq(self.invalidate_way)]
        with m.If(sweeping):
            m.d.sync += [sweeping.eq(sweep_row != self.rows - 1), sweep_row.eq(sweep_row + 1)]
        with m.If(forget):
            m.d.sync += [sweeping.eq(1), sweep_row.eq(0)]
        return m

    def _compare(self, m, changed, used, enters) -> tuple[Value, Value]:
        """What the row holds that was read, with what was being written in that cycle; gives where it hits and where
        parity is wrong."""
        older, young, region = Signal(self.ways), Signal(self.ways), Signal.like(self.asked.region)
        hits = Signal(self.ways)
        same_row = self.asked.row == self.lookup.p.row
        with m.If(enters):
            m.d.sync += [
                older.eq(Mux(same_row, changed, 0)),
                young.eq(Mux(same_row, used, 0)),
                region.eq(self.asked.region),
            ]
        written = Signal(self.coming.shape())
        m.d.comb += written.region.eq(region)
        for way in range(self.ways):
            entry = self.read[way]
            m.d.comb += [
                self.holds[way].eq(Mux(young[way], self._young(written), Mux(older[way], self._older(entry), entry))),
                hits[way].eq(
                    Mux(
                        young[way],
                        self.coming.region == region,
                        entry.valid & (entry.region == self.coming.region),
                    )
                ),
            ]
        return hits, Cat(has_mismatch(self.read[way]) for way in range(self.ways))

    def _young(self, lookup) -> Value:
        """The entry that a hit leaves, and a load as well."""
        return make_entry(self.entry_layout, valid=1, region=lookup.region)

    def _older(self, entry) -> Value:
        """The entry that a miss leaves."""
        age = entry.age + (entry.age != OLDEST)
        return make_entry(self.entry_layout, valid=entry.valid, region=entry.region, age=age)

    def _answer(self, m) -> tuple[Value, Value]:
        """The answer out of ``found``; gives the ways that it changes in this cycle, and the one among them that it
        uses."""
        found, answer, ways = self.found, self.answer.p, range(self.ways)
        empty, oldest, chosen, lowest = (Signal(self.ways, name=name) for name in _WAYS)
        changed, used = Signal(self.ways), Signal(self.ways)
        hit, writes = Signal(), Signal()
        for way in ways:
            m.d.comb += [empty[way].eq(~found[way].valid), oldest[way].eq(found[way].age == OLDEST)]
        m.d.comb += [
            hit.eq(self.hits.any()),
            answer.hit.eq(self.seen & hit),
            answer.load.eq(self.seen & ~hit & (empty.any() | oldest.any())),
            chosen.eq(Mux(hit, self.hits, Mux(empty.any(), empty, oldest))),
            lowest.eq(chosen & -chosen),
            answer.way.eq(Mux(self.seen, select_one(lowest, ways), 0)),
            writes.eq(self.answer.valid & self.answer.ready & self.seen & ~self.gone & ~self.sweeping),
            used.eq(lowest & writes.replicate(self.ways)),
            changed.eq(used | (~hit & writes).replicate(self.ways)),
        ]
        return changed, used


_EVENTS = ("enters", "moves", "taken", "forget", "blind")
_WAYS = ("empty", "oldest", "chosen", "lowest")
