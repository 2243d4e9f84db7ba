"""The packing arbiter: what goes into the next Control half-flit, and into which sectors (UALink_200 §5.1.1, §5.5)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import TLConfig
from ualink.lib.contract import contract
from ualink.lib.select import select_one
from ualink.tl.control import LIMITS_LAYOUT
from ualink.tl.credit.release import FC_FIELDS
from ualink.tl.format.fields import FLOW_CONTROL
from ualink.tl.format.half_flits import (
    CONTROL_CONTENT_LAYOUT,
    CONTROL_COUNTS_LAYOUT,
    FIELD_FORM_LAYOUT,
    REQUEST_FIELD_LAYOUT,
    RESPONSE_FIELD_LAYOUT,
    SECTORS,
)

from .fields_in_sight import content_layout
from .fill import CHOICE_LAYOUT, PackerFill
from .limits import above
from .look_ahead import exactly
from .placement import FlowControlPlacement, one_stands_below
from .request_share import SHARE
from .share import FC_PATIENCE, REQUESTS_IN_SIGHT, RESPONSES_IN_SIGHT, PackerShare
from .stack import FITS_LAYOUT, PAIRS, STACKS_LAYOUT

__all__ = ["FC_PATIENCE", "REQUESTS_IN_SIGHT", "RESPONSES_IN_SIGHT", "RESPONSE_ALTERNATIVES", "Packer"]

RESPONSE_ALTERNATIVES = PAIRS + 1
"""How many Responses leave is known for each number of pairs of sectors that Requests leave."""


class Packer(wiring.Component):
    """Forms Control half-flits: decides in one cycle what goes, and fills the sectors in the next.

    ``PackerShare`` decides how many Requests and Responses go and remembers whose turn it is; FC fields ride along in
    sectors that stay free. Nothing that waits is passed over without bound: with fields that may go, some Request goes
    in every half-flit and some Response in every second one, a FC field in every second one. Initial Credit Release
    Complete goes alone, before all else.

    Combinational but for ``content``, which ``PackerFill`` makes of what was decided in the cycle before, and which is
    kept until the next one.

    Attributes
    ----------
    pack : the half-flit is taken in this cycle, and with it what it holds; only if the one before has left or does.
    swap : it will stand in a swap slot.
    authentication : AuthTags half-flits are sent; ignored if ``config`` does not build their path.
    flow_control_limit : most FC fields; 0 counts as 1.
    shared_data : announce Shared Data Buffer mode with Initial Credit Release Complete.
    requests, request_eligible, request_rows, request_tagged : forms of fields with their credits in hand, as in
        ``FieldsInSight``.
    responses, response_eligible, response_stacks, response_fits, response_tagged : the same of Responses.
    request_chosen, request_takes, response_chosen, response_takes : what leaves, as in ``FieldsInSight``.
    request_contents, response_contents : as in ``FieldsInSight``; they matter in the cycle after ``pack`` only.
    fc, fc_valid, fc_take : FC fields, any of which may share a half-flit; the first ones are valid.
    fc_urgent : a FC field must not wait any more.
    complete, complete_taken : Initial Credit Release Complete is to be sent, and is. Before no field is eligible.
    offered : there is something worth a half-flit; FC fields that are not urgent are not.
    counts : the half-flit as it would leave now; without ``offered`` there is nothing but FC and NOP fields in it.
    requests_go, responses_go : bit n: Request n, Response n is in it.
    requests_owe, responses_owe : some of these owe data half-flits.
    request_below : Request 0 stands below its Responses; all other Requests stand above them.
    content : the half-flit that was taken last, from the cycle after ``pack`` until the next one.
    """

    def __init__(self, config: TLConfig):
        self.config = config
        super().__init__(
            {
                "pack": In(1),
                "swap": In(1),
                "authentication": In(1),
                "flow_control_limit": In(LIMITS_LAYOUT["flow_control"].shape),
                "shared_data": In(1),
                "requests": In(FIELD_FORM_LAYOUT).array(REQUESTS_IN_SIGHT),
                "request_contents": In(content_layout(REQUEST_FIELD_LAYOUT)).array(REQUESTS_IN_SIGHT),
                "request_eligible": In(REQUESTS_IN_SIGHT),
                "request_chosen": Out(2),
                "request_takes": Out(REQUESTS_IN_SIGHT).array(1),
                "request_rows": In(len(SHARE)),
                "request_tagged": In(2),
                "responses": In(FIELD_FORM_LAYOUT).array(RESPONSES_IN_SIGHT),
                "response_contents": In(content_layout(RESPONSE_FIELD_LAYOUT)).array(RESPONSES_IN_SIGHT),
                "response_eligible": In(RESPONSES_IN_SIGHT),
                "response_stacks": In(STACKS_LAYOUT),
                "response_fits": In(FITS_LAYOUT),
                "response_tagged": In(2),
                "response_chosen": Out(RESPONSE_ALTERNATIVES + 1),
                "response_takes": Out(RESPONSES_IN_SIGHT).array(RESPONSE_ALTERNATIVES),
                "fc": In(FLOW_CONTROL).array(FC_FIELDS),
                "fc_valid": In(FC_FIELDS),
                "fc_urgent": In(1),
                "fc_take": Out(FC_FIELDS),
                "complete": In(1),
                "complete_taken": Out(1),
                "offered": Out(1),
                "counts": Out(CONTROL_COUNTS_LAYOUT),
                "requests_go": Out(REQUESTS_IN_SIGHT),
                "responses_go": Out(RESPONSES_IN_SIGHT),
                "requests_owe": Out(1),
                "responses_owe": Out(1),
                "request_below": Out(1),
                "content": Out(CONTROL_CONTENT_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        contract(m, (self.fc_valid & (self.fc_valid + 1)) == 0, "the first FC fields are valid")
        waiting = self.request_eligible | self.response_eligible
        contract(m, ~self.complete | (waiting == 0), "no field goes before Initial Credit Release Complete")
        m.submodules.share = share = PackerShare()
        m.submodules.fc_placement = fc_placement = FlowControlPlacement()
        m.submodules.fill = fill = PackerFill(self.config)
        request_compressed = Cat(request.compressed for request in self.requests)
        response_compressed = Cat(response.compressed for response in self.responses)
        m.d.comb += [
            share.pack.eq(self.pack),
            share.message.eq(self.complete),
            share.swap.eq(self.swap),
            share.authentication.eq(self.authentication if self.config.authentication else 0),
            share.request_eligible.eq(self.request_eligible),
            share.request_rows.eq(self.request_rows),
            share.request_tagged.eq(self.request_tagged),
            share.response_stacks.eq(self.response_stacks),
            share.response_fits.eq(self.response_fits),
            share.response_eligible.eq(self.response_eligible),
            share.response_tagged.eq(self.response_tagged),
            share.fc_waiting.eq(self.fc_valid[0]),
            share.fc_urgent.eq(self.fc_urgent),
            share.fc_placed.eq(fc_placement.placed[0]),
            fc_placement.response_compressed.eq(response_compressed),
            fc_placement.response_stacks.eq(self.response_stacks),
            fc_placement.candidates.eq(share.candidates),
            fc_placement.layout.eq(share.layout),
            self.offered.eq(self.complete | share.offered | self.fc_urgent & self.fc_valid[0]),
            self.requests_go.eq(share.requests),
            self.responses_go.eq(share.responses),
            self.request_below.eq(one_stands_below(share.layout)),
        ]
        # As far as ``limits`` let.
        fc_may = Signal(FC_FIELDS)
        m.d.comb += fc_may.eq(
            Cat(
                valid & ~self.complete & ((n == 0) | above(self.flow_control_limit, n))
                for n, valid in enumerate(self.fc_valid)
            )
        )
        self._count(m, share)
        if self.config.authentication:
            m.d.comb += self.counts.tagged.eq(share.authentication & share.offered)
        with m.If(self.pack):
            m.d.comb += [
                self.complete_taken.eq(self.complete),
                self.fc_take.eq(fc_may & fc_placement.placed),
            ]
        goes = Signal()
        m.d.comb += [
            goes.eq(self.pack & ~share.barred),
            self.request_chosen.eq(Cat(~goes, goes)),
            self.request_takes[0].eq(share.request_take),
            self.response_chosen.eq(Cat(~goes, share.left & goes.replicate(len(share.left)))),
        ]
        m.d.comb += [sink.eq(source) for sink, source in zip(self.response_takes, share.takes, strict=True)]

        # In the cycle after ``pack``, and only then, this matters.
        choice = Signal(CHOICE_LAYOUT, reset_less=True)
        m.d.sync += [
            choice.message.eq(self.complete),
            choice.request_compressed.eq(request_compressed),
            choice.response_compressed.eq(response_compressed),
            choice.candidates.eq(share.candidates),
            choice.requests.eq(share.requests),
            choice.responses.eq(share.responses),
            choice.layout.eq(share.layout),
        ]
        # Places follow from the layout: in one register with it they would look to simulators as if they made it, too.
        places = Signal(CHOICE_LAYOUT["places"].shape, reset_less=True)
        m.d.sync += [places[sector].eq(fc_placement.fc[sector]) for sector in range(SECTORS)]
        m.d.sync += [
            choice.flow_control[n].eq(Mux(may, field, 0)) for n, (may, field) in enumerate(zip(fc_may, self.fc))
        ]
        # The contents that it is filled with are there for a cycle; a half-flit that must wait is kept as it is.
        fresh, kept = Signal(), Signal(CONTROL_CONTENT_LAYOUT, reset_less=True)
        m.d.sync += fresh.eq(self.pack)
        with m.If(fresh):
            m.d.sync += kept.eq(fill.content)
        m.d.comb += [
            fill.choice.eq(choice),
            fill.choice.places.eq(places),
            fill.shared_data.eq(self.shared_data),
            self.content.eq(Mux(fresh, fill.content, kept)),
        ]
        m.d.comb += [sink.eq(source) for sink, source in zip(fill.requests, self.request_contents, strict=True)]
        m.d.comb += [sink.eq(source) for sink, source in zip(fill.responses, self.response_contents, strict=True)]
        return m

    def _count(self, m, share):
        """Fields that go and the half-flits that they owe, added up for each number before it is known which it is."""
        requests, responses = exactly(share.requests), exactly(share.responses)
        left = Mux(share.barred, 1, share.left)
        request_owes = _totals(m, [request.job.half_flits for request in self.requests], "request")
        # What a Response owes is whole beats. Two sums of four each, which are added in the next cycle.
        beats, half = [response.job.half_flits[1:] for response in self.responses], RESPONSES_IN_SIGHT // 2
        first, last = _totals(m, beats[:half], "first_response"), _totals(m, beats[half:], "last_response")
        counts = range(RESPONSES_IN_SIGHT + 1)
        response_owes = [
            [Cat(Const(0, 1), first[min(n, half)]) for n in counts],
            [Cat(Const(0, 1), last[max(n - half, 0)]) for n in counts],
        ]
        # Responses by what Requests leave, so that this alone is late.
        alternatives = [exactly(take) for take in share.takes]
        no_requests, two_of_requests = (
            select_one(requests, those) for those in _none_and_two(m, self.requests, "request")
        )
        none_and_two = _none_and_two(m, self.responses, "response")
        no_responses, two_of_responses = (
            select_one(left, [select_one(ways, those) for ways in alternatives]) for those in none_and_two
        )
        m.d.comb += [
            self.counts.requests.eq(select_one(requests, range(REQUESTS_IN_SIGHT + 1))),
            self.counts.responses.eq(select_one(responses, range(RESPONSES_IN_SIGHT + 1))),
            self.counts.request_half_flits.eq(select_one(requests, request_owes)),
            *(
                owed.eq(select_one(left, [select_one(ways, owes) for ways in alternatives]))
                for owed, owes in zip(self.counts.response_half_flits, response_owes, strict=True)
            ),
            self.requests_owe.eq(~no_requests),
            self.responses_owe.eq(~no_responses),
            self.counts.some.eq(~(no_requests & no_responses)),
            self.counts.two.eq((two_of_requests & no_responses) | (no_requests & two_of_responses)),
            self.counts.message.eq(self.complete),
        ]


def _none_and_two(m, fields, name):
    """Bit n: so many of ``fields``, from the first on, owe no half-flit; and bit n: two of them."""
    nothing, pair = (Signal(len(fields), name=f"{name}s_that_owe_{owed}") for owed in (0, 2))
    m.d.comb += [
        nothing.eq(Cat(field.job.half_flits == 0 for field in fields)),
        pair.eq(Cat(field.job.half_flits == 2 for field in fields)),
    ]
    none, two = [Const(1)], [Const(0)]
    for number in range(1, len(fields) + 1):
        none.append(nothing[:number].all())
        two.append(Cat(pair[n] & Cat(nothing[k] for k in range(number) if k != n).all() for n in range(number)).any())
    known = [Signal(len(fields) + 1, name=f"{name}s_owe_{owed}") for owed in (0, 2)]
    m.d.comb += [signal.eq(Cat(bits)) for signal, bits in zip(known, (none, two), strict=True)]
    return known


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
