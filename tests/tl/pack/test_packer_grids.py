"""The packing arbiter forms the Control half-flits of the standard's packing examples, and under full load again and
again."""

import pytest

from support.packing_grids import AUTHENTICATED, control_items, is_control, rows
from support.tl.packer import simulate
from support.tl.packer_scene import (
    FC,
    Scene,
    compressed_request,
    compressed_response,
    uncompressed_request,
    uncompressed_response,
)
from support.tl.stimulus import ATOMIC_NR, ATOMIC_R, READ, WRITE, WRITE_FULL

COMMAND = {"R": READ, "W": WRITE, "WF": WRITE_FULL, "AR": ATOMIC_R, "AN": ATOMIC_NR}


def field_of(sectors, kind, rng):
    """A random field of ``kind`` as the grids write it."""
    name, beats = kind.rstrip("+0123456789"), kind.rstrip("+").lstrip("ANRFW")
    if name in ("WR", "RR"):
        make = uncompressed_response if sectors == 2 else compressed_response
        return make(int(beats or 0), rng=rng)
    make = uncompressed_request if sectors == 4 else compressed_request
    return make(COMMAND[name], beats=int(beats or 1), rng=rng)


# Tables whose Control half-flits the arbiter's choice of sectors gives, and the half-flits of them that it would place
# otherwise, within the rules: a lone FC field in another sector, a Request that could stand higher.
TABLES = ("5-5", "5-6", "5-9", "5-10", "5-11", "5-12 Tx", "5-12 Rx", *(f"5-{n}" for n in range(15, 25)))
ELSEWHERE = {("5-6", 4), ("5-10", 10), ("5-11", 10), ("5-23", 1), ("5-24", 1), ("5-24", 2)}


@pytest.mark.req("TL-006", "TL-008", "TL-009", "TL-010", "TL-011", "TL-012", "TL-013", "TL-014", "TL-047", "TL-053")
@pytest.mark.req("TL-054", "TL-125")
@pytest.mark.parametrize("table", TABLES)
def test_half_flits_of_the_standard(table):
    async def body(bench):
        formed_some = 0
        for n, (lower, _, allowance) in enumerate(rows(table)):
            if not is_control(lower) or (table, n) in ELSEWHERE:
                continue
            requests, responses, expected, flow_control = [], [], {}, []
            for sector, sectors, _, kind in sorted(control_items(lower)):
                control = field_of(sectors, kind, bench.rng) if kind else FC[0]
                expected[sector] = control
                if control.is_request:
                    requests.append(control)
                elif control.is_response:
                    responses.append(control)
                else:
                    flow_control.append(control)
            formed = await bench.form(
                Scene(
                    requests,
                    responses,
                    [*flow_control, *[None] * 5][:5],
                    allowances=(allowance or 4, 8),
                    authentication=int(table in AUTHENTICATED),
                    urgent=int(bool(flow_control)),
                )
            )
            assert dict(formed.placed) == expected
            formed_some += 1
        assert formed_some

    simulate(body)


async def saturate(bench, make_request, make_response, *, half_flits=12, allowances=(4, 8), **scene):
    """Always four Requests, eight Responses and an FC field in sight; what each half-flit holds."""
    rng, formed = bench.rng, []
    requests, responses = [], []
    for _ in range(half_flits):
        requests += [make_request(rng) for _ in range(4 - len(requests))]
        responses += [make_response(rng) for _ in range(8 - len(responses))]
        formed.append(await bench.form(Scene(requests, responses, [FC[0], *[None] * 4], allowances, **scene)))
        del requests[: len(formed[-1].requests)]
        del responses[: len(formed[-1].responses)]
    return formed


def requests_of(make, *commands):
    """Requests of four beats, each of any of ``commands``."""
    return lambda rng: make(rng.choice(commands), beats=4, rng=rng)


def responses_of(make, *beats):
    """Responses, each of any number of ``beats``."""
    return lambda rng: make(rng.choice(beats), rng=rng)


# What waits, and (Requests, Responses, FC fields) of the half-flits that come again and again.
LOADS = {
    "none, uncompressed": (
        requests_of(uncompressed_request, WRITE_FULL),
        responses_of(uncompressed_response, 0),
        [(1, 1, 1), (1, 2, 0), (1, 1, 1), (2, 0, 0)],
    ),
    "5-16": (
        requests_of(uncompressed_request, WRITE_FULL),
        responses_of(compressed_response, 0),
        [(2, 0, 0), (1, 3, 1)],
    ),
    "5-18": (requests_of(compressed_request, WRITE_FULL), responses_of(compressed_response, 0), [(3, 2, 0), (2, 3, 1)]),
    "5-20": (requests_of(compressed_request, READ), responses_of(compressed_response, 4), [(3, 2, 0), (2, 3, 1)]),
    "5-22": (
        requests_of(compressed_request, READ, WRITE_FULL),
        responses_of(compressed_response, 0, 4),
        [(3, 2, 0), (2, 3, 1)],
    ),
}


@pytest.mark.req("TL-013", "TL-130")
@pytest.mark.parametrize("table", LOADS)
def test_full_load_packs_like_the_table(table):
    make_request, make_response, counts = LOADS[table]

    async def body(bench):
        formed = await saturate(bench, make_request, make_response)
        found = [each.counts for each in formed[1:]]
        assert found in [(counts * 6)[first : first + len(found)] for first in range(len(counts))]

    simulate(body)


@pytest.mark.req("TL-047", "TL-052", "TL-053")
@pytest.mark.parametrize("command, beats", [(WRITE_FULL, 0), (READ, 4)])
def test_full_load_with_authentication(command, beats):
    """Tables 5-19 and 5-21: two Requests, two Responses and Flow Control in every half-flit."""

    async def body(bench):
        formed = await saturate(
            bench,
            requests_of(compressed_request, command),
            responses_of(compressed_response, beats),
            authentication=1,
        )
        for each in formed:
            assert each.counts == (2, 2, 1)
            assert [(sector, control.sectors) for sector, control in each.placed] == [
                (0, 1),
                (2, 1),
                (3, 1),
                (4, 2),
                (6, 2),
            ]

    simulate(body)


@pytest.mark.req("TL-013")
@pytest.mark.parametrize("make", [compressed_request, uncompressed_request])
def test_requests_alone_fill_the_half_flit(make):
    async def body(bench):
        most = 4 if make is compressed_request else 2
        for _ in range(4):
            scene = Scene([make(READ, beats=4, rng=bench.rng) for _ in range(4)])
            assert (await bench.form(scene)).counts == (most, 0, 0)

    simulate(body)


@pytest.mark.req("TL-013")
@pytest.mark.parametrize("make", [compressed_response, uncompressed_response])
def test_responses_alone_fill_the_half_flit(make):
    async def body(bench):
        most = 8 if make is compressed_response else 4
        for _ in range(4):
            scene = Scene([], [make(0, rng=bench.rng) for _ in range(8)])
            assert (await bench.form(scene)).counts == (0, most, 0)

    simulate(body)
