"""The whole PCS over lanes that are late, crossed, damaged and cut off, against the executable model."""

import os
from pathlib import Path

import pytest

from support.phy.pcs import bench_top
from support.phy.pcs.bench_top import BenchTop
from ualink.emit.verilog import to_verilog
from ualink_sim.simulator import build_once

pytestmark = pytest.mark.xdist_group("pcs")


@pytest.fixture(scope="module")
def model():
    """One Verilated model with a PCS of each number of lanes."""

    def sources() -> dict[str, str]:
        return {"pcs_bench.v": to_verilog(BenchTop(), "pcs_bench")}

    return build_once(sources, "pcs_bench", Path(bench_top.__file__).read_text())


def run(model, stories: str, story: str, lanes: str = "1,4", **environment: str) -> None:
    model.run(f"support.phy.pcs.loop_{stories}", testcase=story, environment={"LANES": lanes, **environment})


@pytest.mark.req("PHY-018", "PHY-031", "PHY-045", "PHY-051", "PHY-053")
def test_sends_what_the_model_sends(model):
    run(model, "stories", "sends_what_the_model_sends", "1,2,4")


@pytest.mark.req("PHY-018", "PHY-033", "PHY-045", "PHY-051", "PHY-055")
def test_receives_over_crossed_and_late_lanes(model):
    run(model, "stories", "receives_over_crossed_and_late_lanes", "1,2,4")


@pytest.mark.req("PHY-033", "PHY-055")
@pytest.mark.parametrize(
    ("stories", "story"),
    [
        ("stories", "follows_damage_as_the_model_does"),
        ("lock_stories", "four_missing_markers_are_overwritten_all_the_same"),
    ],
)
def test_expected_markers_are_overwritten_and_the_rest_is_as_received(model, stories, story):
    run(model, stories, story)


@pytest.mark.req("PHY-033", "PHY-055", "PHY-106")
@pytest.mark.parametrize(
    "story",
    [
        "five_missing_markers_lose_the_lock",
        "a_slip_is_noticed_and_healed",
        "a_lane_without_signal_is_a_local_fault",
        "bad_headers_are_counted_and_many_are_a_fault",
        "too_much_skew_is_never_taken_for_alignment",
        "two_lanes_of_the_same_number_are_never_aligned",
    ],
)
def test_without_alignment_there_is_local_fault(model, story):
    run(model, "lock_stories", story)


@pytest.mark.parametrize(
    "story",
    [
        "a_core_that_stops_is_told_and_all_lanes_begin_anew",
        "lanes_begin_together_once_all_are_ready",
        "data_that_look_like_markers_mislead_nobody",
    ],
)
def test_hard_times(model, story):
    run(model, "hard_stories", story)


@pytest.mark.req("PHY-061", "PHY-063", "PHY-064", "PHY-065", "PHY-111")
@pytest.mark.parametrize("story", ["a_faster_partner_loses_idles_only", "a_slower_partner_gains_idles_only"])
def test_rates_are_matched(model, story):
    run(model, "rate_stories", story, "1")


SHORT = [
    pytest.param("stories", "sends_what_the_model_sends", "1,2", marks=pytest.mark.req("PHY-018", "PHY-053")),
    pytest.param("stories", "receives_over_crossed_and_late_lanes", "1,2", marks=pytest.mark.req("PHY-055")),
    pytest.param("stories", "follows_damage_as_the_model_does", "1,2", marks=pytest.mark.req("PHY-033")),
    pytest.param("lock_stories", "five_missing_markers_lose_the_lock", "1"),
    pytest.param("lock_stories", "a_lane_without_signal_is_a_local_fault", "1", marks=pytest.mark.req("PHY-106")),
    pytest.param("hard_stories", "a_core_that_stops_is_told_and_all_lanes_begin_anew", "1,2"),
]
"""What words of fewer blocks are put together and taken apart by."""
SHORT_AT_LENGTH = [
    ("lock_stories", "four_missing_markers_are_overwritten_all_the_same", "1,2"),
    ("lock_stories", "a_slip_is_noticed_and_healed", "1,2"),
    ("lock_stories", "bad_headers_are_counted_and_many_are_a_fault", "1"),
    ("lock_stories", "too_much_skew_is_never_taken_for_alignment", "2"),
    ("hard_stories", "lanes_begin_together_once_all_are_ready", "1,2"),
]
"""What is the same whatever the words are; ``make soak`` (UALINK_SOAK=1)."""


@pytest.mark.soak
@pytest.mark.parametrize(
    ("stories", "story", "lanes"), [*SHORT, *SHORT_AT_LENGTH] if os.environ.get("UALINK_SOAK") else SHORT
)
def test_words_of_fewer_than_eight_blocks(model, stories, story, lanes):
    """One lane and two blocks, two lanes and four."""
    run(model, stories, story, lanes, SHORT_WORDS="1")
