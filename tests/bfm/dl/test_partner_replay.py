"""The link partner against the data link: link level replay, row by row.

The checker raises at the first rule that the data link breaks, and the bench fails unless every bin of its groups was
hit, so that each rule was put to the test.
"""

import pytest


def _dl(*numbers):
    return [f"DL-{number:03}" for number in numbers]


# The rules of the checker that these scenarios provoke, and what would be lost, doubled or stuck at the other end.
FLITS = _dl(9, 10, 11, 12, 14, 15, 20, 22, 24, 27, 28, 30, 31, 34, 35, 132, 133, 134)
REQUESTS = _dl(124, 128, 130, 131, 141, 143, 144, 147, 151, 152, 153, 154, 155, 156, 162, 163, 164)
REPLAYS = _dl(119, 121, 122, 126, 129, 140, 148, 149, 157, 160, 161, 167)


@pytest.mark.req(*FLITS, *REQUESTS, *REPLAYS)
@pytest.mark.xdist_group("data_link")
def test_replay_scenarios(data_link):
    data_link.run("support.bfm.dl.partner_replay_bench")
