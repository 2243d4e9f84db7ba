"""The packing arbiter: what goes into the next Control half-flit, and into which sectors (UALink_200 §5.1.1, §5.5)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .credit_release import FC_FIELDS
from .fields import FLOW_CONTROL, MessageType
from .half_flits import (
    CONTROL_HALF_FLIT_LAYOUT,
    DATA_JOB_LAYOUT,
    REQUEST_FIELD_LAYOUT,
    RESPONSE_FIELD_LAYOUT,
    SECTORS,
)

__all__ = ["FC_PATIENCE", "REQUESTS_IN_SIGHT", "RESPONSES_IN_SIGHT", "Packer"]

REQUESTS_IN_SIGHT = 4
RESPONSES_IN_SIGHT = 4

FC_PATIENCE = 2
"""Control half-flits in a row that may leave without a waiting FC field."""


class Packer(wiring.Component):
    """Forms Control half-flits of uncompressed fields. Latency 1 cycle.

    Requests wait in order and go into quads of sectors, Responses in order into pairs, FC fields into the sectors left.

    - Requests and Responses both waiting: one Request in sectors 7654 and the Responses below it. Two Requests go
      together, in 3210 and 7654, if no Response or only one is waiting; that one then cannot be passed over again.
    - No Request waiting: up to four Responses, no Response waiting: up to two Requests.
    - Sectors 1 and 0 are for FC fields if the Responses do not need them; having been left out ``FC_PATIENCE`` times
      in a row they displace a second Request or the last Response. Other sectors without a field take more FC fields.

    So nothing that waits is passed over without bound, and neither kind of field needs the other to move.

    Attributes
    ----------
    pack : a half-flit may be formed in this cycle.
    requests, request_count, request_take : fields with their credits in hand, as in ``LookAheadQueue``.
    responses, response_count, response_take : as well.
    request_allowance, response_allowance : source rate limits for this half-flit.
    fc, fc_valid, fc_take : FC fields, as in ``CreditRelease``.
    complete, complete_taken : Initial Credit Release Complete is to be sent, and is.
    control : the half-flit formed.
    load, jobs : the data its fields owe, by first sector, in the cycle in which it is formed.
    """

    def __init__(self):
        super().__init__(
            {
                "pack": In(1),
                "requests": In(REQUEST_FIELD_LAYOUT).array(REQUESTS_IN_SIGHT),
                "request_count": In(range(REQUESTS_IN_SIGHT + 1)),
                "request_take": Out(range(REQUESTS_IN_SIGHT + 1)),
                "request_allowance": In(range(5)),
                "responses": In(RESPONSE_FIELD_LAYOUT).array(RESPONSES_IN_SIGHT),
                "response_count": In(range(RESPONSES_IN_SIGHT + 1)),
                "response_take": Out(range(RESPONSES_IN_SIGHT + 1)),
                "response_allowance": In(range(9)),
                "fc": In(FLOW_CONTROL).array(FC_FIELDS),
                "fc_valid": In(FC_FIELDS),
                "fc_take": Out(FC_FIELDS),
                "complete": In(1),
                "complete_taken": Out(1),
                "control": Out(stream.Signature(CONTROL_HALF_FLIT_LAYOUT)),
                "load": Out(1),
                "jobs": Out(DATA_JOB_LAYOUT).array(SECTORS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        requests, responses, fc_below = self._share(m)
        formed = Signal(CONTROL_HALF_FLIT_LAYOUT)
        fc_placed = self._place(m, formed, requests, responses, fc_below)
        m.d.comb += [
            formed.requests.eq(requests),
            formed.responses.eq(responses),
            formed.half_flits.eq(sum((job.half_flits for job in self.jobs), start=Const(0))),
        ]
        with m.If(self.complete):
            m.d.comb += [
                formed.data.eq(MessageType.INITIAL_CREDIT_RELEASE_COMPLETE),
                formed.message.eq(1),
            ]
        with m.If(self.pack):
            m.d.comb += [
                self.load.eq(self.complete | (requests != 0) | (responses != 0) | (self.fc_valid != 0)),
                self.complete_taken.eq(self.complete),
                self.request_take.eq(requests),
                self.response_take.eq(responses),
                self.fc_take.eq(fc_placed & self.fc_valid),
            ]
        stored = Signal(CONTROL_HALF_FLIT_LAYOUT, reset_less=True)
        m.d.comb += self.control.p.eq(stored)
        with m.If(self.load):
            m.d.sync += [stored.eq(formed), self.control.valid.eq(1)]
        with m.Elif(self.control.ready):
            m.d.sync += self.control.valid.eq(0)
        return m

    def _share(self, m):
        """Decide how many Requests and Responses go, and whether sectors 1 and 0 are left to FC fields."""
        request_room, response_room = Signal(range(3)), Signal(range(5))
        m.d.comb += [
            request_room.eq(_least(self.request_count, self.request_allowance, 2)),
            response_room.eq(_least(self.response_count, self.response_allowance, 4)),
        ]
        passed_over = Signal()  # a waiting Response had to make room for a second Request last time
        fc_skipped = Signal(range(FC_PATIENCE + 1))
        fc_waits, fc_due = Signal(), Signal()
        requests, responses, free, fc_below = Signal(range(3)), Signal(range(5)), Signal(range(5)), Signal()
        both = Signal()
        m.d.comb += [
            fc_waits.eq(self.fc_valid != 0),
            fc_due.eq(fc_waits & (fc_skipped == FC_PATIENCE)),
            both.eq((request_room == 2) & ~fc_due & ((response_room == 0) | ((response_room == 1) & ~passed_over))),
            requests.eq(Mux(both, 2, request_room != 0)),
            free.eq(Mux(both, 0, Mux(request_room != 0, 2, 4))),
            fc_below.eq(~both & ((response_room < free) | fc_due)),
            responses.eq(Mux(response_room < free - fc_below, response_room, free - fc_below)),
        ]
        with m.If(self.load):
            m.d.sync += passed_over.eq(both & (response_room != 0))
            with m.If(~fc_waits | (self.fc_take != 0)):
                m.d.sync += fc_skipped.eq(0)
            with m.Elif(fc_skipped != FC_PATIENCE):
                m.d.sync += fc_skipped.eq(fc_skipped + 1)
        return requests, responses, fc_below

    def _place(self, m, formed, requests, responses, fc_below):
        """Fill the sectors and the data jobs; return for which FC fields there is a sector."""
        pairs = [Signal(64, name=f"pair_{n}") for n in range(4)]
        fc_placed = Signal(FC_FIELDS)
        for n, pair in enumerate(pairs):
            # FC field k stands in sector k if no other field does.
            fc_fields = [k for k in (2 * n, 2 * n + 1) if k < FC_FIELDS]
            m.d.comb += pair.eq(Cat(Mux(self.fc_valid[k], self.fc[k].as_value(), 0) for k in fc_fields))
            m.d.comb += [fc_placed[k].eq(1) for k in fc_fields]
            for below in (0, 1):
                place = n - below
                if place >= 0:
                    response = self.responses[place]
                    with m.If((fc_below == below) & (responses > place)):
                        m.d.comb += [pair.eq(response.field), self.jobs[2 * n].eq(response.job)]
                        m.d.comb += [fc_placed[k].eq(0) for k in fc_fields]
        with m.If(requests == 2):
            self._place_request(m, pairs, fc_placed, 0, self.requests[0])
            self._place_request(m, pairs, fc_placed, 1, self.requests[1])
        with m.Elif(requests == 1):
            self._place_request(m, pairs, fc_placed, 1, self.requests[0])
        m.d.comb += formed.data.eq(Cat(pairs))
        return fc_placed

    def _place_request(self, m, pairs, fc_placed, quad, request):
        m.d.comb += [
            Cat(pairs[2 * quad : 2 * quad + 2]).eq(request.field),
            self.jobs[4 * quad].eq(request.job),
            self.jobs[4 * quad + 2].eq(0),
            fc_placed[4 * quad : 4 * quad + 4].eq(0),
        ]


def _least(*values):
    least = values[0]
    for value in values[1:]:
        least = Mux(least < value, least, value)
    return least
