"""Negotiates channels 0 and 4 with the partner: Control messages (UALink_200 §6.4.3)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import MESSAGE_DWORD_LAYOUT
from ualink.dl.message.channel import ANSWERS, CHANNEL_MESSAGE_LAYOUT, Channel, ChannelCommand
from ualink.dl.message.format import ControlType, MessageClass
from ualink.lib.round_robin import RoundRobinArbiter
from ualink.lib.shift_queue import ShiftQueue

__all__ = ["ControlMessages"]


class ControlMessages(wiring.Component):
    """Two ``Channel``s that share one class and type of messages.

    One negotiation of this side's own is under way at a time, and none starts while one of the partner's is, or after
    decision pending was received for either channel (UALink_200 §6.4.3 counts by mclass and mtype, ruling A-10 (DL)).
    When both channels want to start they take turns; an owed Request goes before one that is not. It leaves within
    11/16 of ``time_out_flits`` after decision pending: half of them pass at most before it is due, and a negotiation
    of the other channel in its way is given up when it makes no progress for a sixteenth.

    Messages of both channels leave in the order in which they were scheduled, and so answers in the order of what
    they answer (UALink_200 §6.4.3.1.4). The class has one type: level 1 of UALink_200 §6.4.1.2 has nothing to choose.

    Members
    -------
    received : first dwords of messages of all kinds.
    message : stream of ``MESSAGE_DWORD_LAYOUT``, messages of one dword; ``is_of_0``: the one on offer is of channel 0.
    want_online_0, want_online_4, may_request, time_out_flits, slot_end : as ``Channel`` has them.
    transmit_0, transmit_4 : data of the channel may be sent. A UART message under way when ``transmit_4`` falls is to
        be finished, or the partner would take the Control message behind it for payload.
    waiting_4 : a message of channel 4 waits to be packed.
    receive_0, receive_4 : received data of the channel counts.
    online_0, online_4 : the negotiated state.
    timed_out : pulse: a negotiation was given up.
    protocol_error : pulse: as ``Channel`` has it, or a message for a channel that does not exist, which gets no answer.
    """

    def __init__(self):
        super().__init__(
            {
                "want_online_0": In(1),
                "want_online_4": In(1),
                "may_request": In(1, init=1),
                "time_out_flits": In(24, init=390_625),
                "slot_end": In(1),
                "received": In(stream.Signature(32, always_ready=True)),
                "message": Out(stream.Signature(MESSAGE_DWORD_LAYOUT)),
                "is_of_0": Out(1),
                "transmit_0": Out(1),
                "transmit_4": Out(1),
                "waiting_4": Out(1),
                "receive_0": Out(1),
                "receive_4": Out(1),
                "online_0": Out(1),
                "online_4": Out(1),
                "timed_out": Out(1),
                "protocol_error": Out(1),
            }
        )
        self.channel_0 = Channel(0)
        self.channel_4 = Channel(4)

    def elaborate(self, platform):
        m = Module()
        channel_0, channel_4 = self.channel_0, self.channel_4
        m.submodules.channel_0, m.submodules.channel_4 = channel_0, channel_4
        m.submodules.turns = turns = RoundRobinArbiter(2)
        m.submodules.order = order = ShiftQueue(1, 2 * ANSWERS)
        heard = data.View(CHANNEL_MESSAGE_LAYOUT, self.received.p)

        negotiation = Signal()
        named = Signal(3)
        stray = Signal()
        m.d.comb += [
            negotiation.eq(
                self.received.valid
                & (heard.mclass == MessageClass.CONTROL)
                & (heard.mtype == ControlType.CHANNEL_NEGOTIATION)
            ),
            named.eq(Mux(heard.command == ChannelCommand.REQUEST, heard.target.channel, heard.response.channel)),
            stray.eq(negotiation & (named != 0) & (named != 4)),
            self.timed_out.eq(channel_0.timed_out | channel_4.timed_out),
            self.protocol_error.eq(channel_0.protocol_error | channel_4.protocol_error | stray),
            channel_0.want_online.eq(self.want_online_0),
            channel_4.want_online.eq(self.want_online_4),
            self.transmit_0.eq(channel_0.transmit),
            self.transmit_4.eq(channel_4.transmit),
            self.waiting_4.eq(channel_4.waiting),
            self.receive_0.eq(channel_0.receive),
            self.receive_4.eq(channel_4.receive),
            self.online_0.eq(channel_0.online),
            self.online_4.eq(channel_4.online),
        ]

        # What is received goes first, so that a Request of the partner is never followed by an own one.
        may_start = []
        for channel, other in ((channel_0, channel_4), (channel_4, channel_0)):
            m.d.comb += [
                channel.may_request.eq(self.may_request),
                channel.time_out_flits.eq(self.time_out_flits),
                channel.slot_end.eq(self.slot_end),
                channel.received.valid.eq(self.received.valid),
                channel.received.p.eq(self.received.p),
                channel.may_defer.eq(~other.asking),
                channel.hurry.eq(other.due),
            ]
            in_the_way = other.busy | (~channel.due & (other.blocked | other.due))
            may_start.append(channel.wants & ~in_the_way & ~negotiation)
        m.d.comb += [
            turns.requests.eq(Cat(may_start)),
            turns.next.eq(1),
            channel_0.hold.eq(~turns.grant[0]),
            channel_4.hold.eq(~turns.grant[1]),
        ]

        m.d.comb += [
            order.input.valid.eq(channel_0.scheduled | channel_4.scheduled),
            order.input.p.eq(channel_4.scheduled),
            self.message.valid.eq(order.output.valid),
            self.is_of_0.eq(~order.output.p),
            self.message.p.dword.eq(Mux(order.output.p, channel_4.message.p, channel_0.message.p)),
            order.output.ready.eq(self.message.ready),
            # Without a place in the order there is no message.
            channel_0.message.ready.eq(~order.output.p & self.message.ready),
            channel_4.message.ready.eq(order.output.p & self.message.ready),
        ]
        return m
