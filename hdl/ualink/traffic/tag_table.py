"""The tags of Requests: which are free, and what is known of the others."""

from amaranth.hdl import Array, Const, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue
from ualink.traffic.interface import PLAN, TIME_BITS

__all__ = ["ENTRY", "TAG_BITS", "LookUpSignature", "TagTable"]

TAG_BITS = 11

ENTRY = data.StructLayout({"plan": PLAN, "issued": TIME_BITS})
"""What is known of an outstanding Request: what it asks for, and when it was issued."""


class LookUpSignature(wiring.Signature):
    """What a tag means, seen from the table.

    Members
    -------
    look : 1 bit, take ``tag``; what follows is of the tag taken last, from the next cycle on.
    tag : ReqTag.
    known : the tag, as it was taken.
    entry : of the Request that had this tag last.
    issued : 1 bit, the tag was used since reset; ``waits``: its Request has no Response; ``lost``: it was given up.
    """

    def __init__(self):
        super().__init__(
            {
                "look": In(1),
                "tag": In(TAG_BITS),
                "known": Out(TAG_BITS),
                "entry": Out(ENTRY),
                "issued": Out(1),
                "waits": Out(1),
                "lost": Out(1),
            }
        )


class TagTable(wiring.Component):
    """Gives tags 0 to ``tags`` - 1 in turn, first all new ones, then the one that has been free for longest.

    A Request that is not answered within ``time_out`` cycles is given up, at most ``tags`` + 2 cycles later. Its tag
    is not used again (ruling A-41 of UPLI): a late Response must not be taken for that of another Request. A reset of
    the domain makes all tags new.

    Members
    -------
    now : cycle counter.
    time_out : cycles, 0: never.
    free : a tag that may be used; taken with its Request, ``plan``.
    rd, wr : look-ups for the two Response channels.
    retire, retired : 1 bit, the Request of tag ``retired`` has its Response; only one that waits.
    timed_out : 1 bit, a Request was given up in this cycle; ``given_up`` is what was known of it, ``given_up_tag`` its
        tag.
    outstanding, lost : Requests that wait; tags given up.
    """

    def __init__(self, tags: int):
        self.tags = tags
        super().__init__(
            {
                "now": In(TIME_BITS),
                "time_out": In(TIME_BITS - 1),
                "free": Out(stream.Signature(TAG_BITS)),
                "plan": In(PLAN),
                "rd": Out(LookUpSignature()),
                "wr": Out(LookUpSignature()),
                "retire": In(1),
                "retired": In(TAG_BITS),
                "timed_out": Out(1),
                "given_up": Out(ENTRY),
                "given_up_tag": Out(TAG_BITS),
                "outstanding": Out(range(tags + 1)),
                "lost": Out(range(tags + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        tags = self.tags
        m.submodules.entries = entries = memory.Memory(shape=ENTRY, depth=tags, init=[])
        m.submodules.returned = returned = Queue(range(tags), tags)
        write = entries.write_port()
        waits = Signal(tags)
        lost = Signal(tags)
        issued = Signal(range(tags + 1))
        taken, fresh = Signal(), Signal()
        m.d.comb += [
            fresh.eq(issued != tags),
            self.free.valid.eq(fresh | returned.output.valid),
            self.free.p.eq(Mux(fresh, issued, returned.output.p)),
            taken.eq(self.free.valid & self.free.ready),
            returned.output.ready.eq(self.free.ready & ~fresh),
            returned.input.valid.eq(self.retire),
            returned.input.p.eq(self.retired),
            write.en.eq(taken),
            write.addr.eq(self.free.p),
            write.data.plan.eq(self.plan),
            write.data.issued.eq(self.now),
        ]
        with m.If(taken & fresh):
            m.d.sync += issued.eq(issued + 1)

        for look in (self.rd, self.wr):
            read = entries.read_port()
            known = look.known
            small = known < tags
            with m.If(look.look):
                m.d.sync += known.eq(look.tag)
            m.d.comb += [
                read.en.eq(look.look),
                read.addr.eq(look.tag),
                look.entry.eq(read.data),
                look.issued.eq(small & (known < issued)),
                look.waits.eq(small & Array(waits)[known[: (tags - 1).bit_length()]]),
                look.lost.eq(small & Array(lost)[known[: (tags - 1).bit_length()]]),
            ]

        # One tag after the other is looked at; a tag that was just issued, once its entry stands in the memory.
        scan, looked = Signal(range(tags)), Signal(range(tags))
        waited = Signal()
        seen = entries.read_port()
        age = Signal(TIME_BITS)
        m.d.sync += [scan.eq(scan + 1), looked.eq(scan), waited.eq(Array(waits)[scan])]
        m.d.comb += [
            seen.en.eq(1),
            seen.addr.eq(scan),
            age.eq(self.now - seen.data.issued),
            self.given_up.eq(seen.data),
            self.given_up_tag.eq(looked),
            self.timed_out.eq(
                waited
                & Array(waits)[looked]
                & (self.time_out != 0)
                & (age > self.time_out)
                & ~(self.retire & (self.retired == looked))
            ),
        ]

        def at(enable, tag):
            return Mux(enable, Const(1, tags) << tag[: (tags - 1).bit_length()], 0)

        given_up = Signal(tags)
        m.d.comb += given_up.eq(at(self.timed_out, self.given_up_tag))
        m.d.sync += [
            waits.eq((waits | at(taken, self.free.p)) & ~at(self.retire, self.retired) & ~given_up),
            lost.eq(lost | given_up),
            self.outstanding.eq(self.outstanding + taken - self.retire - self.timed_out),
            self.lost.eq(self.lost + self.timed_out),
        ]
        return m
