"""Upsets of what the switch core holds: never wrong as good, and the error that the standard names."""

import re

import pytest

from support.switch.upsets import UpsetBench

LEAVES_BY = {"requests": "egress", "read_responses": "ingress", "write_responses": "ingress"}
"""The agent by which what goes through a plane leaves: Originator or Completer; it comes by the other one."""

STORES = {
    "requests.bank__.requests_.storage": (False,),
    "requests.bank__.data_.storage": (False, True),
    "requests.ingress_.steered_payload": (False,),
    "read_responses.bank__.buffer_.storage": (False, True),
    "write_responses.bank__.buffer_.storage": (False,),
}
"""Where a beat is whose egress port is known, and whether a bit of data is struck there, or one of control."""

LED_BY = ("requests.ingress_.request", "read_responses.ingress_.beat", "write_responses.ingress_.beat")
"""Where it is not known yet, if the beat is the first of its transfer."""

TRIES = 12


def kind_of(place) -> str:
    return re.sub(r"\d+", "", ".".join(place.path)).removeprefix("core.")


def number_of_ingress(place) -> int:
    name = next(name for name in reversed(place.path) if name.startswith(("ingress_", "requests_", "data_", "buffer_")))
    return int(name.rpartition("_")[2])


async def until_it_shows(bench, ctx, kind, of_data):
    """Strike a place of ``kind`` until one of the beats there is one that still had to go; the ingress, and what of."""
    place = bench.rng.choice([place for place in bench.places if kind_of(place) == kind])
    lost, poisoned = await bench.episode(ctx, place, of_data, tries=TRIES)
    assert bench.seen, f"{kind}: {TRIES} upsets of which nothing is seen"
    return number_of_ingress(place), lost, poisoned


@pytest.mark.req("RAS-030", "RAS-039", "RAS-040", "RAS-089", "RAS-117", "UPLI-257", "UPLI-298")
def test_the_error_is_that_of_the_agent_behind():
    """Of data: the beat arrives poisoned, nothing else happens. Of control: the agent by which it would have left drops
    until it is cleared. Neither shows as an error of the interface behind the core."""
    bench = UpsetBench("core")

    async def body(ctx):
        await bench.open_routes(ctx)
        for kind, classes in STORES.items():
            side = LEAVES_BY[kind.split(".")[0]]
            for of_data in classes:
                ingress, lost, poisoned = await until_it_shows(bench, ctx, kind, of_data)
                behind = side, 1 - ingress
                if of_data:
                    assert bench.seen == {("upset", *behind, "data")}, kind
                    assert not lost and poisoned, kind
                else:
                    assert bench.seen == {("upset", *behind, "control"), ("dropping", *behind)}, kind
                    assert lost, kind
        for kind in LED_BY:
            behind = LEAVES_BY[kind.split(".")[0]]
            before = "ingress" if behind == "egress" else "egress"
            ingress, lost, _ = await until_it_shows(bench, ctx, kind, False)
            shown = {(side, n) for what, side, n, *_ in bench.seen if what == "dropping"}
            assert lost and shown in ({(before, ingress)}, {(behind, 1 - ingress)}), kind
            assert bench.seen == {
                item for agent in shown for item in (("dropping", *agent), ("upset", *agent, "control"))
            }

    bench.simulate(body, bench.design)
