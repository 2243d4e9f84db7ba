"""The packing arbiter on random fields: every half-flit is legal, says what was taken, and wastes no room."""

import pytest

from support.tl.packer import simulate
from support.tl.packer_scene import FC, NATURAL, Scene, is_compressed, random_fields
from ualink.config import TLConfig


def pairs_of_responses(responses, start):
    """Pairs of sectors that Responses cover from sector ``start`` on, each as low as it may."""
    top = start
    for control in responses:
        top = (top if is_compressed(control) else top + top % 2) + control.sectors
    return (top + 1) // 2


def requests_fit(requests):
    """Requests one above the other: an uncompressed one covers a quad, so none stands between two compressed ones
    that have to share the quads with it."""
    quads = "".join("C" if is_compressed(control) else "U" for control in requests)
    return quads in ("", "C", "CC", "CCC", "CCCC", "U", "UU", "CU", "CCU", "UC", "UCC")


def all_fits(scene, start=0):
    pairs = sum(control.sectors for control in scene.requests) // 2
    return requests_fit(scene.requests) and pairs + pairs_of_responses(scene.responses, start) <= 4


@pytest.mark.req(
    *("TL-005", "TL-006", "TL-008", "TL-009", "TL-010", "TL-011", "TL-012", "TL-013", "TL-014", "TL-022", "TL-023"),
    *("TL-038", "TL-046", "TL-052", "TL-125", "TL-130", "TL-131", "TL-134", "TL-145"),
)
@pytest.mark.parametrize("compressed", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("authentication", [0, 1])
def test_random_half_flits(compressed, authentication):
    async def body(bench):
        rng = bench.rng
        for _ in range(80):
            fields = random_fields(rng, rng.randint(0, 4), rng.choice((0, 1, 2, 3, 5, 8)), compressed)
            scene = Scene(
                *fields,
                fc=waiting_fc(rng.choice((0, 0, 1, 1, 2, 3, 5))),
                allowances=(rng.randint(0, 4), rng.randint(0, 8)),
                limits=tuple(rng.randint(0, limit) for limit in NATURAL) if rng.random() < 0.3 else NATURAL,
                swap=rng.getrandbits(1),
                authentication=authentication,
                urgent=rng.getrandbits(1),
                complete=int(rng.random() < 0.1),
                shared_data=rng.getrandbits(1),
            )
            formed = await bench.form(scene, pack=rng.random() < 0.8)
            request_can, response_can = scene.can_go()
            assert bool(formed.requests) == request_can  # in every half-flit
            assert formed.responses or formed.requests or not response_can

    simulate(body)


def waiting_fc(number):
    """So many FC fields wait."""
    return [*FC[:number], *[None] * (5 - number)]


@pytest.mark.req("TL-013")
@pytest.mark.parametrize("compressed", [0.3, 0.8])
def test_all_goes_if_it_fits(compressed):
    fitting = []

    async def body(bench):
        rng = bench.rng
        for _ in range(150):
            scene = Scene(
                *random_fields(rng, rng.randint(0, 4), rng.randint(0, 5), compressed),
                fc=rng.choice(([None] * 5, [FC[0], *[None] * 4])),
                urgent=rng.getrandbits(1),
            )
            due = scene.urgent and any(scene.fc)
            formed = await bench.form(scene)
            if all_fits(scene, start=int(any(scene.fc))):
                assert formed.counts[:2] == (len(scene.requests), len(scene.responses))
                fitting.append(scene)
            if due:
                assert formed.fc == [FC[0]]

    simulate(body)
    assert len(fitting) > 30


@pytest.mark.req("TL-023")
@pytest.mark.parametrize("waiting", [1, 2, 3, 4, 5])
def test_flow_control_rides_along(waiting):
    fc = waiting_fc(waiting)

    async def body(bench):
        rng = bench.rng
        for requests, responses in ((0, 0), (0, 3), (1, 0), (2, 0), (1, 1), (0, 0)):
            formed = await bench.form(Scene(*random_fields(rng, requests, responses, 1.0), fc=fc))
            free = 8 - 2 * requests - responses
            assert len(formed.fc) == min(waiting, free)

    simulate(body)


@pytest.mark.req("TL-167")
@pytest.mark.parametrize("shared_data", [0, 1])
def test_initial_credit_release_complete_goes_alone(shared_data):
    async def body(bench):
        rng = bench.rng
        scene = Scene(*random_fields(rng, 2, 2), fc=FC, complete=1, shared_data=shared_data)
        for pack in (False, True):
            formed = await bench.form(scene, pack)
            assert formed.counts == (0, 0, 0)

    simulate(body)


def test_without_the_path_of_tags_there_is_no_authentication():
    async def body(bench):
        scene = Scene(*random_fields(bench.rng, 0, 8, 1.0), authentication=1, swap=1)
        bench.show(scene, pack=True)
        counts = bench.ctx.get(bench.dut.counts)
        await bench.ctx.tick()
        assert (counts.responses, counts.tagged, bench.ctx.get(bench.dut.content.tags)) == (8, 0, 0)

    simulate(body, config=TLConfig(authentication=False))
