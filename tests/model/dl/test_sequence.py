"""Sequence number arithmetic."""

import pytest

from ualink_sim.model.dl.sequence import next_seq, previous_seq, reconstruct_seq, seq_advance, seq_distance

NUMBERS = range(1, 512)


@pytest.mark.req("DL-143")
def test_wrap():
    assert next_seq(511) == 1 and next_seq(1) == 2
    seen, seq = set(), 511
    for _ in range(511):
        seq = next_seq(seq)
        seen.add(seq)
    assert seen == set(NUMBERS)
    for seq in NUMBERS:
        assert previous_seq(next_seq(seq)) == seq
        for steps in (-511, -300, -1, 0, 1, 255, 256, 510, 511):
            assert seq_distance(seq, seq_advance(seq, steps)) == steps % 511


@pytest.mark.req("DL-136")
def test_reconstruction_of_payload_flits():
    for last in NUMBERS:
        seq = last
        for _ in range(7):
            seq = next_seq(seq)
            assert reconstruct_seq(last, seq & 7, True) == seq
        assert reconstruct_seq(last, last & 7, False) == last


@pytest.mark.req("DL-136")
def test_reconstruction_of_nop_flits_may_alias_across_the_wrap():
    """A NOP flit after seven lost payload flits looks in order from 505 up; Rx_ambiguous protects there."""
    for last in NUMBERS:
        lost = seq_advance(last, 7)
        aliases = reconstruct_seq(last, lost & 7, False) == last
        assert aliases == (last >= 505)
