"""The packing arbiter: what goes into the next Control half-flit, and into which sectors (UALink_200 §5.1.1, §5.5)."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.lib.select import select_one
from ualink.tl.control import LIMITS_LAYOUT
from ualink.tl.credit.release import FC_FIELDS
from ualink.tl.format.fields import FLOW_CONTROL, MessageType
from ualink.tl.format.half_flits import (
    CONTROL_HALF_FLIT_LAYOUT,
    DATA_JOB_LAYOUT,
    REQUEST_FIELD_LAYOUT,
    RESPONSE_FIELD_LAYOUT,
    SECTORS,
)

from .placement import TAGS, PackerPlacement, exactly
from .share import FC_PATIENCE, REQUESTS_IN_SIGHT, RESPONSES_IN_SIGHT, PackerShare, above

__all__ = ["FC_PATIENCE", "REQUESTS_IN_SIGHT", "RESPONSES_IN_SIGHT", "Packer"]


class Packer(wiring.Component):
    """Forms Control half-flits. Combinational; ``PackerShare`` remembers whose turn it is.

    ``PackerShare`` decides how many Requests and Responses go, ``PackerPlacement`` where they stand; FC fields ride
    along in sectors that stay free. Nothing that waits is passed over without bound: with fields that may go, some
    Request goes in every half-flit and some Response in every second one, a FC field in every second one. Initial
    Credit Release Complete goes alone, before all else.

    Attributes
    ----------
    pack : ``formed`` is taken in this cycle, and with it what it holds.
    swap : it will stand in a swap slot.
    authentication : AuthTags half-flits are sent; ignored if ``config`` does not build their path.
    limits : backoff modes; 0 counts as 1.
    shared_data : announce Shared Data Buffer mode with Initial Credit Release Complete.
    requests, request_count, request_take : fields with their credits in hand, as in ``LookAheadQueue``.
    responses, response_count, response_take : as well.
    request_allowance, response_allowance : source rate limits for this half-flit.
    fc, fc_valid, fc_take : FC fields, any of which may share a half-flit.
    fc_urgent : a FC field must not wait any more.
    complete, complete_taken : Initial Credit Release Complete is to be sent, and is.
    offered : there is something worth a half-flit; FC fields that are not urgent are not.
    formed : the half-flit as it would leave now; without ``offered`` there is nothing but FC and NOP fields in it.
    jobs : the data that its fields owe, by the first sector of the field.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "pack": In(1),
                "swap": In(1),
                "authentication": In(1),
                "limits": In(LIMITS_LAYOUT),
                "shared_data": In(1),
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
                "fc_urgent": In(1),
                "fc_take": Out(FC_FIELDS),
                "complete": In(1),
                "complete_taken": Out(1),
                "offered": Out(1),
                "formed": Out(CONTROL_HALF_FLIT_LAYOUT),
                "jobs": Out(DATA_JOB_LAYOUT).array(SECTORS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.share = share = PackerShare()
        m.submodules.placement = placement = PackerPlacement()
        request_compressed = Cat(request.compressed for request in self.requests)
        response_compressed = Cat(response.compressed for response in self.responses)
        m.d.comb += [
            share.pack.eq(self.pack),
            share.message.eq(self.complete),
            share.swap.eq(self.swap),
            share.authentication.eq(self.authentication if self.config.authentication else 0),
            share.limits.eq(self.limits),
            share.request_compressed.eq(request_compressed),
            share.request_count.eq(self.request_count),
            share.request_allowance.eq(self.request_allowance),
            share.response_compressed.eq(response_compressed),
            share.response_count.eq(self.response_count),
            share.response_allowance.eq(self.response_allowance),
            share.fc_waiting.eq(self.fc_valid.any()),
            share.fc_urgent.eq(self.fc_urgent),
            placement.request_compressed.eq(request_compressed),
            placement.requests.eq(share.requests),
            placement.response_compressed.eq(response_compressed),
            placement.candidates.eq(share.candidates),
            placement.responses.eq(share.responses),
            placement.layout.eq(share.layout),
            self.offered.eq(self.complete | share.offered | self.fc_urgent & self.fc_valid.any()),
        ]
        flow_control, placed = self._flow_control(m, placement)
        m.d.comb += share.fc_placed.eq(Cat(place[0] for place in placement.fc).any())
        self._fill_sectors(m, placement, flow_control)
        self._count(m, share)
        if self.config.authentication:
            m.d.comb += self.formed.tagged.eq(share.authentication & share.offered)
            self._fill_tags(m, placement)
        with m.If(self.pack):
            m.d.comb += [
                self.complete_taken.eq(self.complete),
                self.request_take.eq(self.formed.requests),
                self.response_take.eq(self.formed.responses),
                self.fc_take.eq(placed),
            ]
        return m

    def _flow_control(self, m, placement):
        """Return the FC fields of this half-flit in their order, as far as ``limits`` let, and which of the inputs
        find a sector."""
        ranked, placed = [], Const(0)
        for n in range(FC_FIELDS):
            allowed = ~self.complete & ((n == 0) | above(self.limits.flow_control, n))
            chosen = Signal(FC_FIELDS, name=f"fc_{n}")
            for k in range(n, FC_FIELDS):
                earlier = sum(self.fc_valid[:k], start=Const(0))
                m.d.comb += chosen[k].eq(allowed & self.fc_valid[k] & (earlier == n))
            field = Signal(FLOW_CONTROL.size, name=f"fc_field_{n}")
            m.d.comb += field.eq(select_one(chosen, [field.as_value() for field in self.fc]))
            ranked.append(field)
            placed |= chosen & Cat(place[n] for place in placement.fc).any().replicate(FC_FIELDS)
        return ranked, placed

    def _fill_sectors(self, m, placement, flow_control):
        """Fill the sectors and the data jobs."""
        message = Cat(Const(MessageType.INITIAL_CREDIT_RELEASE_COMPLETE, 8), self.shared_data)
        for sector in range(SECTORS):
            pair, half = sector // 2, slice(32 * (sector % 2), 32 * (sector % 2) + 32)
            request_low, request_high = placement.request_low[pair], placement.request_high[pair]
            # At least one sector for each Response before it.
            answers = self.responses[: sector + 1]
            words = [
                select_one(request_low, [request.field[:64][half] for request in self.requests]),
                select_one(request_high, [request.field[64:][half] for request in self.requests]),
                select_one(placement.response_low[sector], [answer.field[:32] for answer in answers]),
                select_one(placement.response_high[sector], [answer.field[32:] for answer in answers]),
                select_one(placement.fc[sector], flow_control),
            ]
            jobs = [select_one(placement.response_low[sector], [answer.job.as_value() for answer in answers])]
            if sector % 2 == 0:
                jobs.append(select_one(request_low, [request.job.as_value() for request in self.requests]))
            if sector == 0:
                words.append(Mux(self.complete, message, 0))
            m.d.comb += [
                self.formed.data[32 * sector : 32 * sector + 32].eq(reduce(or_, words)),
                self.jobs[sector].as_value().eq(reduce(or_, jobs)),
            ]

    def _fill_tags(self, m, placement):
        for slot in range(TAGS):
            m.d.comb += self.formed.tags[64 * slot : 64 * slot + 64].eq(
                select_one(placement.tag_request[slot], [request.auth_tag for request in self.requests])
                | select_one(placement.tag_response[slot], [response.auth_tag for response in self.responses[:TAGS]])
            )

    def _count(self, m, share):
        """Fields that go and the half-flits that they owe, added up for every mix before it is known which they are."""
        requests, responses = exactly(share.requests), exactly(share.responses)
        request_owes = _totals(m, [request.job.half_flits for request in self.requests], "request")
        response_owes = _totals(m, [response.job.half_flits for response in self.responses], "response")
        owed = []
        for n, more in enumerate(response_owes):
            mixes = []
            for k in range(min(REQUESTS_IN_SIGHT, (SECTORS - n) // 2) + 1):
                total = Signal.like(self.formed.half_flits, name=f"owed_{k}_{n}")
                m.d.comb += total.eq(request_owes[k] + more)
                mixes.append(total)
            owed.append(select_one(requests, mixes))
        m.d.comb += [
            self.formed.requests.eq(select_one(requests, range(REQUESTS_IN_SIGHT + 1))),
            self.formed.responses.eq(select_one(responses, range(RESPONSES_IN_SIGHT + 1))),
            self.formed.half_flits.eq(select_one(responses, owed)),
            self.formed.message.eq(self.complete),
        ]


def _totals(m, values, name):
    """For 0 to all of ``values`` the sum of so many of them, from the first on."""
    if len(values) == 1:
        return [Const(0), values[0]]
    half = len(values) // 2
    lower, upper = _totals(m, values[:half], f"{name}_0"), _totals(m, values[half:], f"{name}_1")
    totals = list(lower)
    for n, more in enumerate(upper[1:], half + 1):
        total = Signal(range(9 * n + 1), name=f"{name}_{n}_owe")
        m.d.comb += total.eq(lower[-1] + more)
        totals.append(total)
    return totals
