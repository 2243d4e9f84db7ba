"""How large the link of a board is: as its lanes ask for."""

import pytest

from ualink_boards.boards import BOARDS, find_board
from ualink_boards.designs import make_design, pair
from ualink_boards.designs.link import Link
from ualink_boards.designs.link_config import lanes_used, link_config

EXPECTED = {
    # Lanes, blocks per word, cycles per beat.
    "ecp5_5g_evn": (1, 2, 4),
    "versa_ecp5_5g": (1, 2, 4),
    "ecpix5": (1, 2, 4),
    "vcu118": (4, 8, 1),
}


def test_every_board_is_looked_at():
    assert set(EXPECTED) == set(BOARDS)


@pytest.mark.parametrize("name", EXPECTED)
def test_station_steps_and_words_fit_the_lanes(name):
    board, config = find_board(name), link_config(find_board(name))
    lanes, blocks, cycles = EXPECTED[name]
    assert (config.lanes, config.phy.blocks_per_word, config.station.dl.cycles_per_beat) == (lanes, blocks, cycles)
    assert config.station.upli.lean == config.station.tl.lean == (blocks < 8)
    # The traffic engine is the other end of the station's UPLI.
    assert config.traffic.upli == config.station.upli
    # 66 bits a block, 512 bits of data in eight of them; a twentieth to spare.
    assert blocks * board.station_hz >= 1.05 * lanes * board.line_rate / 66
    assert cycles * blocks <= 8


def test_the_link_of_a_board_may_be_slower_than_its_lanes():
    """It is too large to be placed for 5 Gb/s on ``ecp5_5g_evn``; the other designs keep the rate."""
    board = find_board("ecp5_5g_evn")
    slower = board.of_design("link")
    assert (board.line_rate, slower.line_rate, slower.station_hz) == (5_000_000_000, 2_500_000_000, 24_000_000)
    assert board.of_design("data_link") == board.of_design("bert") == board
    assert make_design("link", board).registers.clock_hz == slower.station_hz
    config = link_config(slower)
    assert (config.lanes, config.phy.blocks_per_word, config.station.dl.cycles_per_beat) == EXPECTED[board.name]
    assert config.phy.blocks_per_word * slower.station_hz >= 1.05 * slower.line_rate / 66


def test_fewer_lanes_have_shorter_words():
    board = find_board("vcu118")
    assert link_config(board, lanes=1).phy.blocks_per_word < 8
    assert lanes_used(board) == 4


@pytest.mark.parametrize("name, lanes", [("ecp5_5g_evn", 1), ("vcu118", 2)])
def test_the_links_of_a_pair_share_the_lanes(monkeypatch, name, lanes):
    made = []

    def link(*args, lanes, **options):
        made.append(lanes)
        return Link(*args, lanes=lanes, **options)

    monkeypatch.setattr(pair, "Link", link)
    pair.Pair(find_board(name))
    assert made == [lanes, lanes] == 2 * [lanes_used(find_board(name), 2)]
