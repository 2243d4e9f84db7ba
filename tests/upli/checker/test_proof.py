"""What a sender drives never breaks the sharp rules of a beat, whatever its partner does."""

import pytest
from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Signal

from support.formal import BITWUZLA, prove
from support.upli.pair import members
from ualink.config import UPLIConfig
from ualink.upli.calendar import Calendar
from ualink.upli.checker.beats import BeatCheck, Phase
from ualink.upli.checker.connection import ConnectionCheck
from ualink.upli.checker.credits import CreditCheck
from ualink.upli.checker.watched import WatchedSignature, leaves
from ualink.upli.connect import Connect
from ualink.upli.sender import Sender

DEPTH = 10
"""A first beat can be on the interface five cycles after reset."""


class SenderBench(Elaboratable):
    """The Completer's sender of Write Responses with its connection; handshake, credits and who wants to send are free.

    What is watched goes into registers here, as in ``UPLIChecker``.
    """

    def __init__(self, ports, cover):
        self.ports, self.cover = ports, cover
        self.sender = Sender("wr_rsp", UPLIConfig(), ports)
        self.orig_clk_req, self.orig_clk_ack, self.wants = Signal(), Signal(), Signal()
        self.vc = Signal(2)
        credit = [signal for path, signal in members(self.sender.upli) if "credit" in path]
        self.free = [self.orig_clk_req, self.orig_clk_ack, self.wants, self.vc, *credit]

    def elaborate(self, platform):
        m = Module()
        m.submodules.sender = sender = self.sender
        m.submodules.connect = connect = Connect()
        m.submodules.calendar = calendar = Calendar(self.ports)
        m.d.comb += [
            connect.start.eq(1),
            connect.peer_clk_req.eq(self.orig_clk_req),
            connect.peer_clk_ack.eq(self.orig_clk_ack),
            sender.connected.eq(connect.connected),
            sender.listen.eq(connect.inbound_open),
            sender.slot.eq(calendar.slot),
            sender.vc.eq(1 << self.vc),
            sender.beat.vc.eq(self.vc),
            sender.auth_tag.eq(1),
            sender.send.eq(self.wants & sender.available[0]),
        ]
        seen = WatchedSignature().create(path=("seen",))
        signature = WatchedSignature("wr_rsp")
        m.d.sync += [kept.eq(now) for kept, now in zip(leaves(seen.wr_rsp, signature), leaves(sender.upli, signature))]
        m.d.sync += [
            seen.orig_clk_req.eq(self.orig_clk_req),
            seen.comp_clk_ack.eq(connect.clk_ack),
            seen.comp_clk_req.eq(connect.clk_req),
            seen.orig_clk_ack.eq(self.orig_clk_ack),
        ]
        m.submodules.connection = connection = ConnectionCheck()
        m.submodules.beats = beats = BeatCheck("wr_rsp", self.ports)
        m.submodules.credits = credits = CreditCheck("wr_rsp", self.ports, 10)
        m.submodules.phase = phase = Phase(self.ports)
        whole = WatchedSignature()
        m.d.comb += [one.eq(other) for one, other in zip(leaves(connection.seen, whole), leaves(seen, whole))]
        for check in (beats, credits):
            m.d.comb += [
                one.eq(other) for one, other in zip(leaves(check.seen, signature), leaves(seen.wr_rsp, signature))
            ]
        # A partner that takes back what it granted has no rights.
        granted = Signal(2)
        m.d.sync += granted.eq(granted | Cat(self.orig_clk_req, self.orig_clk_ack))
        m.d.comb += [
            beats.open.eq(connection.outward & connection.homeward),
            beats.listen.eq(connection.homeward),
            credits.open.eq(connection.outward),
            phase.vld.eq(beats.trusted),
            phase.port_id.eq(beats.beat.port_id),
            beats.known.eq(phase.known),
            beats.owner.eq(phase.owner),
            credits.spend.eq(beats.trusted),
            credits.port_id.eq(beats.beat.port_id),
            credits.pool.eq(beats.beat.pool),
            credits.vc.eq(beats.beat.vc),
        ]
        fell = Signal()
        m.d.sync += fell.eq(fell | (granted & ~Cat(self.orig_clk_req, self.orig_clk_ack)).any())
        if self.cover:
            m.d.comb += Cover(beats.good & ~fell)
            return m
        broken = beats.broken
        m.d.comb += [
            Assert(fell | ~beats.broken.as_value().any()),
            Assert(fell | ~Cat(credits.broken.init_done, credits.broken.credit).any()),
            Assert(~broken.auth_tag),
        ]
        return m


@pytest.mark.req("UPLI-264", "UPLI-051", "UPLI-115")
@pytest.mark.parametrize("ports", [1, 2])
def test_sender_is_sharp(ports):
    bench = SenderBench(ports, cover=False)
    prove(bench, mode="bmc", depth=DEPTH, engine=BITWUZLA, ports=bench.free)


def test_the_proof_sees_beats():
    bench = SenderBench(1, cover=True)
    prove(bench, mode="cover", depth=DEPTH, ports=bench.free)
