"""Rx Address Cache: the regions that the partner has named, as it has them in its Tx Address Cache."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.contract import contract
from ualink.lib.memory_marks import NEVER_MEET, OUT_OF_REGISTER

from .address_entry import REGION_BITS, check_geometry, entry_layout, has_mismatch, make_entry

__all__ = ["RxAddressCache"]


class RxAddressCache(wiring.Component):
    """``rows`` x ``ways`` regions; one is read or written in every cycle (UALink_200 §5.5, §5.6).

    The array is read one cycle ahead: ``following_row`` of this cycle is ``row`` of the next, if that is used. What is
    loaded in this cycle is not in what the array reads in this cycle, so it is kept beside it for the next one, in the
    Address CAM of one entry, which goes before the array: a load counts from the next cycle on.

    Entries are only replaced. After reset all are cleared, all ways of one row per cycle; the cache is ``ready`` one
    cycle after that, when what has been read ahead is no older.

    Parameters
    ----------
    rows : 1 to 1024, one per Accelerator.
    ways : 1 to 4.
    region_bits : width of a region.

    Attributes
    ----------
    following_row : row that is used in the next cycle.
    row, way : the entry that is used in this cycle; with ``load``, ``way`` is below ``ways``.
    region, region_code : combinational, what it holds, if it is ``known``; even parity over that, made of the parity
        of the entry and wrong if that is.
    known : it has been loaded.
    mismatch : its parity is wrong; ``known`` and ``region`` have no meaning.
    load, load_region : write ``load_region`` there; not before ``ready``.
    ready : level, the clearing after reset is over.
    """

    def __init__(self, rows: int, ways: int, region_bits: int = REGION_BITS):
        check_geometry("rx address cache", rows, ways, region_bits)
        self.rows, self.ways = rows, ways
        self.entry_layout = entry_layout(region_bits)
        # Of a row that is read and written at once, only the way that is written changes, and that is in the CAM.
        shape = data.ArrayLayout(self.entry_layout, ways)
        # Of several ports it is several macros deep, and what chooses among these reaches far.
        attrs = NEVER_MEET | OUT_OF_REGISTER
        self.storage = memory.Memory(shape=shape, depth=rows, init=[], attrs=attrs)
        # The Address CAM, and what the array gives for this cycle.
        self.last = Signal(self.entry_layout, reset_less=True)
        self.last_row = Signal(range(rows), reset_less=True)
        self.last_way = Signal(2, reset_less=True)
        self.last_valid = Signal()
        self.sweeping, self.sweep_row = Signal(init=1), Signal(range(rows))
        self.found = Signal(data.ArrayLayout(self.entry_layout, ways))
        super().__init__(
            {
                "following_row": In(range(rows)),
                "row": In(range(rows)),
                "way": In(2),
                "region": Out(region_bits),
                "region_code": Out(1),
                "known": Out(1),
                "mismatch": Out(1),
                "load": In(1),
                "load_region": In(region_bits),
                "ready": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = self.storage
        read = self.storage.read_port()
        write = self.storage.write_port(granularity=1)
        sweep_row = self.sweep_row
        loaded = Signal(self.entry_layout)
        entry, upset = Signal(self.entry_layout), Signal(self.ways)

        contract(m, ~self.load | self.ready, "nothing is loaded before the cache is ready")
        contract(m, ~self.load | (self.way < self.ways), "the way that is loaded is one of the cache")

        m.d.comb += [
            read.addr.eq(self.following_row),
            self.found.eq(read.data),
            loaded.eq(make_entry(self.entry_layout, valid=1, region=self.load_region)),
            # The array is slow: parity is made of all ways, and the Address CAM decides last.
            upset.eq(Cat(has_mismatch(self.found[way]) for way in range(self.ways))),
            entry.eq(self.found[self.way]),
            self.mismatch.eq(upset.bit_select(self.way, 1)),
        ]
        with m.If(self.last_valid & (self.last_row == self.row) & (self.last_way == self.way)):
            m.d.comb += [entry.eq(self.last), self.mismatch.eq(has_mismatch(self.last))]
        m.d.comb += [
            self.region.eq(entry.region),
            self.region_code.eq(entry.parity ^ entry.valid),
            self.known.eq(entry.valid),
        ]

        m.d.sync += self.ready.eq(~self.sweeping)
        with m.If(self.sweeping):
            m.d.comb += [write.addr.eq(sweep_row), write.data.eq(0), write.en.eq(-1)]
            m.d.sync += [self.sweeping.eq(sweep_row != self.rows - 1), sweep_row.eq(sweep_row + 1)]
        with m.Else():
            m.d.comb += [
                write.addr.eq(self.row),
                write.en.eq(Mux(self.load, 1 << self.way, 0)),
            ]
            for way in range(self.ways):
                m.d.comb += write.data[way].eq(loaded)
        # What was loaded before is in what the array reads now. That it is a load is known late.
        m.d.sync += [
            self.last.eq(loaded),
            self.last_row.eq(self.row),
            self.last_way.eq(self.way),
            self.last_valid.eq(self.load),
        ]
        return m
