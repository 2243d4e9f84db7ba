"""``ualink board`` on the design ``link``, whose RTL is simulated behind a pseudo-terminal with a loopback plug."""

import json

import pytest
from click.testing import CliRunner

from support.boards.waiting import TIMEOUT, until
from ualink.cli import main
from ualink_boards.console import actions
from ualink_boards.console.board import open_board
from ualink_boards.console.serial_bus import SerialBus
from ualink_boards.console.simulated import simulated_board

pytestmark = pytest.mark.xdist_group("link_pair")

REST_AFTER = 40_000
BLOCKS = 16
FILL = ("identity.own=1", "destination.first=1", "region=4", "new_seed=5", "old_seed=5", "mix=0", "mode=0")
"""Settings of a run that writes the first blocks of the board's own memory."""


@pytest.fixture(scope="module")
def port():
    """The port of a board that all tests use, one after the other."""
    with simulated_board("link", rest_after=REST_AFTER) as path:
        yield path


@pytest.fixture
def board(port):
    """The board at it, whose link is up."""
    with SerialBus(port, timeout=TIMEOUT) as bus:
        board = open_board(bus, design="link")
        until(board, "phy.status.aligned")
        actions.poke(board, ["dl.link_control.enable=1"])
        until(board, "tl.status.credits_ready")
        yield board


def traffic(board, *settings):
    """A run of the traffic engine, and its counters since it was cleared."""
    actions.poke(board, ["traffic.clear.start=1"])
    actions.start_traffic(board, [*FILL, f"requests={BLOCKS}", "mode.size=3", *settings])
    until(board, "traffic.run.start", 0)
    return board.snapshot(board.table.windows["traffic"])


def test_traffic_fills_the_own_memory_over_the_plug_and_finds_it_right(board):
    filled = traffic(board)
    assert filled["requests"] == filled["responses"] == filled["served_requests"] == BLOCKS
    assert traffic(board, "mode.verify=1", "mode.check=1")["wrong_bytes"] == 0
    # Data of another seed are not those that were written.
    other = traffic(board, "mode.verify=1", "mode.check=1", "new_seed=6", "old_seed=6")
    assert other["bytes_received"] == BLOCKS * 256 and other["wrong_bytes"] > 0.9 * BLOCKS * 256


def test_errors_that_are_injected_are_counted(board):
    window = board.table.windows["dl"]
    before = board.snapshot(window)
    assert actions.inject(board, "sent_crc", 2) == ["dl"]
    assert traffic(board)["responses"] == BLOCKS
    after = board.snapshot(window)
    # The link is idle when they are injected: what is damaged are NOP flits, which nobody asks for again.
    expected = {"crc_errors": 2, "replays_requested": 0, "lost_flits": 0, "link_downs": 0}
    assert {name: after[name] - before[name] for name in expected} == expected


def test_the_command_shows_the_link_and_starts_and_stops_traffic(board, port):
    board.bus.close()

    def run(*arguments):
        result = CliRunner().invoke(main, ["board", "--port", port, "--timeout", str(TIMEOUT), *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert run("start", *FILL, "requests=0", "mix.read=256") == "started traffic\n"
    status = json.loads(run("status", "--json"))
    shown = {
        "dl.link_status.link_state": 3,
        "dl.link_status.online": 1,
        "phy.status.aligned": 1,
        "phy.status.fault": 0,
        "phy.lane0_status.marker_lock": 1,
        "traffic.status.busy": 1,
    }
    assert {name: status[name] for name in shown} == shown
    assert run("stop") == "stopped traffic\n"
    assert "traffic.responses" in run("watch", "--count", "1")
