"""Requests and answers of one type of Basic messages (UALink_200 §6.4.2.1)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.contract import contract

__all__ = ["BasicExchange"]

MOST_OWED = 15
MOST_UNANSWERED = 15


class BasicExchange(wiring.Component):
    """Keeps count of what is to be sent and what is to come, for one message type.

    Own Requests and those of the partner are independent. Answers have a deadline and Requests have none, therefore
    an owed answer goes before an own Request. Every received Request gets its own answer; only when 15 are owed
    already, which takes a partner that does not wait for answers, one answer serves for two Requests.

    Members
    -------
    ask : level; when it rises, or is 1 after reset, a Request is to be sent. One that is not yet on offer serves for
        both.
    request_received, ack_received : pulses.
    waiting : something is to be sent.
    request : what is to be sent next is an own Request; otherwise an answer. Counts while ``waiting``.
    offered : pulse: what is to be sent next is put on offer; only while ``waiting``.
    left : pulse: the message on offer, which may be of another type, has been taken.
    answered : an Ack has come after the last Request had left; 0 from the cycle after ``ask`` rises.
    unasked : ``ack_received`` answers nothing.
    merged : ``request_received`` gets no answer of its own.
    """

    def __init__(self):
        super().__init__(
            {
                "ask": In(1),
                "request_received": In(1),
                "ack_received": In(1),
                "waiting": Out(1),
                "request": Out(1),
                "offered": In(1),
                "left": In(1),
                "answered": Out(1),
                "unasked": Out(1),
                "merged": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        asked = Signal()
        asking = Signal()
        request_offered = Signal()
        owed = Signal(range(MOST_OWED + 1))
        # Not 0, in a register: what goes on offer depends on it, and takes one away.
        owes = Signal()
        unanswered = Signal(range(MOST_UNANSWERED + 1))
        rises = Signal()
        request_left = Signal()
        answer_offered = Signal()
        m.d.comb += [
            rises.eq(self.ask & ~asked),
            request_left.eq(self.left & request_offered),
            answer_offered.eq(self.offered & ~self.request),
            self.waiting.eq(asking | owes),
            self.request.eq(~owes),
            self.unasked.eq(self.ack_received & (unanswered == 0)),
            self.merged.eq(self.request_received & (owed == MOST_OWED) & ~answer_offered),
        ]

        contract(m, ~self.offered | self.waiting, "only what waits is put on offer")
        m.d.sync += [
            asked.eq(self.ask),
            # One less or not: known last.
            owed.eq(
                Mux(
                    answer_offered,
                    Mux(self.request_received, owed, owed - 1),
                    owed + (self.request_received & (owed != MOST_OWED)),
                )
            ),
            owes.eq(self.request_received | (owes & ~answer_offered) | (owed > 1)),
        ]
        with m.If(rises):
            m.d.sync += asking.eq(1)
        with m.Elif(self.offered & self.request):
            m.d.sync += asking.eq(0)
        with m.If(self.offered):
            m.d.sync += request_offered.eq(self.request)
        with m.Elif(self.left):
            m.d.sync += request_offered.eq(0)

        answer = self.ack_received & ~self.unasked
        with m.If(request_left & ~answer & (unanswered != MOST_UNANSWERED)):
            m.d.sync += unanswered.eq(unanswered + 1)
        with m.Elif(answer & ~request_left):
            m.d.sync += unanswered.eq(unanswered - 1)
        with m.If(rises):
            m.d.sync += self.answered.eq(0)
        with m.Elif(answer & ~asking & ~request_offered):
            m.d.sync += self.answered.eq(1)
        return m
