"""The example's data link, compiled once; tests that use it carry ``xdist_group("data_link")``."""

import sys

import pytest

from ualink_sim.simulator import build_once


@pytest.fixture(scope="session")
def data_link(root):
    """The compiled model of ``DataLinkTop``; its modules can be imported from here on."""
    sys.path.insert(0, str(root / "examples"))
    from dl_link_partner.data_link_top import MODEL

    return build_once(*MODEL)
