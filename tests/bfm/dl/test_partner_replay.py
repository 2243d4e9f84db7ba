"""The link partner against the data link: link level replay, row by row."""

import pytest


@pytest.mark.xdist_group("data_link")
def test_replay_scenarios(data_link):
    data_link.run("bfm.dl.partner_replay_bench")
