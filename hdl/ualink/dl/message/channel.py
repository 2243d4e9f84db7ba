"""Online/offline negotiation of one DL channel by Control messages (UALink_200 §6.4.3)."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import check_choice
from ualink.dl.message.flit_timer import FlitTimer
from ualink.dl.message.format import ControlType, MessageClass
from ualink.lib.shift_queue import ShiftQueue

__all__ = [
    "ANSWERS",
    "CHANNEL_MESSAGE_LAYOUT",
    "Channel",
    "ChannelCommand",
    "NegotiationState",
]

CHANNEL_STATE_LAYOUT = data.StructLayout({"channel": 3, "online": 1})
"""Channel.TargetState and Channel.Response: a channel and the state wanted for it."""

CHANNEL_MESSAGE_LAYOUT = data.StructLayout(
    {
        "compressed": 1,
        "reserved_1": 1,
        "mclass": 4,
        "mtype": 3,
        "reserved_9": 7,
        "target": CHANNEL_STATE_LAYOUT,
        "command": 4,
        "response": CHANNEL_STATE_LAYOUT,
        "reserved_28": 4,
    }
)
"""DL Channel Online/Offline Negotiation message (UALink_200 Table 6-8)."""

ANSWER_LAYOUT = data.StructLayout({"target": 4, "command": 4, "response": 4})
PUT_LAYOUT = data.StructLayout({"valid": 1, "answer": ANSWER_LAYOUT})
ANSWERS = 4
"""Messages that may wait to be packed: a partner by the rules makes this side owe two, beside one own Request."""


class ChannelCommand(enum.Enum, shape=4):
    """Channel.Command; other codes are reserved."""

    REQUEST = 0b0100
    ACK = 0b0110
    NACK = 0b0111
    DECISION_PENDING = 0b1000


class NegotiationState(enum.Enum, shape=3):
    """Where a negotiation stands: none; own Request out; partner's Request acked; both at once; decision pending
    answered, so that a Request is owed; decision pending received, so that Requests are blocked."""

    IDLE = 0
    REQUESTED = 1
    ACKED = 2
    BOTH = 3
    OWING = 4
    BLOCKED = 5


class Channel(wiring.Component):
    """One side of the three-way handshake Request, Ack, confirming Ack.

    The side that requested changes with the confirming Ack that it sends, the other with the one that it receives;
    reception is on as soon as an online Request has been acked (ruling A-10 (DL)). While a message waits to be packed
    nothing of the channel is sent, so that data never overtakes the confirming Ack. Answers leave in the order of
    what they answer; one is on offer in the third cycle after the message that it answers.

    Parameters
    ----------
    channel : channel identifier: 0 for TL flits, 4 for the DL UART.

    Members
    -------
    want_online : state that this side wants; also its readiness to accept an online Request.
    time_out_flits : flit times after which an unanswered negotiation is given up; an owed Request goes out after half
        of them. 0: never given up, and an owed Request waits for ``want_online``.
    may_request : this device may start negotiations (ruling A-11 (DL)); an owed Request goes out in any case.
    hold : no own Request starts in this cycle.
    may_defer : decision pending is a permitted answer: no other channel has an own Request outstanding.
    hurry : another channel has to get its owed Request out: a negotiation under way is given up after a sixteenth of
        ``time_out_flits`` without progress.
    slot_end : a flit time has passed.
    received : first dwords of messages of all kinds; those of other channels, classes or types are passed over.
    message : messages to the partner.
    scheduled : pulse: a message comes to the end of the queue behind ``message``, a cycle after it was decided.
    waiting : there is a message in that queue or on its way to it.
    transmit : data of the channel may be sent.
    receive : received data of the channel counts.
    wants : an own Request starts, unless ``hold``.
    due : it is an owed one.
    asking : own Request outstanding.
    busy : a negotiation is going on, of which the end is near.
    blocked : decision pending was received; the partner has the word.
    timed_out, protocol_error : pulses: negotiation given up; Request for the current state, answer to nothing asked,
        reserved command.
    """

    def __init__(self, channel: int = 0):
        check_choice("channel", channel, (0, 4))
        self._channel = channel
        super().__init__(
            {
                "want_online": In(1),
                "time_out_flits": In(24, init=390_625),
                "may_request": In(1, init=1),
                "hold": In(1),
                "may_defer": In(1, init=1),
                "hurry": In(1),
                "slot_end": In(1),
                "received": In(stream.Signature(32, always_ready=True)),
                "message": Out(stream.Signature(32)),
                "scheduled": Out(1),
                "waiting": Out(1),
                "transmit": Out(1),
                "receive": Out(1),
                "wants": Out(1),
                "due": Out(1),
                "asking": Out(1),
                "busy": Out(1),
                "blocked": Out(1),
                "timed_out": Out(1),
                "protocol_error": Out(1),
            }
        )
        self.state = Signal(NegotiationState)
        self.online = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.answers = answers = ShiftQueue(ANSWER_LAYOUT, ANSWERS)
        state, online = self.state, self.online
        heard = data.View(CHANNEL_MESSAGE_LAYOUT, self.received.p)

        next_state = Signal(NegotiationState)
        target, next_target = Signal(), Signal()
        refused = Signal()
        event = Signal()
        request = Signal()
        answer = Signal()
        late, overdue = self._timer(m, next_state)
        # What is decided goes into the queue a cycle later.
        put, coming = Signal(PUT_LAYOUT), Signal(PUT_LAYOUT)
        room = Signal()
        next_online = Signal()
        m.d.comb += [next_online.eq(online), next_target.eq(target)]
        listens = next_state.as_value().matches(NegotiationState.ACKED, NegotiationState.BOTH) & next_target
        m.d.sync += [
            online.eq(next_online),
            target.eq(next_target),
            self.transmit.eq(next_online & ~(coming.valid | self.waiting)),
            self.receive.eq(next_online | listens),
        ]
        m.d.sync += put.valid.eq(coming.valid & room)
        m.d.sync += put.answer.eq(coming.answer)
        m.d.comb += [
            room.eq(answers.level + put.valid < ANSWERS),
            answers.input.valid.eq(put.valid),
            answers.input.p.eq(put.answer),
            self.waiting.eq(put.valid | answers.output.valid),
            event.eq(
                self.received.valid
                & (heard.mclass == MessageClass.CONTROL)
                & (heard.mtype == ControlType.CHANNEL_NEGOTIATION)
            ),
            request.eq(event & (heard.command == ChannelCommand.REQUEST) & (heard.target.channel == self._channel)),
            answer.eq(event & (heard.command != ChannelCommand.REQUEST) & (heard.response.channel == self._channel)),
            self.due.eq((state == NegotiationState.OWING) & (self.want_online | overdue)),
            self.wants.eq(
                room
                & (
                    self.due
                    | ((state == NegotiationState.IDLE) & self.may_request & (self.want_online != online) & ~refused)
                )
            ),
            self.asking.eq(self._in(NegotiationState.REQUESTED, NegotiationState.BOTH)),
            self.busy.eq(self.asking | (state == NegotiationState.ACKED)),
            self.blocked.eq(state == NegotiationState.BLOCKED),
            self.scheduled.eq(put.valid),
            next_state.eq(state),
        ]
        m.d.sync += state.eq(next_state)

        def send(command, to=None, response=None):
            nothing = Const(0, 4)
            m.d.comb += [
                coming.valid.eq(1),
                coming.answer.command.eq(command),
                coming.answer.target.eq(nothing if to is None else to << 3 | self._channel),
                coming.answer.response.eq(nothing if response is None else response),
            ]

        with m.If(request):
            self._requested(m, heard.target, next_target, next_state, send)
        with m.Elif(answer):
            self._answered(m, heard, target, refused, next_state, next_online, send)
        with m.Elif(self.busy & late):
            m.d.comb += [self.timed_out.eq(1), next_state.eq(NegotiationState.IDLE)]
        with m.Elif(self.wants & ~self.hold):
            wish = self.want_online | self.due
            send(ChannelCommand.REQUEST, to=wish)
            m.d.comb += next_state.eq(NegotiationState.REQUESTED)
            m.d.comb += next_target.eq(wish)
        with m.If(self.want_online == online):
            m.d.sync += refused.eq(0)
        with m.If(coming.valid & ~room):
            m.d.comb += self.protocol_error.eq(1)

        message = Signal(CHANNEL_MESSAGE_LAYOUT)
        m.d.comb += [
            message.mclass.eq(MessageClass.CONTROL),
            message.mtype.eq(ControlType.CHANNEL_NEGOTIATION),
            message.target.as_value().eq(answers.output.p.target),
            message.command.eq(answers.output.p.command),
            message.response.as_value().eq(answers.output.p.response),
            self.message.valid.eq(answers.output.valid),
            self.message.p.eq(message),
            answers.output.ready.eq(self.message.ready),
        ]
        return m

    def _in(self, *states):
        """Is ``state`` one of these?"""
        return self.state.as_value().matches(*states)

    def _timer(self, m, next_state):
        """Flit times since the state changed: are they too many for an answer, for an owed Request?"""
        m.submodules.timer = timer = FlitTimer(len(self.time_out_flits))
        late = Signal()
        overdue = Signal()
        limit = self.time_out_flits
        m.d.comb += [timer.slot_end.eq(self.slot_end), timer.restart.eq(next_state != self.state)]
        # Registers: what follows from them is long enough. Of the state before they tell nothing any more.
        m.d.sync += [
            late.eq((limit != 0) & (timer.count >= Mux(self.hurry, limit >> 4, limit))),
            overdue.eq((limit != 0) & (timer.count >= limit >> 1)),
        ]
        return late & ~timer.restarted, overdue & ~timer.restarted

    def _requested(self, m, wanted, next_target, next_state, send):
        """A Request has come; every one is answered at once (UALink_200 §6.4.3.2)."""
        not_ready = wanted.online & ~self.want_online & self.may_defer & (self.state != NegotiationState.ACKED)
        with m.If(wanted.online == self.online):
            # Not permitted; acked and logged, without any change. A confirming Ack may follow or not.
            send(ChannelCommand.ACK, to=wanted.online, response=wanted)
            m.d.comb += self.protocol_error.eq(1)
        with m.Elif(self.asking):
            # Two sides can only want the same. Own Request outstanding: decision pending is not allowed.
            send(ChannelCommand.ACK, to=wanted.online, response=wanted)
            m.d.comb += next_state.eq(NegotiationState.BOTH)
        with m.Elif(not_ready):
            send(ChannelCommand.DECISION_PENDING, response=wanted)
            m.d.comb += next_state.eq(NegotiationState.OWING)
        with m.Else():
            send(ChannelCommand.ACK, to=wanted.online, response=wanted)
            m.d.comb += next_state.eq(NegotiationState.ACKED)
            m.d.comb += next_target.eq(wanted.online)

    def _answered(self, m, heard, target, refused, next_state, next_online, send):
        """An Ack, NAck or decision pending has come."""
        state = self.state
        own = Signal()
        m.d.comb += own.eq(heard.response.online == target)
        with m.Switch(heard.command):
            with m.Case(ChannelCommand.ACK):
                with m.If((state == NegotiationState.REQUESTED) & own):
                    send(ChannelCommand.ACK, to=target, response=heard.target)
                    m.d.comb += next_state.eq(NegotiationState.IDLE)
                    m.d.comb += next_online.eq(target)
                with m.Elif((state == NegotiationState.BOTH) & own):
                    send(ChannelCommand.ACK, to=target, response=heard.target)
                    m.d.comb += next_state.eq(NegotiationState.ACKED)
                with m.Elif((state == NegotiationState.ACKED) & own):
                    m.d.comb += next_state.eq(NegotiationState.IDLE)
                    m.d.comb += next_online.eq(target)
                with m.Elif(self.busy):
                    m.d.comb += self.protocol_error.eq(1)
            with m.Case(ChannelCommand.NACK, ChannelCommand.DECISION_PENDING):
                with m.If(state == NegotiationState.REQUESTED):
                    pending = heard.command == ChannelCommand.DECISION_PENDING
                    m.d.comb += next_state.eq(Mux(pending, NegotiationState.BLOCKED, NegotiationState.IDLE))
                    # Not to be asked again at once, only after the wish has been given up in between.
                    m.d.sync += refused.eq(~pending)
                with m.Elif(state == NegotiationState.BOTH):
                    m.d.comb += [
                        next_state.eq(NegotiationState.ACKED),
                        self.protocol_error.eq(heard.command == ChannelCommand.DECISION_PENDING),
                    ]
                with m.Else():
                    m.d.comb += self.protocol_error.eq(1)
            with m.Default():
                m.d.comb += self.protocol_error.eq(1)
