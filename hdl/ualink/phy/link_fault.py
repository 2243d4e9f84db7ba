"""Link fault signalling, some blocks a cycle (UALink_200 §7.2.6; clause 81.3.4 of IEEE 802.3)."""

from functools import reduce

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCKS_PER_BEAT

__all__ = ["FAULT_BLOCKS", "QUIET_BLOCKS", "LinkFault", "LinkFaultMachine"]

FAULT_BLOCKS = 4
"""Fault sequences of one type that make a fault."""

QUIET_BLOCKS = 128
"""Blocks without a fault sequence that end one, and that part two sequences."""


class LinkFault(enum.Enum, shape=2):
    """The fault of a link, coded as D3 of its ordered set (UALink_200 Table 7-3)."""

    OK = 0
    LOCAL = 1
    REMOTE = 2
    INTERRUPTION = 3


SUMMARY_LAYOUT = data.StructLayout(
    {
        "any": 1,
        "one_run": 1,
        "first_type": LinkFault,
        "first_run": 3,
        "last_type": LinkFault,
        "last_run": 3,
        "faulted": 1,
        "fault": LinkFault,
    }
)
"""What some blocks in a row say: the runs of equal fault sequences with which they begin and end, counted up to
``FAULT_BLOCKS``, and the last fault that a run within them has made."""


def _longer(run, more):
    total = run + more
    return Mux(total >= FAULT_BLOCKS, FAULT_BLOCKS, total)


class LinkFaultMachine(wiring.Component):
    """Judges the blocks of a word as if they came one by one; ``link_fault`` is two cycles behind.

    Four sequences of one type, none of another between them and fewer than 128 blocks from each to the next, make a
    fault; 128 blocks without one end it. Within an AM flit blocks are not counted (ruling P-15).

    Parameters
    ----------
    blocks_per_word : 1, 2, 4 or 8.

    Members
    -------
    valid : there are blocks in this cycle.
    sequences : per block the fault of which it is a sequence ordered set; OK: it is none.
    frozen : bit n: block n belongs to an AM flit.
    link_fault : ``LinkFault``, reset value OK.
    changed : pulse, with the first cycle of another ``link_fault``.
    """

    def __init__(self, blocks_per_word: int = BLOCKS_PER_BEAT):
        self._blocks = blocks_per_word
        super().__init__(
            {
                "valid": In(1),
                "sequences": In(data.ArrayLayout(LinkFault, blocks_per_word)),
                "frozen": In(blocks_per_word),
                "link_fault": Out(LinkFault),
                "changed": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        valid, said = Signal(), Signal(SUMMARY_LAYOUT)
        before, after = Signal(range(self._blocks + 1)), Signal(range(self._blocks + 1))
        m.d.sync += [
            valid.eq(self.valid),
            said.eq(self._summary(m)),
            before.eq(self._quiet(list(range(self._blocks)))),
            after.eq(self._quiet(list(reversed(range(self._blocks))))),
        ]

        quiet = Signal(range(QUIET_BLOCKS))
        past, now = Signal(SUMMARY_LAYOUT), Signal(SUMMARY_LAYOUT)
        count, last_type = Signal(range(FAULT_BLOCKS + 1)), Signal(LinkFault)
        total = quiet + before
        over = total >= QUIET_BLOCKS
        m.d.comb += [
            past.any.eq((count != 0) & ~over),
            past.last_type.eq(last_type),
            past.last_run.eq(count),
            past.fault.eq(Mux(over, LinkFault.OK, self.link_fault)),
            now.eq(self._joined(m, past, said, "now")),
        ]
        m.d.sync += self.changed.eq(0)
        with m.If(valid):
            m.d.sync += [
                quiet.eq(Mux(said.any, after, Mux(over, QUIET_BLOCKS - 1, total))),
                count.eq(Mux(now.any, now.last_run, 0)),
                last_type.eq(now.last_type),
                self.link_fault.eq(now.fault),
                self.changed.eq(now.fault != self.link_fault),
            ]
        return m

    def _quiet(self, order):
        """Blocks that count, in this order, up to the first fault sequence."""
        none_yet, bits = 1, []
        for n in order:
            none_yet = none_yet & (self.sequences[n] == LinkFault.OK)
            bits.append(none_yet & ~self.frozen[n])
        return reduce(lambda total, bit: total + bit, bits)

    def _summary(self, m):
        row = []
        for n in range(self._blocks):
            one = Signal(SUMMARY_LAYOUT, name=f"block_{n}")
            is_sequence = self.sequences[n] != LinkFault.OK
            m.d.comb += [
                one.any.eq(is_sequence),
                one.one_run.eq(1),
                one.first_type.eq(self.sequences[n]),
                one.last_type.eq(self.sequences[n]),
                one.first_run.eq(1),
                one.last_run.eq(1),
            ]
            row.append(one)
        while len(row) > 1:
            row = [self._joined(m, row[n], row[n + 1], f"blocks_{len(row)}_{n}") for n in range(0, len(row), 2)]
        return row[0]

    def _joined(self, m, left, right, name):
        """What the blocks of ``left`` and then those of ``right`` say together."""
        both = Signal(SUMMARY_LAYOUT, name=name)
        meet, reached = Signal(name=f"{name}_meet"), Signal(name=f"{name}_reached")
        m.d.comb += [
            meet.eq(left.any & right.any & (left.last_type == right.first_type)),
            reached.eq(meet & (left.last_run + right.first_run >= FAULT_BLOCKS)),
            both.eq(left),
            both.any.eq(left.any | right.any),
            both.faulted.eq(left.faulted | reached | right.faulted),
        ]
        with m.If(right.any):
            m.d.comb += [both.last_type.eq(right.last_type), both.last_run.eq(right.last_run)]
            with m.If(meet & right.one_run):
                m.d.comb += both.last_run.eq(_longer(left.last_run, right.last_run))
            with m.If(left.any):
                m.d.comb += both.one_run.eq(left.one_run & right.one_run & meet)
                with m.If(meet & left.one_run):
                    m.d.comb += both.first_run.eq(_longer(left.first_run, right.first_run))
            with m.Else():
                m.d.comb += [
                    both.one_run.eq(right.one_run),
                    both.first_type.eq(right.first_type),
                    both.first_run.eq(right.first_run),
                ]
        with m.If(right.faulted):
            m.d.comb += both.fault.eq(right.fault)
        with m.Elif(reached):
            m.d.comb += both.fault.eq(right.first_type)
        return both
