"""The link partner against the transaction layer, without and with authentication.

The checker raises at the first rule that the transaction layer breaks; what goes in at one end must come out at the
other; and what is illegal must be named and survived.
"""

import pytest


def _tl(*numbers):
    return [f"TL-{number:03}" for number in numbers]


SENT = _tl(1, 5, 8, 9, 10, 11, 12, 13, 14, 22, *range(26, 32), 33, 34, 35, 38, *range(40, 46), 62, 76, 79, 82, 84, 85)
CREDITS = _tl(131, 134, 145, 146, 147, 148, 150, 154, 155, 157, 160, 161, 163, 164, 218)
CACHES = _tl(91, 93, 116, 117, 121, 124, 184, 187, 189, 190, 191, 192)


@pytest.mark.req(*SENT, *CREDITS, *CACHES, *_tl(2, 15, 49, 50, 52, 53, 54))
@pytest.mark.parametrize("authentication", [0, 1])
@pytest.mark.xdist_group("transaction_layer")
def test_legal_traffic(transaction_layer, authentication):
    environment = {"AUTHENTICATION": str(authentication)}
    transaction_layer.run("support.bfm.tl.partner_bench", testcase="everything_arrives", environment=environment)


@pytest.mark.req("TL-225", "TL-124", "TL-221")
@pytest.mark.xdist_group("transaction_layer")
def test_caches_over_a_link_down(transaction_layer):
    transaction_layer.run("support.bfm.tl.partner_bench", testcase="caches_outlive_the_link")


@pytest.mark.req("TL-224", "TL-132", "TL-135", "TL-140")
@pytest.mark.parametrize("authentication", [0, 1])
@pytest.mark.xdist_group("transaction_layer")
def test_literal_catch_buffers(transaction_layer, authentication):
    environment = {"AUTHENTICATION": str(authentication)}
    transaction_layer.run(
        "support.bfm.tl.partner_bench", testcase="a_literal_partner_gets_everything", environment=environment
    )


@pytest.mark.req("TL-181")
@pytest.mark.xdist_group("transaction_layer")
def test_encryption(transaction_layer):
    transaction_layer.run("support.bfm.tl.partner_bench", testcase="responses_keep_their_source_with_encryption")


@pytest.mark.req("TL-088", "TL-220", "TL-221")
@pytest.mark.parametrize("authentication", [0, 1])
@pytest.mark.xdist_group("transaction_layer")
def test_illegal_traffic(transaction_layer, authentication):
    environment = {"AUTHENTICATION": str(authentication)}
    transaction_layer.run("support.bfm.tl.partner_bench", testcase="illegal_flits_are_named", environment=environment)
