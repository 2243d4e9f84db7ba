"""What makes the proofs of the Address Caches (2 rows, 2 ways, regions of 2 bits) inductive, for each side of a link.

A side is compared with a table of what its partner holds, or what it was told: element ``2 * row + way`` has a bit
``known`` above the region.
"""

from amaranth.hdl import Array, Assert, Module, Signal

__all__ = ["KNOWN", "rx_invariants", "table", "tx_invariants"]

KNOWN = 1 << 2
"""The bit of an element that says that it holds ``element[:2]``."""


def table(name: str) -> Array:
    """An empty table."""
    return Array(Signal(3, name=f"{name}_{row}_{way}") for row in range(2) for way in range(2))


def _ghosts(m: Module, dut) -> list:
    """The contents of the memory of ``dut``, row by row."""
    ghosts = [dut.storage.read_port(domain="comb") for _ in range(2)]
    for row, ghost in enumerate(ghosts):
        m.d.comb += ghost.addr.eq(row)
    return [ghost.data for ghost in ghosts]


def tx_invariants(m: Module, dut, partner: Array) -> None:
    """Each entry that is held is the partner's, and what a lookup found is still there."""
    sweeping, sweep_row = Signal(init=1), Signal()
    forget = dut.clear | (dut.invalidate & dut.doomed & ~dut.discard & ~sweeping)
    with m.If(forget):
        m.d.sync += [sweeping.eq(1), sweep_row.eq(0)]
    with m.Elif(sweeping):
        m.d.sync += [sweeping.eq(~sweep_row), sweep_row.eq(1)]
    m.d.comb += [Assert(dut.sweeping == sweeping), Assert(~sweeping | (dut.sweep_row == sweep_row))]
    m.d.comb += Assert(~(dut.answer.valid & dut.looks & dut.wrong.any()))
    # Nothing is looked up any more in what is being swept.
    m.d.comb += [
        Assert(~sweeping | ~(dut.comes & dut.sees)),
        Assert(~sweeping | dut.gone | ~(dut.answer.valid & dut.seen)),
    ]
    for row, contents in enumerate(_ghosts(m, dut)):
        swept = ~sweeping | (sweep_row > row)
        for way in range(2):
            stored, theirs = contents[way], partner[2 * row + way]
            read, holds, found = dut.read[way], dut.holds[way], dut.found[way]
            m.d.comb += [
                Assert(~swept | ~stored.valid | (theirs == (KNOWN | stored.region))),
                Assert(~swept | ~stored.as_value().xor()),
            ]
            with m.If(dut.comes & dut.sees & (dut.coming.row == row)):
                m.d.comb += [
                    Assert(holds.as_value() == stored.as_value()),
                    Assert(~read.as_value().xor()),
                ]
            with m.If(dut.answer.valid & dut.seen & (dut.asked.row == row)):
                m.d.comb += [
                    Assert(dut.gone | (found.as_value() == stored.as_value())),
                    Assert(~dut.gone | ~swept | ~stored.valid),
                    # What is answered from an entry forgotten since is what the partner has all the same.
                    Assert(~found.valid | (theirs == (KNOWN | found.region))),
                    Assert(~found.as_value().xor()),
                    Assert(dut.hits[way] == (found.valid & (found.region == dut.asked.region))),
                ]


def rx_invariants(m: Module, dut, told: Array) -> None:
    """The array is what it was told, and so is what was read of it but for what the Address CAM holds."""
    cycles = Signal(2)
    with m.If(cycles != 3):
        m.d.sync += cycles.eq(cycles + 1)
    m.d.comb += [
        Assert(dut.sweeping == (cycles < 2)),
        Assert(~dut.sweeping | (dut.sweep_row == cycles)),
        Assert(dut.ready == (cycles == 3)),
        Assert(dut.ready | ~dut.last_valid),
    ]
    with m.If(dut.last_valid):
        m.d.comb += [
            Assert(told[dut.last_row << 1 | dut.last_way[0]] == (KNOWN | dut.last.region)),
            Assert(dut.last.valid & ~dut.last.as_value().xor() & ~dut.last_way[1]),
        ]
    for row, contents in enumerate(_ghosts(m, dut)):
        for way in range(2):
            stored, theirs = contents[way], told[2 * row + way]
            beside = dut.last_valid & (dut.last_row == row) & (dut.last_way == way)
            m.d.comb += Assert(dut.ready | ~theirs[2])
            with m.If(cycles > row):
                m.d.comb += [
                    Assert(stored.valid == theirs[2]),
                    Assert(~stored.valid | (stored.region == theirs[:2])),
                    Assert(~stored.as_value().xor()),
                ]
            with m.If(dut.ready & (dut.row == row) & ~beside):
                m.d.comb += Assert(dut.found[way].as_value() == stored.as_value())
