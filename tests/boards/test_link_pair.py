"""Two boards with the design ``link``: from lanes to traffic, through bit errors, and back after the cable was out."""

import json
import os
from pathlib import Path

import pytest

import ualink_boards
from boards import link_pair
from boards.link_pair import ENDS, LinkPair
from ualink.verilog import to_verilog
from ualink_sim import serdes_cable
from ualink_sim.simulator import build_once

REQUESTS = 50_000 if os.environ.get("UALINK_SOAK") else 400
"""Of each board, with and without bit errors, and again after the cable was out."""
FILL = 64
"""Requests of four lines that fill the 256 lines of a board's memory."""
ERRORS = 1 << 21
"""One word of 40 bits in 2048 has a wrong bit: one flit in 16 or so."""
STEPS = ("up", "filled", "mixed", "noisy", "pulled", "back", "again")
WRONG = (
    "wrong_bytes_low",
    "unexpected_tags",
    "duplicate_responses",
    "late_responses",
    "wrong_channels",
    "misrouted_responses",
    "beat_errors",
    "status_errors",
    "poisoned_beats",
    "time_outs",
)


def simulate(folder):
    """What both boards' counters said, step by step."""
    pair = LinkPair()
    paths = [Path(link_pair.__file__), Path(serdes_cable.__file__)]
    paths += sorted(Path(ualink_boards.__file__).parent.glob("**/*.py"))
    texts = [path.read_text() for path in paths]
    model = build_once(lambda: {"link_pair.v": to_verilog(pair, "link_pair")}, "link_pair", "\0".join(texts))
    job = {
        "registers": pair.designs["a"].registers.to_dict(),
        "results": str(folder / "results.json"),
        "requests": REQUESTS,
        "errors": ERRORS,
    }
    path = folder / "job.json"
    path.write_text(json.dumps(job))
    model.run("boards.link_pair_bench", environment={"LINK_PAIR": str(path)})
    return json.loads(Path(job["results"]).read_text())


def gained(told, step, board, name):
    """What the counter ``name`` of ``board`` counted in ``step``."""
    before = STEPS[STEPS.index(step) - 1]
    return told[step][board][name] - told[before][board][name]


def every_step_was_reached(told):
    assert tuple(told) == STEPS and all(len(boards) == len(ENDS) for boards in told.values())


def every_request_is_answered_and_every_byte_is_right(told, board):
    assert gained(told, "filled", board, "requests_low") == 2 * FILL
    for step in ("mixed", "noisy"):
        assert gained(told, step, board, "requests_low") == REQUESTS
    for step in ("filled", "mixed", "noisy", "again"):
        assert told[step][board]["responses_low"] == told[step][board]["requests_low"]
    # The engine forgot what it knew when the cable was out.
    assert told["again"][board]["requests_low"] - told["back"][board]["requests_low"] == FILL + REQUESTS
    for step in STEPS:
        assert {name: told[step][board][name] for name in WRONG} == dict.fromkeys(WRONG, 0), step


def a_clean_cable_costs_no_flit(told, board):
    for step in ("up", "filled", "mixed"):
        seen = told[step][board]
        assert seen["crc_errors"] == seen["lost_flits"] == seen["received_bad"] == seen["replays_accepted"] == 0
        assert seen["starved"] == 0
    # What one board sends as data the other one receives as that, or is about to.
    sent, received = told["mixed"][1 - board]["flits_sent"], told["mixed"][board]["received_data"]
    assert told["mixed"][board]["received_marker"] > 0 and abs(received - sent) < 0.1 * sent


def markers_come_as_often_as_they_have_to(told, board):
    slots = {name: gained(told, "mixed", board, name) for name in ("received_marker", "received_data")}
    assert slots["received_marker"] == pytest.approx(slots["received_data"] / 15, abs=2), "one slot in 16"


def bit_errors_are_counted_and_mended(told, board):
    assert gained(told, "noisy", board, "crc_errors") + gained(told, "noisy", board, "lost_flits") > 0
    assert gained(told, "noisy", board, "replays_accepted") > 0
    assert gained(told, "noisy", board, "link_downs") == 0


def the_link_goes_down_with_the_cable_and_comes_back(told, board):
    assert gained(told, "pulled", board, "link_downs") == 1 and gained(told, "pulled", board, "fault_change") >= 1
    assert gained(told, "again", board, "link_downs") == 0
    assert gained(told, "back", board, "fault_change") >= 1
    assert gained(told, "again", board, "crc_errors") == 0


@pytest.mark.req("PHY-016", "PHY-020", "PHY-038", "PHY-040", "PHY-043", "PHY-046", "RAS-116")
def test_two_boards(tmp_path):
    told = simulate(tmp_path)
    every_step_was_reached(told)
    for board in range(len(ENDS)):
        every_request_is_answered_and_every_byte_is_right(told, board)
        a_clean_cable_costs_no_flit(told, board)
        markers_come_as_often_as_they_have_to(told, board)
        bit_errors_are_counted_and_mended(told, board)
        the_link_goes_down_with_the_cable_and_comes_back(told, board)
