"""Every Request has exactly one answer, whenever Isolation comes and goes (UALink_200 §3.1.3)."""

import os

import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from support.formal import BITWUZLA, prove
from support.upli.offer import Offer
from ualink.lib.contract import stays_on_offer
from ualink.upli.commands import ReqCmd, Status
from ualink.upli.isolation.isolation import Isolation
from ualink.upli.isolation.port import OWED_BEATS

TAGS, RECEIVED = 2, 1

DEPTH = 16
"""Cycles from reset: a Request is taken from cycle 2 on, and Isolation that begins at once is left 12 later."""

LENGTHS = (DEPTH, 26) if os.environ.get("UALINK_SOAK") else (DEPTH,)

PATIENCE = 12
"""Cycles of Isolation without a new Request in which all are answered, by devices that take what they are offered."""

ASKED = data.StructLayout({"live": 1, "read": 1, "last": 2, "got": 4, "vc": 2})
"""A Request as a device or the fabric knows it: ``last`` is its beats minus one, ``got`` those of its Read Response."""


class OnePort(Elaboratable):
    """An ``Isolation`` of one port, its device and what its agent offers; both keep books of their own.

    The device asks with tags that are free. The fabric answers what has been asked, in part or never, the beats of a
    Read Response in order or each by itself. It sends beats that nobody waits for, and ISOLATE. It is silent when Drop
    Mode has lasted for longer than the agent may have kept something, and then forgets what was asked before.

    Parameters
    ----------
    willing : in Isolation the device takes what it is offered, asks for nothing, and owes no data.
    """

    def __init__(self, *, cover=False, willing=False):
        self.cover, self.willing = cover, willing
        self.isolation = isolation = Isolation(1, TAGS, RECEIVED)
        self.device, self.agent = isolation.device[0], isolation.agent[0]
        self.asks, self.gives = Offer(self.device.req, "req"), Offer(self.device.orig_data, "orig_data")
        self.reads, self.writes = Offer(self.agent.rd_rsp, "rd_rsp"), Offer(self.agent.wr_rsp, "wr_rsp")
        self.tag, self.vc, self.write, self.beats = Signal(), Signal(2), Signal(), Signal(2)
        self.read_tag, self.write_tag, self.single, self.offset, self.isolates = (
            *(Signal(), Signal(), Signal(), Signal(2), Signal()),
        )
        self.free = [
            *(self.device.rd_rsp.ready, self.device.wr_rsp.ready, self.agent.req.ready, self.agent.orig_data.ready),
            *(isolation.control.enter, isolation.control.clear, isolation.control.limit),
            *(self.tag, self.vc, self.write, self.beats),
            *(self.read_tag, self.write_tag, self.single, self.offset, self.isolates),
            *(offer.wish for offer in (self.asks, self.gives, self.reads, self.writes)),
        ]

    def elaborate(self, platform):
        m = Module()
        m.submodules.isolation = isolation = self.isolation
        asked, due = ([Signal(ASKED, name=f"{who}_{n}") for n in range(TAGS)] for who in ("asked", "due"))
        silent, dropping, was_dropping = Signal(), Signal(4), Signal()
        m.d.comb += silent.eq(dropping >= RECEIVED + 6)
        m.d.sync += [
            dropping.eq(Mux(isolation.drop, dropping + (dropping != 15), 0)),
            was_dropping.eq(isolation.drop),
        ]
        self._device(m, asked)
        self._fabric_reads(m, asked, due, silent)
        self._fabric_writes(m, asked, due, silent)
        # What the agent takes in Drop Mode goes nowhere.
        for tag, request in enumerate(due):
            with m.If(self.asks.taken & ~isolation.drop & (self.asks.payload.tag == tag)):
                m.d.sync += request.eq(self._request())
            with m.Elif(silent):
                m.d.sync += request.live.eq(0)
        if self.cover:
            self._see(m)
        else:
            self._judge(m, asked)
            # Nothing that was asked before is answered once Requests go out again.
            m.d.comb += Assert(~was_dropping | isolation.drop | silent)
        return m

    def _request(self):
        """The Request that is taken, in the books."""
        req = self.asks.payload
        return Cat(Const(1, 1), ~req.cmd[5], req.len[4:], Const(0, 4), req.vc)

    def _device(self, m, asked):
        lawful = {"tag": self.tag, "vc": self.vc, "len": (self.beats << 4) | 0xF}
        lawful |= {
            "cmd": Mux(self.write, ReqCmd.WRITE_FULL, ReqCmd.READ),
            "num_beats": Mux(self.write, self.beats, 0),
        }
        self.asks.say(m, ~Array(asked)[self.tag].live, lawful)
        req, self.owed = self.asks.payload, Signal(range(OWED_BEATS + 1))
        self.gives.say(m, self.owed != 0)
        new = Mux(self.asks.taken & req.cmd[5], req.num_beats + 1, 0)
        m.d.sync += self.owed.eq(self.owed + new - self.gives.taken)
        rd_rsp, wr_rsp = self.device.rd_rsp, self.device.wr_rsp
        for tag, request in enumerate(asked):
            with m.If(self.asks.taken & (req.tag == tag)):
                m.d.sync += request.eq(self._request())
            with m.If(rd_rsp.valid & rd_rsp.ready & (rd_rsp.p.tag == tag)):
                m.d.sync += [request.got.eq(request.got | (1 << rd_rsp.p.offset)), request.live.eq(~rd_rsp.p.last)]
            with m.If(wr_rsp.valid & wr_rsp.ready & (wr_rsp.p.tag == tag)):
                m.d.sync += request.live.eq(0)

    def _fabric_reads(self, m, asked, due, silent):
        # Between the beats of a multi-beat response there are no others.
        burst, burst_tag, own = Signal(), Signal(), Signal(ASKED)
        single, offset, last, answers = Signal(), Signal(2), Signal(), Signal()
        m.d.comb += [
            own.eq(Array(due)[self.read_tag]),
            single.eq(~burst & ((own.got != 0) | self.single)),
            offset.eq(Mux(single, self.offset, sum(own.got[n] for n in range(4)))),
            last.eq(_all_of(own, own.got | (1 << offset))),
            answers.eq(own.live & own.read & (offset <= own.last) & ~own.got.bit_select(offset, 1)),
        ]
        stray = ~Array(asked)[self.read_tag].live & ~burst
        self.reads.say(
            m,
            ~silent & ((answers & (~burst | (self.read_tag == burst_tag))) | stray),
            {
                "tag": self.read_tag,
                "vc": own.vc,
                "offset": offset,
                "last": last,
                "num_beats": Mux(single, 0, own.last),
            },
        )
        beat = self.reads.payload
        with m.If(self.reads.taken & Array(due)[beat.tag[0]].live):
            m.d.sync += [burst.eq((beat.num_beats != 0) & ~beat.last), burst_tag.eq(beat.tag)]
        for tag, request in enumerate(due):
            with m.If(self.reads.taken & (beat.tag == tag)):
                m.d.sync += [
                    request.got.eq(request.got | (1 << beat.offset)),
                    request.live.eq(request.live & ~beat.last),
                ]
        with m.If(silent):
            m.d.sync += burst.eq(0)

    def _fabric_writes(self, m, asked, due, silent):
        own, beat = Array(due)[self.write_tag], self.writes.payload
        answers = (own.live & ~own.read) | ~Array(asked)[self.write_tag].live
        status = Mux(self.isolates, Status.ISOLATE, Status.OKAY)
        lawful = {"tag": self.write_tag, "vc": own.vc, "status": status}
        self.writes.say(m, ~silent & (answers | self.isolates), lawful)
        for tag, request in enumerate(due):
            with m.If(self.writes.taken & (beat.tag == tag) & (beat.status != Status.ISOLATE)):
                m.d.sync += request.live.eq(0)

    def _judge(self, m, asked):
        rd_rsp, wr_rsp = self.device.rd_rsp, self.device.wr_rsp
        read, written = Array(asked)[rd_rsp.p.tag[0]], Array(asked)[wr_rsp.p.tag[0]]
        beat = rd_rsp.p
        due_beat = (beat.offset <= read.last) & ~read.got.bit_select(beat.offset, 1)
        last = _all_of(read, read.got | (1 << beat.offset))
        m.d.comb += [
            Assert(~rd_rsp.valid | ((beat.tag < TAGS) & read.live & read.read)),
            Assert(~rd_rsp.valid | (due_beat & (beat.last == last) & (beat.vc == read.vc))),
            Assert(
                ~wr_rsp.valid | ((wr_rsp.p.tag < TAGS) & written.live & ~written.read & (wr_rsp.p.vc == written.vc))
            ),
            Assert(stays_on_offer(rd_rsp)(m)),
            Assert(stays_on_offer(wr_rsp)(m)),
        ]
        # What the fabric does not offer is a dummy. The fabric says OKAY.
        dummies = ((rd_rsp, self.reads), (wr_rsp, self.writes))
        m.d.comb += [Assert(~given.valid | offer.valid | (given.p.status == Status.CMPTO)) for given, offer in dummies]
        # The beats of a multi-beat response come in a row and in order.
        begun, begun_tag, following = Signal(), Signal(11), Signal(2)
        with m.If(rd_rsp.valid & rd_rsp.ready):
            m.d.sync += [
                begun.eq((beat.num_beats != 0) & ~beat.last),
                begun_tag.eq(beat.tag),
                following.eq(beat.offset + 1),
            ]
        in_row = (beat.tag == begun_tag) & (beat.offset == following) & (beat.num_beats == read.last)
        m.d.comb += Assert(~rd_rsp.valid | ~begun | in_row)
        # Nobody holds up what Isolation does: then all is answered in time.
        waited, hurried = Signal(range(PATIENCE + 1)), Signal()
        willing = rd_rsp.ready & wr_rsp.ready & ~self.asks.valid & (self.owed == 0)
        m.d.comb += hurried.eq(self.isolation.status.isolated & willing)
        m.d.sync += waited.eq(Mux(hurried, waited + (waited != PATIENCE), 0))
        if self.willing:
            m.d.comb += Assume(hurried | ~self.isolation.status.isolated)
        m.d.comb += Assert((waited != PATIENCE) | ~Cat(request.live for request in asked).any())

    def _see(self, m):
        """A Read of some beats that a dummy ends, and behind it one with the same tag that the fabric answers."""
        rd_rsp, times = self.device.rd_rsp, Signal(2)
        beat = rd_rsp.p
        whole = rd_rsp.valid & rd_rsp.ready & beat.last & (beat.tag == 1)
        with m.If(whole & (beat.status == Status.CMPTO) & (beat.offset != 0)):
            m.d.sync += times.eq(1)
        m.d.comb += Cover((times == 1) & whole & (beat.status == Status.OKAY) & ~self.isolation.status.isolated)


def _all_of(request, got):
    """Whether ``got``, 4 bits, are all beats of the Read ``request``."""
    return Cat((request.last >= n) & ~got[n] for n in range(4)) == 0


@pytest.mark.soak
@pytest.mark.req("RAS-070")
@pytest.mark.parametrize("depth", LENGTHS)
def test_every_request_has_one_answer(depth):
    bench = OnePort()
    prove(bench, mode="bmc", depth=depth, engine=BITWUZLA, ports=bench.free)


@pytest.mark.req("RAS-070")
def test_all_are_answered_in_time():
    bench = OnePort(willing=True)
    prove(bench, mode="bmc", depth=PATIENCE + 6, engine=BITWUZLA, ports=bench.free)


@pytest.mark.req("RAS-074")
def test_the_proof_sees_isolation_come_and_go():
    bench = OnePort(cover=True)
    prove(bench, mode="cover", depth=26, engine=BITWUZLA, ports=bench.free)
