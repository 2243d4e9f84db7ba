"""What bounds a Control half-flit from outside: backoff modes, source rate limits, tags and swap slots, and whose turn
it is when there is no room for all."""

from itertools import product

import pytest

from support.tl.packer import simulate
from support.tl.packer_scene import (
    FC,
    NATURAL,
    Scene,
    compressed_request,
    compressed_response,
    is_compressed,
    random_fields,
    uncompressed_request,
    uncompressed_response,
)
from ualink.tl.pack.packer import FC_PATIENCE
from ualink_sim.model.tl.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT, CatchBuffer, RateLimit

# The mark of each backoff mode, how to fill the half-flit with what it limits, and the natural maximum.
MODES = [
    ("TL-200", uncompressed_request, 0),
    ("TL-201", compressed_request, 1),
    ("TL-202", uncompressed_response, 2),
    ("TL-203", compressed_response, 3),
]


@pytest.mark.parametrize("make, mode", [pytest.param(*row, marks=pytest.mark.req(req)) for req, *row in MODES])
def test_backoff_mode_limits_its_kind(make, mode):
    async def body(bench):
        for limit in range(NATURAL[mode] + 1):
            limits = tuple(limit if n == mode else most for n, most in enumerate(NATURAL))
            fields = [make(rng=bench.rng) for _ in range(8)]
            requests, responses = (fields[:4], []) if fields[0].is_request else ([], fields)
            formed = await bench.form(Scene(requests, responses, limits=limits))
            assert sum(formed.counts) == max(1, limit)

    simulate(body)


@pytest.mark.req("TL-204")
@pytest.mark.parametrize("limit", range(9))
def test_backoff_mode_limits_flow_control(limit):
    async def body(bench):
        formed = await bench.form(Scene(fc=FC, urgent=1, limits=(*NATURAL[:4], limit)))
        assert formed.counts == (0, 0, min(5, max(1, limit)))

    simulate(body)


def within(fields, compressed, uncompressed):
    """The longest prefix with no more of each form."""
    for n in range(len(fields) + 1):
        forms = [is_compressed(control) for control in fields[:n]]
        if sum(forms) > compressed or n - sum(forms) > uncompressed:
            return fields[: n - 1]
    return fields


@pytest.mark.req("TL-205")
def test_limits_leave_the_placement_alone():
    """With limits the half-flit is the same as if the fields beyond them were not there."""

    async def body(bench):
        rng = bench.rng
        for _ in range(60):
            unc_req, req, unc_rsp, rsp = limits = [rng.randint(1, most) for most in NATURAL[:4]]
            requests, responses = random_fields(rng, rng.randint(0, 4), rng.randint(0, 8), 0.6)
            fewer = Scene(within(requests, req, unc_req), within(responses, rsp, unc_rsp))
            placed = []
            for scene in (Scene(requests, responses, limits=(*limits, 8)), fewer):
                await bench.form(Scene())  # leaves nothing behind: it is the Requests' turn
                placed.append((await bench.form(scene)).placed)
            assert placed[0] == placed[1]
            assert placed[0] or not (requests or responses)

    simulate(body)


@pytest.mark.req("TL-200", "TL-201")
def test_a_field_beyond_its_limit_holds_back_those_behind_it():
    async def body(bench):
        rng = bench.rng
        first, second, third = (
            make(rng=rng) for make in (uncompressed_request, uncompressed_request, compressed_request)
        )
        formed = await bench.form(Scene([first, second, third], limits=(1, 4, 4, 8, 8)))
        assert formed.requests == [first]
        fields = [compressed_request(rng=rng), compressed_request(rng=rng), uncompressed_request(rng=rng)]
        assert (await bench.form(Scene(fields, limits=(2, 1, 4, 8, 8)))).requests == fields[:1]

    simulate(body)


@pytest.mark.req("TL-130", "TL-131", "TL-133", "TL-134", "TL-136", "TL-145")
def test_allowances():
    async def body(bench):
        for requests, responses in product(range(5), (0, 1, 2, 3, 8)):
            await one_pair(bench, requests, responses)

    async def one_pair(bench, requests, responses):
        fields = (
            [compressed_request(rng=bench.rng) for _ in range(4)],
            [compressed_response(rng=bench.rng) for _ in range(8)],
        )
        formed = await bench.form(Scene(*fields, allowances=(requests, responses)))
        if 2 * requests + responses <= 8:
            assert formed.counts == (requests, responses, 0)
        assert bool(formed.requests) == bool(requests)
        assert formed.responses or not responses or formed.requests

    simulate(body)


def rate_limited(in_sight, make_request, make_response):
    """Numbers of Requests and Responses per half-flit if each flit has one, with so many in sight, under the RTL's
    source rate limits. The model's agree, and its catch buffers hold everything."""
    counts = []

    async def body(bench):
        models = RateLimit(REQUEST_LIMIT), RateLimit(RESPONSE_LIMIT)
        catch = CatchBuffer(REQUEST_LIMIT), CatchBuffer(RESPONSE_LIMIT)
        for requests, responses in in_sight:
            scene = Scene(
                [make_request(rng=bench.rng) for _ in range(requests)],
                [make_response(rng=bench.rng) for _ in range(responses)],
                allowances=tuple(bench.ctx.get(limit.allowance).bit_count() for limit in bench.rate_limits),
            )
            assert scene.allowances == tuple(model.allowance for model in models)
            formed = await bench.form(scene)
            counts.append(formed.counts[:2])
            for model, buffer, fields in zip(models, catch, (formed.requests, formed.responses)):
                model.flit(len(fields))
                buffer.flit(fields)

    simulate(body)
    return counts


@pytest.mark.req("TL-131", "TL-132", "TL-133", "TL-137", "TL-138", "TL-144")
def test_requests_at_the_source_rate_limit():
    """Tables 5-24 and 5-25: Requests in sight, where the table has fewer than the limit lets, and none."""
    table_5_24 = [(n, 0) for n in (4, 4, 4, 0, 4, 4)]
    sent = rate_limited(table_5_24, compressed_request, compressed_response)
    assert sent == [(n, 0) for n in (4, 1, 1, 0, 2, 1)]
    table_5_25 = [(n, 0) for n in (4, 0, 0, 0, 0, 4)]
    sent = rate_limited(table_5_25, compressed_request, compressed_response)
    assert sent == [(n, 0) for n in (4, 0, 0, 0, 0, 4)]


@pytest.mark.req("TL-134", "TL-135", "TL-136", "TL-139", "TL-144")
def test_responses_at_the_source_rate_limit():
    sent = rate_limited([(0, n) for n in (8, 8, 8, 0, 0, 8, 8)], compressed_request, compressed_response)
    assert sent == [(0, n) for n in (8, 1, 1, 0, 0, 3, 1)]


@pytest.mark.req("TL-130", "TL-145")
def test_both_at_their_source_rate_limits():
    """One of each kind leaves in every flit, and no more, in the long run."""
    sent = rate_limited([(4, 8)] * 20, compressed_request, compressed_response)
    assert sent[8:] == [(1, 1)] * 12


@pytest.mark.req("TL-047", "TL-052")
@pytest.mark.parametrize(
    "requests, responses, go",
    [
        (4, 0, (4, 0)),
        (0, 8, (0, 4)),
        (4, 8, (2, 2)),
        (4, 2, (2, 2)),
        (2, 8, (2, 2)),
        (1, 8, (1, 3)),
        (4, 1, (3, 1)),
        (3, 1, (3, 1)),
        (2, 2, (2, 2)),
        (1, 1, (1, 1)),
    ],
)
def test_four_fields_share_the_tags(requests, responses, go):
    async def body(bench):
        fields = random_fields(bench.rng, requests, responses, 1.0)
        assert (await bench.form(Scene(*fields, authentication=1))).counts[:2] == go

    simulate(body)


@pytest.mark.req("TL-050", "TL-051")
def test_fields_with_tags_wait_for_the_slot_after_a_swap():
    async def body(bench):
        fields = random_fields(bench.rng, 4, 8, 1.0)
        fc = [FC[0], FC[1], None, None, None]
        for _ in range(2):
            swapped = await bench.form(Scene(*fields, fc, authentication=1, swap=1))
            assert swapped.counts == (0, 0, 2)
        assert (await bench.form(Scene(*fields, authentication=1))).counts == (2, 2, 0)
        assert (await bench.form(Scene(*fields, swap=1))).counts[0] >= 2  # no rule without authentication

    simulate(body)


@pytest.mark.req("TL-051", "TL-215")
def test_a_swap_slot_does_not_cost_the_responses_their_turn():
    """Two uncompressed Requests leave no sector; the Responses come next, swap slots of others in between or not."""

    async def body(bench):
        rng = bench.rng
        for swaps in (0, 1, 3):
            fields = random_fields(rng, 2, 4, 0.0)
            assert (await bench.form(Scene(*fields, authentication=1))).counts == (2, 0, 0)
            for _ in range(swaps):
                await bench.form(Scene(*fields, authentication=1, swap=1))
            assert (await bench.form(Scene(*fields, authentication=1))).counts == (1, 2, 0)
            await bench.form(Scene())

    simulate(body)


@pytest.mark.req("TL-215")
@pytest.mark.parametrize("authentication", [0, 1])
@pytest.mark.parametrize("compressed", [0.0, 0.5, 1.0])
def test_nothing_starves_at_full_load(compressed, authentication):
    """A Request in every half-flit, a Response and a waiting FC field in every second one, whatever else waits."""

    async def body(bench):
        rng = bench.rng
        requests, responses = [], []
        unanswered = without_fc = 0
        for _ in range(60):
            more = random_fields(rng, 4 - len(requests), 8 - len(responses), compressed)
            requests, responses = requests + more[0], responses + more[1]
            scene = Scene(requests, responses, [FC[0], *[None] * 4], authentication=authentication)
            formed = await bench.form(scene)
            assert formed.requests
            unanswered = 0 if formed.responses else unanswered + 1
            without_fc = 0 if formed.fc else without_fc + 1
            assert unanswered <= 1 and without_fc <= FC_PATIENCE
            requests, responses = requests[len(formed.requests) :], responses[len(formed.responses) :]

    simulate(body)


@pytest.mark.req("TL-215")
@pytest.mark.parametrize("stalled", ["requests", "responses"])
def test_neither_kind_needs_the_other(stalled):
    """Without credits, or at its rate limit, a kind has nothing that may go; the other fills the half-flits."""

    async def body(bench):
        for allowances in ((0, 8), (4, 0)):
            fields = random_fields(bench.rng, 4, 8, 1.0)
            formed = await bench.form(Scene(*fields, allowances=allowances))
            assert formed.counts == (allowances[0], allowances[1], 0)
        formed = await bench.form(Scene([], fields[1]) if stalled == "requests" else Scene(fields[0], []))
        assert formed.counts == ((0, 8, 0) if stalled == "requests" else (4, 0, 0))

    simulate(body)


def test_urgent_flow_control_goes_at_once():
    async def body(bench):
        for compressed in (0.0, 1.0):
            for _ in range(6):
                fields = random_fields(bench.rng, 4, 8, compressed)
                formed = await bench.form(Scene(*fields, [FC[1], FC[3], None, None, None], urgent=1))
                assert FC[1] in formed.fc

    simulate(body)


def test_half_flits_that_are_not_taken_change_nothing():
    async def body(bench):
        fields = random_fields(bench.rng, 4, 8, 1.0)
        scene = Scene(*fields, [FC[0], *[None] * 4])
        for _ in range(5):
            assert (await bench.form(scene, pack=False)).counts[:2] == (3, 2)
        assert (await bench.form(scene)).counts == (3, 2, 0)
        for _ in range(5):
            assert (await bench.form(scene, pack=False)).counts[:2] == (2, 3)
        assert (await bench.form(scene)).counts == (2, 3, 1)

    simulate(body)
