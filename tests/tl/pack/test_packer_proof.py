"""Proofs about the packing decision for every mix of fields, limits and modes: legal sectors, shares, no starvation."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.tl.control import LIMITS_LAYOUT
from ualink.tl.credit.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT, SourceRateLimit
from ualink.tl.pack.limits import within
from ualink.tl.pack.placement import FlowControlPlacement, PackerPlacement, one_stands_below
from ualink.tl.pack.request_share import rows_of
from ualink.tl.pack.share import PackerShare
from ualink.tl.pack.stack import fits, stacks

INPUTS = {
    "pack": In(1),
    "message": In(1),
    "swap": In(1),
    "authentication": In(1),
    "limits": In(LIMITS_LAYOUT),
    "request_compressed": In(4),
    "request_valid": In(4),
    "request_allowance": In(4),
    "response_compressed": In(8),
    "response_valid": In(8),
    "response_allowance": In(8),
    "fc_waiting": In(1),
    "fc_urgent": In(1),
}


class PackerBench(wiring.Component):
    """Any input in any cycle. The parts that a proof adds see what goes and where it stands."""

    def __init__(self, prove_that):
        self.prove_that = prove_that
        super().__init__({**INPUTS, "data_flit": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.share = share = PackerShare()
        m.submodules.placement = placement = PackerPlacement()
        m.submodules.fc_placement = fc_placement = FlowControlPlacement()
        for name in share.signature.members:
            if name in INPUTS:
                m.d.comb += getattr(share, name).eq(getattr(self, name))
        m.d.comb += share.response_stacks.eq(stacks(m, self.response_compressed))
        for kind in ("request", "response"):
            short, eligible = getattr(self, f"{kind}_compressed"), getattr(self, f"{kind}_valid")
            for form, those in (("compressed", short), ("uncompressed", ~short)):
                eligible = eligible & within(m, those, self.limits[f"{form}_{kind}s"], f"{form}_{kind}s")
            may = getattr(share, f"{kind}_eligible")
            m.d.comb += [
                may.eq(
                    eligible
                    & getattr(self, f"{kind}_allowance")
                    & Mux(self.message, 0, Mux(self.authentication, 0b1111, -1))
                ),
                getattr(share, f"{kind}_tagged").eq(Mux(self.authentication, may, 0)),
            ]
        m.d.comb += share.request_rows.eq(rows_of(self.request_compressed, share.request_eligible))
        m.d.comb += share.response_fits.eq(fits(share.response_stacks, share.response_eligible))
        m.d.comb += [
            placement.request_compressed.eq(self.request_compressed),
            placement.requests.eq(share.requests),
            placement.response_compressed.eq(self.response_compressed),
            placement.candidates.eq(share.candidates),
            placement.responses.eq(share.responses),
            placement.layout.eq(share.layout),
            fc_placement.response_compressed.eq(self.response_compressed),
            fc_placement.response_stacks.eq(share.response_stacks),
            fc_placement.candidates.eq(share.candidates),
            fc_placement.layout.eq(share.layout),
            share.fc_placed.eq(fc_placement.placed[0]),
            Assume((self.request_valid & (self.request_valid + 1)) == 0),
            Assume((self.response_valid & (self.response_valid + 1)) == 0),
            Assume((self.request_allowance & (self.request_allowance + 1)) == 0),
            Assume((self.response_allowance & (self.response_allowance + 1)) == 0),
        ]
        self.fc_places, self.fc_placed = fc_placement.fc, fc_placement.placed
        self.prove_that(m, self, share, placement)
        return m


def number(bits):
    return sum(bits, start=Const(0))


def leave(bench, kind):
    """Fields of a kind are there and may go in this half-flit."""
    barred = bench.message | (bench.swap & bench.authentication)
    return ~barred & (getattr(bench, f"{kind}_valid") != 0) & (getattr(bench, f"{kind}_allowance") != 0)


def shares_are_kept(m, bench, share, placement):
    for kind, goes in (("request", share.requests), ("response", share.responses)):
        count, allowance = number(getattr(bench, f"{kind}_valid")), number(getattr(bench, f"{kind}_allowance"))
        compressed = getattr(bench, f"{kind}_compressed")
        m.d.comb += [
            Assert((goes & (goes + 1)) == 0),  # the oldest ones
            Assert(number(goes) <= count),
            Assert(number(goes) <= allowance),
        ]
        for form, those in (("compressed", goes & compressed), ("uncompressed", goes & ~compressed)):
            limit = bench.limits[f"{form}_{kind}s"]
            m.d.comb += Assert(number(those) <= Mux(limit == 0, 1, limit))
    together = number(share.requests) + number(share.responses)
    m.d.comb += [
        Assert(~bench.authentication | (together <= 4)),
        Assert(~((bench.authentication & bench.swap) | bench.message) | (together == 0)),
        Assert(share.offered == (together != 0)),
        Assert(number(share.left) == 1),
        Assert(share.requests == Mux(share.barred, 0, share.request_take)),
        *(
            Assert(~left | (share.responses == Mux(share.barred, 0, take)))
            for left, take in zip(share.left, share.takes)
        ),
        Assert(share.offered == (leave(bench, "request") | leave(bench, "response"))),
    ]


def sectors_are_legal(m, bench, share, placement):
    """Each field that goes stands once, whole, in a footprint of its form, above the one before it."""
    covered = [number(Const(0, 1)) for _ in range(8)]
    for kind, short, sectors in (("request", bench.request_compressed, 2), ("response", bench.response_compressed, 1)):
        goes = getattr(share, f"{kind}s")
        lows, highs = getattr(placement, f"{kind}_low"), getattr(placement, f"{kind}_high")
        below = Const(0, 8)
        for n in range(len(goes)):
            at = Signal(8, name=f"{kind}_{n}_low")
            above = Signal(8, name=f"{kind}_{n}_high")
            places = range(0, 8, sectors)
            m.d.comb += [at[place].eq(lows[k][n]) for k, place in enumerate(places)]
            m.d.comb += [above[place].eq(highs[k][n]) for k, place in enumerate(places)]
            aligned = sum(1 << place for place in range(0, 8, 2 * sectors))
            footprint = Signal(8, name=f"{kind}_{n}_footprint")
            whole = (1 << sectors) - 1
            starts = at | above
            m.d.comb += [
                footprint.eq(sum((Mux(starts[place], whole << place, 0) for place in places), start=Const(0, 8))),
                Assert(number(at) == goes[n]),
                Assert(above == Mux(goes[n] & ~short[n], at << sectors, 0)),
                Assert(short[n] | ((at & ~aligned) == 0)),
                Assert(~goes[n] | (below < at)),
            ]
            below = Mux(goes[n], footprint, below)
            covered = [total + footprint[place] for place, total in enumerate(covered)]
    for n in range(5):
        places = number(place[n] for place in bench.fc_places)
        m.d.comb += Assert(places == bench.fc_placed[n])
    m.d.comb += [Assert(total + number(place) <= 1) for total, place in zip(covered, bench.fc_places)]


def nothing_starves(m, bench, share, placement):
    """With leave to go: a Request in every half-flit, a Response in every second, Flow Control in every second."""
    barred = bench.message | (bench.swap & bench.authentication)
    m.d.comb += Assert(share.requests.any() == leave(bench, "request"))
    waited, fc_waited = Signal(), Signal()
    stays_behind = leave(bench, "response") & ~share.responses.any()
    fc_stays_behind = bench.fc_waiting & ~share.fc_placed
    m.d.comb += [
        # What a Response and an FC field gain by having waited; neither is lost while nothing leaves.
        Assert(~waited | share.responses_turn),
        Assert(~fc_waited | share.fc_due),
        Assert(~(waited & stays_behind)),
        Assert(bench.message | ~(fc_waited & fc_stays_behind)),
        Assert(bench.message | ~(bench.fc_urgent & fc_stays_behind)),
        # Neither kind needs the other: alone, some of it goes.
        Assert(~leave(bench, "response") | leave(bench, "request") | share.responses.any()),
    ]
    with m.If(bench.pack & ~barred):
        m.d.sync += waited.eq(stays_behind)
    with m.If(bench.pack & ~bench.message):
        m.d.sync += fc_waited.eq(fc_stays_behind)


def tags_follow_the_fields(m, bench, share, placement):
    """With authentication: the n-th field from below has tag slot n, the slots above have none."""
    requests = [Signal(range(9), name=f"request_{n}_at") for n in range(4)]
    responses = [Signal(range(9), name=f"response_{n}_at") for n in range(4)]
    for n in range(4):
        m.d.comb += requests[n].eq(number(Mux(place[n], 2 * k + 1, 0) for k, place in enumerate(placement.request_low)))
        m.d.comb += responses[n].eq(number(Mux(place[n], k + 1, 0) for k, place in enumerate(placement.response_low)))
    everything = [*requests, *responses]
    goes = Cat(share.requests, share.responses[:4])
    for n, at in enumerate(everything):
        rank = number((other != 0) & (other < at) for other in everything)
        taken = placement.tag_request if n < 4 else placement.tag_response
        for slot in range(4):
            m.d.comb += Assert(~bench.authentication | (taken[slot][n % 4] == (goes[n] & (rank == slot))))


def one_request_stands_below(m, bench, share, placement):
    """Of a Request and a Response that go, the Request is the lower one if it is the first and the layout says so."""
    below = one_stands_below(share.layout)
    for n in range(4):
        request = Cat(place[n] for pair in placement.request_low for place in (pair, Const(0, 4)))
        for k in range(8):
            response = Cat(place[k] for place in placement.response_low)
            both = share.requests[n] & share.responses[k]
            m.d.comb += Assert(~both | ((request < response) == (below if n == 0 else 0)))


def catch_buffers_never_overrun(m, bench, share, placement):
    """Half-flits are taken one after the other or behind a flit of data; the partner's buffers of 4 and 8 hold all that
    arrives."""
    for kind, most, goes in (
        ("request", REQUEST_LIMIT, share.requests),
        ("response", RESPONSE_LIMIT, share.responses),
    ):
        m.submodules[f"{kind}_limit"] = limit = SourceRateLimit(most)
        fill, before, after = (Signal(8, name=f"{kind}_{name}") for name in ("fill", "before", "after"))
        m.d.comb += [
            limit.taken.eq(bench.pack),
            limit.issued.eq(goes),
            limit.between.eq(bench.data_flit),
            limit.flit.eq(bench.data_flit),
            Assume(getattr(bench, f"{kind}_allowance") == limit.allowance),
            before.eq(Mux(bench.data_flit & (fill != 0), fill - 1, fill)),
            after.eq(Mux(bench.pack, Mux(before == 0, 0, before - 1) + number(goes), before)),
            Assert(after <= most),
            Assert(number(limit.allowed) + Mux(fill == 0, 0, fill - 1) == most),
            Assert(number(limit.allowance) + Mux(before == 0, 0, before - 1) == most),
            Assert(limit.allowance[0] & limit.allowed[0]),
            *(Assert((bits & (bits + 1)) == 0) for bits in (limit.allowance, limit.allowed)),
        ]
        m.d.sync += fill.eq(after)


@pytest.mark.req("TL-130", "TL-131", "TL-133", "TL-134", "TL-136")
def test_catch_buffers_of_the_partner_never_overrun():
    prove(PackerBench(catch_buffers_never_overrun), mode="prove", depth=2)


@pytest.mark.req("TL-050", "TL-052", "TL-200", "TL-201", "TL-202", "TL-203")
def test_never_more_than_allowances_limits_and_tags():
    prove(PackerBench(shares_are_kept), mode="prove", depth=1)


@pytest.mark.req("TL-008", "TL-009", "TL-010", "TL-011", "TL-012", "TL-125", "TL-205")
def test_fields_stand_whole_in_order_and_alone():
    prove(PackerBench(sectors_are_legal), mode="prove", depth=1)


@pytest.mark.req("TL-051", "TL-215")
def test_nothing_that_waits_is_passed_over_twice():
    prove(PackerBench(nothing_starves), mode="prove", depth=2)


@pytest.mark.req("TL-038", "TL-098")
def test_data_stand_in_the_order_of_the_fields():
    prove(PackerBench(one_request_stands_below), mode="prove", depth=1)


@pytest.mark.req("TL-053", "TL-054")
def test_tags_stand_in_the_order_of_the_fields():
    prove(PackerBench(tags_follow_the_fields), mode="prove", depth=1)
