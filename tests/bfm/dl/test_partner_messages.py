"""The link partner against the data link: messages, channels, UART and link states."""

import pytest


@pytest.mark.xdist_group("data_link")
def test_message_and_link_scenarios(data_link):
    data_link.run("bfm.dl.partner_message_bench")
