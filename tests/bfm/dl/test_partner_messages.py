"""The link partner against the data link: messages, channels, UART and link states.

The checker raises at the first rule that the data link breaks, and the bench fails unless every bin of its groups was
hit, so that each rule was put to the test.
"""

import pytest


def _dl(*numbers):
    return [f"DL-{number:03}" for number in numbers]


# The rules of the checker that these scenarios provoke, and what the partner must learn.
MESSAGES = _dl(38, 39, 46, 49, 53, 54, 57, 58)
CHANNELS = _dl(62, 64, 67, 70, 71, 72, 74, 76, 77, 79, 80, 82, 83, 84, 85)
UART = _dl(41, 60, 61, 93, 100, 106)
LINK_STATES = _dl(165, 170, 171, 173, 175, 177, 182)


@pytest.mark.req(*MESSAGES, *CHANNELS, *UART, *LINK_STATES)
@pytest.mark.xdist_group("data_link")
def test_message_and_link_scenarios(data_link):
    data_link.run("support.bfm.dl.partner_message_bench")
