"""``ualink board bert`` on a board in plain Python behind a real pseudo-terminal."""

import json

import pytest

from support.boards.console_board import FULL, PtyBoard, Registers
from support.boards.console_tool import printed, run_tool
from ualink_boards.console.bit_errors import upper_limit
from ualink_boards.console.designs import DESIGNS, Design


@pytest.fixture
def board(monkeypatch):
    """A board with every kind of window, of a design that the package knows."""
    monkeypatch.setitem(DESIGNS, "full", Design("all", lambda clock_hz: [FULL]))
    with PtyBoard(Registers(FULL)) as board:
        yield board


def _count(board, lane, errors, units, *, locked=1, lost=0):
    for name, value in {"errors": errors, "words": units, "status": locked << 4, "events": lost << 1}.items():
        board.registers.shown[lane, name] = value


def test_a_bit_error_test(board):
    _count(board, "lane0", 0, 1000)
    _count(board, "lane1", 3, 1000, lost=1)
    lines = printed(board, "bert", "--seconds", 0.05, "--pattern", "prbs7", "--loopback", "near_end").splitlines()
    # The event of lane1 was of the time before, and is forgotten at the start.
    assert [line.split()[:4] for line in lines[1:]] == [
        ["lane0", "followed", "0", "20,480,000"],
        ["lane1", "followed", "3", "20,480,000"],
    ]
    assert lines[0].endswith("at most (95%)")
    assert lines[1].split()[4:] == ["0.00e+00", "1.46e-07"]
    assert lines[2].split()[4:] == ["1.46e-07", "3.79e-07"]
    settings = 0 | 1 << 4
    for lane in ("lane0", "lane1"):
        writes = [value for name, value in board.registers.log if name == f"{lane}.control"]
        assert writes == [settings | 1 << 13, settings]


def test_a_bit_error_test_of_a_lane_that_is_lost_fails(board):
    _count(board, "lane0", 0, 0, locked=0)
    _count(board, "lane1", 8, 10, lost=1)
    result = run_tool(board.path, "bert", "read")
    assert result.exit_code == 1
    assert [line.split()[1:3] for line in result.stdout.splitlines()[1:]] == [
        ["not", "followed"],
        ["lost", "meanwhile"],
    ]
    assert result.stdout.splitlines()[1].split()[3:] == ["0", "0", "-", "-"]
    lanes = json.loads(run_tool(board.path, "bert", "read", "--json", "--lane", "lane1").stdout)["lanes"]
    assert lanes["lane1"]["bit_error_rate"] == 8 / 204_800
    assert list(lanes) == ["lane1"]


def test_a_bit_error_test_in_steps(board):
    _count(board, "lane0", 1, 5)
    _count(board, "lane1", 0, 5)
    assert printed(board, "bert", "start", "--lane", "lane0") == ""
    assert board.registers.log == [("lane0.control", 3 | 1 << 13), ("lane0.control", 3), ("lane0.events", 0xFFFFFFFF)]
    assert "lane0  followed" in printed(board, "bert", "read")
    assert printed(board, "bert", "stop") == ""
    assert board.registers.log[-2:] == [(f"{lane}.control", 3 | 1 << 13) for lane in ("lane0", "lane1")]


@pytest.mark.parametrize(
    ("errors", "confidence", "limit"),
    # Chi-square tables: half the quantile of 2 * (errors + 1) degrees of freedom.
    [
        (0, 0.95, 2.9957),
        (1, 0.95, 4.7439),
        (3, 0.95, 7.7537),
        (10, 0.95, 16.962),
        (0, 0.99, 4.6052),
        (10**8, 0.95, 1.0001645e8),
    ],
)
def test_limit_of_a_count(errors, confidence, limit):
    assert upper_limit(errors, confidence) == pytest.approx(limit, rel=1e-4 if errors < 100 else 1e-8)
