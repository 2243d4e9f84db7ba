"""Two boards with the design ``link``: from lanes to traffic, through bit errors, and back after the cable was out.

The wires between them are recorded and read with the executable model; what it finds must be what the boards count.
"""

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from support.boards.link_capture import Judged, judge
from support.boards.link_wire import INTERFACES, Wires, read_wires, write_excerpt
from support.sim.dissector import assert_dissector_agrees
from ualink_boards.boards import find_board
from ualink_boards.link_pair import BOARD, ENDS, PHY, LinkPair, link_pair_model
from ualink_sim.model.phy.rs_receive import Heard

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("link_pair")]

WHOLE = bool(os.environ.get("UALINK_SOAK"))
REQUESTS = 17_000 if WHOLE else 400
"""Of each board, with and without bit errors, and again after the cable was out: 102,000 in all, or a slice."""
FILL = 64
"""Requests of four lines that fill the 256 lines of a board's memory."""
UALINK = (sys.executable, "-c", "from ualink.cli import main; main()")
DISSECTED = {"before": 8_000, "after": 800}
"""Flits that tshark reads: among bit errors, until the cable goes out, and from when it is back."""
ERRORS = 1 << 21
"""One word of 40 bits in 2048 has a wrong bit: one flit in 16 or so."""
PPM = 100
"""The clocks of board a are too fast by so many millionths, those of b too slow."""
STEPS = ("up", "filled", "mixed", "noisy", "pulled", "back", "again")
BOARDS = range(len(ENDS))
LOCKED = 1 << 4
"""The LED that shows the link."""
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


@dataclass
class Told:
    """Counters of both boards step by step, events by time in us, and what was seen on the wires, of which there is a
    ``capture``."""

    steps: dict[str, list[dict[str, float]]]
    events: list[tuple[float, str, int]]
    wires: Wires
    capture: Path
    judged: Judged

    def gained(self, step: str, board: int, name: str) -> float:
        """What the counter ``name`` of ``board`` counted in ``step``."""
        before = STEPS[STEPS.index(step) - 1]
        return self.steps[step][board][name] - self.steps[before][board][name]

    def event(self, what: str, value: int, after: float = 0) -> float:
        """When it happened first after a time."""
        return next(time for time, *event in self.events if event == [what, value] and time > after)

    def link(self, board: int, *, up: bool, after: float) -> float:
        """When the LED of a board showed next that the link is up, or is not."""
        return next(
            time
            for time, what, leds in self.events
            if what == ENDS[board] and bool(leds & LOCKED) == up and time > after
        )


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("link_pair")
    board = find_board(BOARD)
    job = {
        "registers": LinkPair().designs["a"].registers.to_dict(),
        "clocks": {"station": board.station_hz, "words": board.line_rate // board.width},
        "results": str(folder / "results.json"),
        "wires": str(folder / "wires"),
        "requests": REQUESTS,
        "errors": ERRORS,
        "ppm": PPM,
    }
    (folder / "job.json").write_text(json.dumps(job))
    link_pair_model().run("support.boards.link_pair_bench", environment={"LINK_PAIR": str(folder / "job.json")})
    found = json.loads((folder / "results.json").read_text())
    capture = folder / "capture.pcapng"
    wires = read_wires(folder / "wires", capture, PHY)
    (folder / "wires").unlink()
    return Told(**found, wires=wires, capture=capture, judged=judge(capture))


class Printed(NamedTuple):
    """Of a transaction that ``ualink decode`` prints: when it was asked for, and bytes of data each way."""

    requested_ps: int
    sent: int
    received: int


@dataclass
class Decoded:
    """What ``ualink decode`` prints of the capture, told by interface: flits, those with bad CRC, those with another
    problem, and by direction transactions with a Response."""

    flits: Counter[str] = field(default_factory=Counter)
    bad_crc: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    done: dict[str, list[Printed]] = field(default_factory=lambda: defaultdict(list))

    def see(self, row) -> None:
        """The next line."""
        if row["type"] == "flit":
            self.flits[row["interface"]] += 1
            self.bad_crc[row["interface"]] += not row["crc_ok"]
            self.problems[row["interface"]] += row["crc_ok"] and bool(row["problems"])
        elif row["status"] is not None:
            sizes = (len(bytes.fromhex(row[name])) for name in ("sent", "received"))
            self.done[row["interface"].partition("/")[0]].append(Printed(row["requested_ps"], *sizes))


@pytest.fixture(scope="module")
def decoded(told):
    """Line by line, as of a long run there are more than fit into memory."""
    command = [*UALINK, "decode", "--json", str(told.capture)]
    found = Decoded()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            found.see(json.loads(line))
    assert process.returncode == 0
    return found


def sent_by(board):
    """The direction in the capture in which ``board`` sends."""
    return INTERFACES[f"sent_{ENDS[board]}"].partition("/")[0]


def test_every_step_is_reached(told):
    assert tuple(told.steps) == STEPS and all(len(boards) == len(ENDS) for boards in told.steps.values())


@pytest.mark.parametrize("board", BOARDS)
def test_every_request_is_answered_and_every_byte_is_right(told, board):
    assert told.gained("filled", board, "traffic.requests_low") == 2 * FILL
    for step in ("mixed", "noisy"):
        assert told.gained(step, board, "traffic.requests_low") == REQUESTS
    for step in ("filled", "mixed", "noisy", "again"):
        seen = told.steps[step][board]
        assert seen["traffic.responses_low"] == seen["traffic.requests_low"]
    # The engine forgot what it knew when the cable was out.
    assert told.gained("again", board, "traffic.requests_low") == FILL + REQUESTS
    for step in STEPS:
        seen = told.steps[step][board]
        assert {name: seen[f"traffic.{name}"] for name in WRONG} == dict.fromkeys(WRONG, 0), step


@pytest.mark.req("PHY-020")
@pytest.mark.parametrize("board", BOARDS)
def test_a_clean_cable_costs_no_flit(told, board):
    for step in ("up", "filled", "mixed"):
        seen = told.steps[step][board]
        lost = [seen[name] for name in ("dl.crc_errors", "dl.lost_flits", "phy.received_bad", "dl.replays_accepted")]
        assert lost == [0] * 4 and seen["phy.starved"] == 0 and seen["phy.bad_headers"] == 0
    # What one board sends as data the other one receives as that, or is about to.
    sent, received = told.steps["mixed"][1 - board]["dl.flits_sent"], told.steps["mixed"][board]["phy.received_data"]
    assert told.steps["mixed"][board]["phy.received_marker"] > 0 and abs(received - sent) < 0.1 * sent


@pytest.mark.req("PHY-043", "PHY-046")
@pytest.mark.parametrize("board", BOARDS)
def test_markers_come_as_often_as_they_have_to(told, board):
    markers, data = (told.gained("mixed", board, f"phy.received_{kind}") for kind in ("marker", "data"))
    assert markers == pytest.approx(data / 15, abs=2), "one slot in 16"


@pytest.mark.parametrize("board", BOARDS)
def test_the_partners_clock_shows_in_the_slots_that_come(told, board):
    """A board sends slots at its own rate and receives them at its partner's: nothing is put in or left out between."""
    counts = {"sent": 0.0, "received": 0.0}
    for first, last in (("up", "mixed"), ("back", "again")):
        for name in ("sent_data", "sent_control", "received_data", "received_marker"):
            gained = told.steps[last][board][f"phy.{name}"] - told.steps[first][board][f"phy.{name}"]
            counts[name.partition("_")[0]] += gained
    difference = counts["received"] - counts["sent"]
    expected = 2 * PPM * 1e-6 * counts["sent"] * (1 if board else -1)
    # Each of the four readings may have a slot just begun.
    assert difference == pytest.approx(expected, abs=2.5)
    if WHOLE:
        assert difference * expected > 0 and abs(expected) > 5


@pytest.mark.parametrize("board", BOARDS)
def test_the_counters_of_errors_are_those_of_the_bits_that_were_flipped(told, board):
    first, last = (told.steps[step][board]["phy.us"] * 1e6 for step in ("mixed", "noisy"))
    flips = [bits for time, bits in told.wires.flipped[ENDS[board]] if first < time < last]
    words = sum(1 for _ in flips) * 132
    # They are there for two thirds of the step or more.
    assert sum(flips) > 0.25 * words * ERRORS / (1 << 32)
    tap = told.wires.taps[f"heard_{ENDS[board]}"]
    bad_slots = [slot for slot in tap.slots if first < slot.time_ps < last and slot.heard is Heard.BAD]
    headers = [bad for time, bad in tap.bad_headers if time < last][-1]
    damaged = [time for time in told.judged.damaged[sent_by(1 - board)] if first < time < last]
    assert (
        told.gained("noisy", board, "phy.bad_headers"),
        told.gained("noisy", board, "phy.received_bad"),
        told.gained("noisy", board, "dl.lost_flits"),
        told.gained("noisy", board, "dl.crc_errors"),
    ) == (headers, len(bad_slots), len(bad_slots), len(damaged))
    assert damaged
    replays = [time for time in told.judged.replays[sent_by(board)] if first < time < last]
    assert told.gained("noisy", board, "dl.replays_accepted") == len(replays) > 0
    assert told.gained("noisy", board, "dl.link_downs") == 0


@pytest.mark.req("PHY-016", "PHY-038", "PHY-040", "RAS-116")
@pytest.mark.parametrize("board", BOARDS)
def test_the_link_goes_down_with_the_cable_and_comes_back(told, board):
    assert told.gained("pulled", board, "dl.link_downs") == 1 and told.gained("pulled", board, "phy.fault_change") >= 1
    assert told.gained("again", board, "dl.link_downs") == 0
    assert told.gained("back", board, "phy.fault_change") >= 1
    assert told.gained("again", board, "dl.crc_errors") == 0
    cut = told.event("cut", 1)
    back = told.event("cut", 0, cut)
    assert cut < told.link(board, up=False, after=cut) < cut + 100
    assert back < told.link(board, up=True, after=back) < back + 1000


@pytest.mark.parametrize("board", BOARDS)
def test_transactions_on_the_wires_are_those_of_the_engine(told, board):
    cut = told.event("cut", 1) * 1e6
    pulled, noisy, again = (told.steps[step][board] for step in ("pulled", "noisy", "again"))
    done = told.judged.done[sent_by(board)]
    assert all(one.status == 0 and one.clean for one in done)
    for last, first_ps, last_ps in (
        (noisy, 0, noisy["traffic.us"] * 1e6),
        (again, pulled["traffic.us"] * 1e6, again["traffic.us"] * 1e6),
    ):
        these = [one for one in done if first_ps < one.requested_ps < last_ps]
        assert len(these) == last["traffic.requests_low"]
        assert sum(one.sent for one in these) == last["traffic.bytes_sent_low"]
        assert sum(one.received for one in these) == last["traffic.bytes_received_low"]
    # Nothing is open but what was asked for when the cable went.
    assert all(cut - 100e6 < time < cut + 100e6 for time in told.judged.unanswered[sent_by(board)])


@pytest.mark.req("DL-131", "DL-140", "DL-141")
@pytest.mark.parametrize("board", BOARDS)
def test_the_capture_passes_the_checks_of_every_capture(told, board):
    """That no flit breaks a rule and that what is received is what was sent was asserted when the capture was read."""
    check = told.judged.directions[sent_by(board)]
    again = told.steps["again"][board]
    assert check.transmitter.restarts == 1
    # What was sent while the counters were read is more.
    assert 0 <= check.transmitter.flits - again["phy.sent_data"] < 250
    # One may have been taken in a slot in which the fault of the cable was sent instead.
    assert again["dl.payload_flits_sent"] - check.transmitter.payload_flits in (0, 1)
    assert check.received > 2 * REQUESTS and check.in_flight <= 2


def test_the_command_prints_every_flit_that_was_on_the_wires(told, decoded):
    slots = {name: told.wires.taps[tap].slots for tap, name in INTERFACES.items()}
    assert decoded.flits == {name: sum(slot.heard is Heard.GOOD for slot in seen) for name, seen in slots.items()}
    assert not +decoded.problems
    damaged = {INTERFACES[f"heard_{ENDS[board]}"]: told.steps["again"][board]["dl.crc_errors"] for board in BOARDS}
    assert +decoded.bad_crc == damaged


@pytest.mark.parametrize("board", BOARDS)
def test_the_command_prints_every_transaction_of_the_engine(told, decoded, board):
    noisy, pulled, again = (told.steps[step][board] for step in ("noisy", "pulled", "again"))
    done = decoded.done[sent_by(board)]
    # The engine forgot what it knew when the cable was out.
    before = [one for one in done if one.requested_ps < noisy["traffic.us"] * 1e6]
    after = [one for one in done if one.requested_ps > pulled["traffic.us"] * 1e6]
    for these, seen in ((before, noisy), (after, again)):
        assert len(these) == seen["traffic.requests_low"]
        assert sum(one.sent for one in these) == seen["traffic.bytes_sent_low"]
        assert sum(one.received for one in these) == seen["traffic.bytes_received_low"]


def test_the_dissector_reads_it_alike(told, tmp_path):
    """Flit by flit, among them damaged ones and those with which the link restarts."""
    excerpt = tmp_path / "excerpt.pcapng"
    write_excerpt(told.capture, excerpt, told.event("cut", 1) * 1e6, **DISSECTED)
    packets = assert_dissector_agrees(excerpt, tmp_path)
    assert len(packets) == sum(DISSECTED.values())
    assert any(packet["ualink.state"] == "bad_crc" for packet in packets)
    assert sum("restart" in packet["ualink.note"] for packet in packets) == len(INTERFACES)
