"""Level-1 round robin of class UART and the dwords of its messages, one after the other (UALink_200 §6.4.1.2)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import MESSAGE_DWORD_LAYOUT
from ualink.dl.message.format import TRANSPORT_HEADER_LAYOUT
from ualink.dl.uart.messages import NO_OP, NO_OPS, candidate_signature
from ualink.lib.contract import contract
from ualink.lib.round_robin import RoundRobinArbiter
from ualink.lib.select import select_one

__all__ = ["UartScheduler"]


class UartScheduler(wiring.Component):
    """Chooses a message when it has none in hand and offers its dwords until the last is taken.

    A message is offered in the cycle after it was chosen, the next dword in the cycle after the one before was taken.
    The 40 No-Ops and the Reset Request are one sequence; it may begin in the middle of a Transport Message, whose rest
    the No-Ops then replace. In all other cases a started Transport Message keeps its length, because the partner counts
    its dwords: when the stream is reset or the channel offline, No-Ops take the places of the dwords left (ruling A-35
    (DL)).

    Members
    -------
    transport, update, request, response : candidates.
    payload : payload of Transport Messages; when one is chosen it has all the dwords.
    channel_transmit : 0: nothing is chosen, and a message of which no dword was taken is withdrawn: this is the only
        case in which ``message`` goes back on an offer. A started sequence ends with a No-Op and is sent again later.
    channel_offline : 1: payload must not be sent either.
    disabled : the stream is being reset.
    message : stream of ``MESSAGE_DWORD_LAYOUT``; ``more`` locks the arbiter of the classes. A dword on offer changes in
        two cases only: a Reset Request becomes a No-Op when the channel goes offline, and a Reset Response echoes the
        latest Request.
    """

    def __init__(self):
        super().__init__(
            {
                "transport": In(candidate_signature()),
                "update": In(candidate_signature()),
                "request": In(candidate_signature()),
                "response": In(candidate_signature()),
                "payload": In(stream.Signature(32)),
                "channel_transmit": In(1),
                "channel_offline": In(1),
                "disabled": In(1),
                "message": Out(stream.Signature(MESSAGE_DWORD_LAYOUT)),
            }
        )
        self.chosen = Signal(4)
        self.first = Signal()
        self.left = Signal(range(NO_OPS + 1))

    def elaborate(self, platform):
        m = Module()
        candidates = self.transport, self.update, self.request, self.response
        m.submodules.arbiter = arbiter = RoundRobinArbiter(len(candidates))
        in_hand = Signal()
        offered = Signal(32)
        first, chosen, left = self.first, self.chosen, self.left
        dword = Signal(32, reset_less=True)
        stands = Signal()
        taken = Signal()
        broken = Signal()
        is_transport, is_sequence, is_response = chosen[0], chosen[2], chosen[3]
        wanted = Cat(candidate.wanted for candidate in candidates)
        m.d.comb += [
            arbiter.requests.eq(Mux(self.channel_transmit, wanted, 0)),
            arbiter.next.eq(~in_hand),
            stands.eq(~first | (self.channel_transmit & (chosen & wanted).any())),
            self.message.valid.eq(in_hand & stands),
            offered.eq(dword),
            self.message.p.dword.eq(offered),
            self.message.p.more.eq(left != 0),
            taken.eq(self.message.valid & self.message.ready),
            self.payload.ready.eq(taken & is_transport & (left != 0)),
        ]
        for number, candidate in enumerate(candidates):
            starts = (left == 0) & (offered != NO_OP) if candidate is self.request else first
            m.d.comb += [
                candidate.sent.eq(taken & chosen[number] & starts),
                candidate.sent_dword.eq(dword),
            ]

        # What was put on offer before the channel went offline, or before another Request came, is out of date.
        with m.If(is_sequence & self.channel_offline):
            m.d.comb += offered.eq(NO_OP)
        with m.Elif(is_response):
            m.d.comb += offered.eq(self.response.dword)

        contract(
            m,
            ~self.payload.ready | self.payload.valid | broken | self.disabled | self.channel_offline,
            "a Transport Message finds all its dwords",
        )
        m.d.sync += broken.eq(broken | self.disabled | self.channel_offline)
        with m.If(taken & (left != 0)):
            m.d.sync += [left.eq(left - 1), first.eq(0)]
            with m.If(is_transport & self.request.wanted & self.channel_transmit):
                m.d.sync += [chosen.eq(0), is_sequence.eq(1), dword.eq(NO_OP), left.eq(NO_OPS)]
            with m.Elif(is_transport):
                gone = broken | self.disabled | self.channel_offline
                m.d.sync += dword.eq(Mux(gone, NO_OP, self.payload.p))
            with m.Else():
                # A negotiation message that only waits its turn does not stop a sequence that is under way.
                ends = (left == 1) & ~self.channel_offline
                m.d.sync += dword.eq(Mux(ends, self.request.dword, NO_OP))
        with m.Elif(in_hand):
            m.d.sync += in_hand.eq(stands & ~taken)
        with m.Else():
            # Without a message in hand all but ``in_hand`` may be anything.
            transport = data.View(TRANSPORT_HEADER_LAYOUT, self.transport.dword)
            dwords = [Const(NO_OP, 32) if one is self.request else Value.cast(one.dword) for one in candidates]
            following = [transport.length + 1, Const(0), Const(NO_OPS), Const(0)]
            m.d.sync += [
                in_hand.eq(arbiter.valid),
                first.eq(1),
                chosen.eq(arbiter.grant),
                broken.eq(0),
                dword.eq(select_one(arbiter.grant, dwords)),
                left.eq(select_one(arbiter.grant, following)),
            ]
        return m
