"""The Requests of one port that have no whole Response yet, and for how long (UALink_200 §3.1.3)."""

from amaranth.hdl import Array, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_integer
from ualink.lib.contract import contract
from ualink.upli.isolation.answer import ANSWER_LAYOUT

__all__ = ["ENTRY_LAYOUT", "LIMIT_BITS", "TAG_BITS", "TIME_BITS", "RequestHistory", "check_tags"]

TAG_BITS = 11
TIME_BITS = 32
LIMIT_BITS = TIME_BITS - 1
"""So that a Request found up to 2**31 cycles late still counts as late."""

ENTRY_LAYOUT = data.StructLayout({"answer": ANSWER_LAYOUT, "src": 10, "dst": 10, "vc": 2})
"""What the answer of a Request has to say: ``src`` and ``dst`` are ReqSrcPhysAccID and ReqDstPhysAccID."""


def check_tags(tags: int) -> int:
    """``tags``, if a port may have so many Requests outstanding. ConfigError: not 2 to 2,048."""
    check_integer("tags", tags, 2, 1 << TAG_BITS)
    return tags


class RequestHistory(wiring.Component):
    """Has one record for each ReqTag of a port from 0 to ``tags`` - 1, and looks at one after the other.

    A record lives from the cycle after ``accept`` until the Response has come, on ``rd_end`` or ``wr_end``, or until
    it is retired. Its watchdog says ``expired`` at most ``tags`` + 2 cycles after ``limit`` cycles are over.

    While ``walk`` is high nothing expires. Instead each record that still lives is ``found``, and stays so until
    ``retire``; the walk begins with ``first``. Between two finds are ``tags`` + 1 cycles at most.

    After reset ``tags`` cycles pass before ``ready``, in which what is known of beats is made empty.

    Parameters
    ----------
    tags : records, 2 to 2,048.

    Members
    -------
    ready : 1 bit, reset value 0: Requests may be accepted.
    now : 32 bits, cycle counter.
    limit : 31 bits, cycles that a Request may be outstanding; 0: for ever.
    accept : 1 bit, a Request with ``tag`` (11 bits) and ``entry`` (``ENTRY_LAYOUT``) comes; its tag has no record.
    rd_beat : 1 bit, a beat of a Read Response goes to the device; ``rd_tag``, ``rd_offset``, ``rd_last`` : of it.
    wr_end : 1 bit, a Write Response goes to the device; ``wr_tag`` : of it.
    lives : ``tags`` bits, bit n: tag n has a record.
    expired : 1 bit, the watchdog of ``found_tag`` is over its limit; level while it is looked at.
    begin : 1 bit, in the cycle before ``walk`` rises: the walk begins with ``first``, 11 bits.
    walk : 1 bit, as said.
    found : 1 bit, ``found_tag`` (11 bits) lives, ``found_entry`` is its entry, bit n of ``found_beats`` (4 bits) says
        that beat n of its Read Response has gone to the device.
    retire : 1 bit, the Request that is ``found`` has its answer.
    """

    def __init__(self, tags: int):
        self.tags = check_tags(tags)
        super().__init__(
            {
                "ready": Out(1),
                "now": In(TIME_BITS),
                "limit": In(LIMIT_BITS),
                "accept": In(1),
                "tag": In(TAG_BITS),
                "entry": In(ENTRY_LAYOUT),
                "rd_beat": In(1),
                "rd_tag": In(TAG_BITS),
                "rd_offset": In(2),
                "rd_last": In(1),
                "wr_end": In(1),
                "wr_tag": In(TAG_BITS),
                "lives": Out(tags),
                "expired": Out(1),
                "begin": In(1),
                "first": In(TAG_BITS),
                "walk": In(1),
                "found": Out(1),
                "found_tag": Out(TAG_BITS),
                "found_entry": Out(ENTRY_LAYOUT),
                "found_beats": Out(4),
                "retire": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        tags, lives = self.tags, self.lives
        row_bits = (tags - 1).bit_length()
        contract(m, ~self.accept | ~self.knows(self.tag), "an accepted Request has a tag of its own")
        contract(m, ~self.accept | (self.tag < tags), "tags are below those that have a record")
        contract(m, ~(self.accept | self.rd_beat) | self.ready, "nothing comes before ready")

        layout = data.StructLayout({"entry": ENTRY_LAYOUT, "since": TIME_BITS})
        m.submodules.entries = entries = memory.Memory(shape=layout, depth=tags, init=[])
        m.submodules.beats = beats = memory.Memory(shape=4, depth=tags, init=[])
        write, note = entries.write_port(), beats.write_port(granularity=1)
        read, noted = entries.read_port(), beats.read_port()
        m.d.comb += [
            write.en.eq(self.accept),
            write.addr.eq(self.tag),
            write.data.entry.eq(self.entry),
            write.data.since.eq(self.now),
        ]

        # What is looked at in this cycle was read in the one before; a find stays where it is.
        scan, looked, lived, walked = Signal(range(tags)), Signal(range(tags)), Signal(), Signal()
        stays, row = self.found & ~self.retire, Signal(range(tags))
        m.d.comb += row.eq(Mux(stays, looked, scan))
        following = Mux(scan == tags - 1, 0, scan + 1)
        m.d.sync += [
            looked.eq(row),
            lived.eq(self.knows(row)),
            walked.eq(self.walk),
        ]
        with m.If(self.begin):
            m.d.sync += scan.eq(self.first)
        with m.Elif(~stays):
            m.d.sync += scan.eq(following)
        with m.If(~self.ready & (scan == tags - 1)):
            m.d.sync += self.ready.eq(1)
        age = Signal(TIME_BITS)
        still = Signal()
        m.d.comb += [
            read.addr.eq(row),
            noted.addr.eq(row),
            age.eq(self.now - read.data.since),
            # It may have been answered in the cycle between.
            still.eq(lived & self.knows(looked)),
            self.expired.eq(still & ~self.walk & (self.limit != 0) & (age > self.limit)),
            self.found.eq(still & self.walk & walked),
            self.found_tag.eq(looked),
            self.found_entry.eq(read.data.entry),
            self.found_beats.eq(noted.data),
        ]

        # A Response that ends leaves its row empty for the next Request with this tag.
        with m.If(~self.ready):
            m.d.comb += [note.addr.eq(scan), note.en.eq(-1)]
        with m.Elif(self.retire):
            m.d.comb += [note.addr.eq(looked), note.en.eq(-1)]
        with m.Else():
            bit = Const(1, 4) << self.rd_offset
            m.d.comb += [
                note.addr.eq(self.rd_tag),
                note.data.eq(Mux(self.rd_last, 0, bit)),
                note.en.eq(Mux(self.rd_beat, Mux(self.rd_last, 0b1111, bit[:4]), 0)),
            ]

        def one_hot(enable, tag):
            return Mux(enable, Const(1, tags) << tag[:row_bits], 0)[:tags]

        ended = (
            one_hot(self.rd_beat & self.rd_last, self.rd_tag)
            | one_hot(self.wr_end, self.wr_tag)
            | one_hot(self.retire, self.found_tag)
        )
        m.d.sync += lives.eq((lives | one_hot(self.accept, self.tag)) & ~ended)
        return m

    def knows(self, tag):
        """1 bit: ``tag``, of 11 bits or fewer, has a record in this cycle."""
        return (tag < self.tags) & Array(self.lives)[tag[: (self.tags - 1).bit_length()]]
