"""Spoilt traffic: the receiver finds a broken sequence or field in the same flit as the executable model."""

import random

import pytest

from tl_receive import ROOMY, run
from tl_traffic import Traffic
from ualink.tl.receive_error import ReceiveError
from ualink_sim.model.tl_sequence import ProtocolError, ReceiveSequence

BY_THE_MODEL = {
    ReceiveError.FTYPE,
    ReceiveError.FOOTPRINT,
    ReceiveError.COMPRESSED_CMD,
    ReceiveError.BLOCK_CROSSING,
    ReceiveError.MANDATORY_NOP,
    ReceiveError.POISON_SLOT,
}
"""Errors that the sequence model knows; credits, rates and caches are accounts of their own."""


def spoil(rng, flit):
    """``flit`` with a bit flipped, its message bits changed, or a half made a poison message."""
    data, message = flit
    match rng.randrange(4):
        case 0:
            bit = rng.randrange(512)
            value = int.from_bytes(data, "little") ^ 1 << bit
            return value.to_bytes(64, "little"), message
        case 1:
            # FTYPE of a field of the lower half.
            bit = 32 * rng.randrange(8) + rng.randrange(28, 32)
            value = int.from_bytes(data, "little") ^ 1 << bit
            return value.to_bytes(64, "little"), message
        case 2:
            return data, message ^ rng.randrange(1, 4)
        case _:
            half = rng.randrange(2)
            return data[: 32 * half] + b"\x20" + data[32 * half + 1 :], message | 1 << half


def first_fatal(flits):
    """Number of the first flit that the model refuses."""
    model = ReceiveSequence()
    for number, flit in enumerate(flits):
        if any(isinstance(event, ProtocolError) and event.fatal for event in model.receive(*flit)):
            return number
    return None


@pytest.mark.req("TL-008", "TL-009", "TL-010", "TL-045", "TL-063", "TL-087", "TL-171", "TL-187", "TL-190", "TL-220")
def test_spoilt_flits_are_found_where_the_model_finds_them():
    found = set()
    for seed in range(60):
        rng = random.Random(seed)
        flits = list(Traffic(ROOMY, seed).flits(16))
        number = rng.randrange(len(flits))
        flits[number] = spoil(rng, flits[number])
        got = run(ROOMY, flits, drain=12)
        codes = {code for _, code in got.errors}
        found |= codes
        if not codes or codes & BY_THE_MODEL:
            expected = first_fatal(flits)
            assert [cycle for cycle, _ in got.errors] == ([] if expected is None else [expected + 2]), seed
        else:
            # What the model does not know came first, or not at all for the model.
            [(cycle, _)] = got.errors
            expected = first_fatal(flits)
            assert expected is None or cycle <= expected + 2, seed
    assert len(found & BY_THE_MODEL) >= 4
