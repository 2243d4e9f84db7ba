"""Upsets of what the switch core remembers of beats: where they go, which comes next, how many there are.

CI strikes what beats are found by; ``make soak`` (UALINK_SOAK=1) all that planes remember.
"""

import os

import pytest

from support.switch.state_bench import StateBench

WHOLE = bool(os.environ.get("UALINK_SOAK"))

SOME = (
    "requests.bank__.requests_.following",
    "requests.bank__.requests_.came",
    "requests.bank__.data_.came",
    "requests.bank__.data_.free_rows.head_",
    "requests.bank__.kinds__.head_",
    "requests.ingress_.steered_where",
    "requests.ingress_.kept_where",
    "read_responses.bank__.lengths__.head_",
)
"""Of these the core finds each upset that strikes what is in use; CI strikes them."""

SHOWN = (
    *SOME,
    "requests.bank__.data_.following",
    "requests.bank__.data_.oldest_",
    "requests.bank__.requests_.next_number__",
    "requests.ingress_.steered_meant_not",
    "read_responses.bank__.buffer_.following",
    "read_responses.ingress_.steered_where",
    "write_responses.bank__.buffer_.oldest_",
    "write_responses.ingress_.steered_meant_not",
)
"""The same; ``make soak`` strikes all."""

TRIES = 16


@pytest.mark.soak
@pytest.mark.req("RAS-009", "RAS-014", "RAS-030")
def test_what_beats_are_found_by_is_found_to_be_wrong():
    """A Switch Core Control Error; and nothing wrong is good."""
    bench = StateBench("shown")
    for kind in SHOWN if WHOLE else SOME:
        for _ in range(TRIES):
            bench.strike_state(f"core.{kind}")
            if bench.seen:
                break
        assert {kind for what, *_, kind in bench.seen if what == "upset"} == {"control"}, kind


@pytest.mark.soak
@pytest.mark.req("RAS-009", "RAS-014", "RAS-030")
@pytest.mark.parametrize("seed", range(4 if WHOLE else 1))
def test_nothing_wrong_is_good(seed):
    """Whatever is upset of all that planes remember from the route table to the egress ports."""
    bench = StateBench(seed)
    assert len(bench.states) > 200
    kinds = list(bench.states) if WHOLE else bench.rng.sample(sorted(bench.states), 6)
    assert sum(bench.strike_state(kind) != "" for kind in kinds) == len(kinds)
