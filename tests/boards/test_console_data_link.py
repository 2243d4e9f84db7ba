"""``ualink board`` on the design ``data_link``: RTL simulated behind a pseudo-terminal, with its lanes looped."""

import pytest

from support.boards.waiting import TIMEOUT, until
from ualink_boards.console import actions, readings
from ualink_boards.console.board import open_board
from ualink_boards.console.serial_bus import SerialBus
from ualink_boards.console.simulated import simulated_board

pytestmark = pytest.mark.xdist_group("data_link_board")

REST_AFTER = 40_000


@pytest.fixture(scope="module")
def board():
    """The board of all tests, whose link is up and carries flits."""
    with simulated_board("data_link", rest_after=REST_AFTER) as path, SerialBus(path, timeout=TIMEOUT) as bus:
        board = open_board(bus, design="data_link")
        until(board, "phy.status.aligned")
        actions.poke(board, ["dl.link_control.enable=1"])
        until(board, "flits.status.online")
        actions.poke(board, ["flits.control.enable=1"])
        yield board


def value(board, name):
    return readings.peek(board, name)[0].value


def counted(board):
    return board.snapshot(board.table.windows["flits"]), board.snapshot(board.table.windows["dl"])


def test_flits_go_round_and_none_is_wrong(board):
    first, _ = counted(board)
    later, _ = counted(board)
    assert later["sent"] > first["sent"] and later["received"] > first["received"] > 0
    assert later["wrong"] == later["damaged"] == value(board, "flits.events.wrong") == 0


def test_damaged_flits_are_replayed_and_no_flit_is_wrong(board):
    _, before = counted(board)
    actions.inject(board, "sent_crc", 2)
    flits, _ = counted(board)
    end = flits["received"] + 1000
    while (found := counted(board))[0]["received"] < end:
        pass
    flits, after = found
    assert after["crc_errors"] - before["crc_errors"] == 2 and after["replays_accepted"] > before["replays_accepted"]
    assert (flits["wrong"], flits["damaged"]) == (0, 0)


def test_flits_begin_anew_after_the_link_was_down(board):
    actions.poke(board, ["flits.events.restarted=1", "dl.link_control.channel_0_online=0"])
    until(board, "flits.status.online", 0)
    actions.poke(board, ["dl.link_control.channel_0_online=1"])
    until(board, "flits.status.online")
    assert value(board, "flits.events.restarted") == 1
    before, _ = counted(board)
    after, _ = counted(board)
    assert after["received"] > before["received"] and after["wrong"] == 0
