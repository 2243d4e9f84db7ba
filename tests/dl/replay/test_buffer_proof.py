"""TxReplay in any careful sender's hands, further than z3 gets in the unit test: nothing held is lost or changed."""

import os

import pytest

from dl.replay.test_buffer import Slots
from support.dl.bit_proof import refuted

DEPTH = 2
CYCLES = 26 if os.environ.get("UALINK_SOAK") else 20


@pytest.mark.soak
@pytest.mark.req("DL-119", "DL-125", "DL-127")
def test_held_flits_are_kept_and_read_back(tmp_path):
    assert not refuted(Slots(DEPTH), tmp_path, CYCLES)


def test_careless_sender_is_refuted(tmp_path):
    assert refuted(Slots(DEPTH, careful=False), tmp_path, CYCLES)
