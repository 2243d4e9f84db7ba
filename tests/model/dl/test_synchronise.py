"""Joining a stream of DL flits: the right carry-over is found, at whatever load."""

import random

import pytest

from ualink_sim.model.dl.packing import Packer, Unpacker
from ualink_sim.model.dl.synchronise import FrameSynchronizer


def stream(rng, load, flits):
    """DL flits at a fraction ``load`` of the line rate, with a message now and then."""
    packer = Packer()
    for _ in range(flits):
        ticks = [(rng.randbytes(64), rng.randrange(4)) if rng.random() < load else None for _ in range(10)]
        messages = [rng.getrandbits(32) if rng.random() < 0.1 else None for _ in range(5)]
        yield packer.pack(ticks, messages).flit()


@pytest.mark.req("DL-013", "DL-022", "DL-023")
@pytest.mark.parametrize("load", [0.05, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("start", [1, 8, 13])
def test_the_right_carry_over_is_left(load, start):
    flits = list(stream(random.Random(start), load, 40))
    truth, synchronizer, joined = Unpacker(), FrameSynchronizer(), None
    found = None
    for number, flit in enumerate(flits):
        events = truth.unpack(flit)
        if joined is not None:
            assert joined.unpack(flit) == events and not joined.format_errors
        elif number >= start:
            joined = synchronizer.push(flit)
            found = number
            assert joined is None or joined.carry_over == truth.carry_over
    assert found is not None and found - start < 8 and joined is not None


def test_begins_again_when_every_reading_is_refuted():
    flit = Packer().pack([(bytes(64), 0)] * 10).flit()
    flit.segment_headers = [0x90] * 5
    synchronizer, truth, joined = FrameSynchronizer(), Unpacker(), None
    for _ in range(8):
        synchronizer.push(flit)
    for good in stream(random.Random(2), 0.9, 30):
        events = truth.unpack(good)
        if joined is None:
            joined = synchronizer.push(good)
        else:
            assert joined.unpack(good) == events
    assert joined is not None
