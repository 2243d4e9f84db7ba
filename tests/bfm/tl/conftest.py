"""The example's transaction layer, compiled once; tests that use it carry ``xdist_group("transaction_layer")``."""

import sys

import pytest

from ualink_sim.simulator import build_once


@pytest.fixture(scope="session")
def transaction_layer(root):
    """The compiled model of ``TransactionLayerTop``; its modules can be imported from here on."""
    sys.path.insert(0, str(root / "examples"))
    from tl_link_partner.transaction_layer_top import MODEL

    return build_once(*MODEL)
