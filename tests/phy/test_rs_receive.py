"""Receive side of the reconciliation sublayer, some blocks a cycle, against the model that takes them one by one."""

import random

import pytest

from support.phy.rs_stream import Receiver, hostile, receive
from ualink.config import PhyConfig
from ualink_sim.model.phy import rs_blocks as codes
from ualink_sim.model.phy import rs_receive as model_of
from ualink_sim.model.phy.rs_receive import Heard

CONFIG = PhyConfig(rate=200, marker_interval=32, idle_interval=8)


def expected(blocks: list[int], config=CONFIG):
    """Slots, and the link fault after each eighth block, as the model has them."""
    model = model_of.Receiver(config.control_interval, config.control_flit_blocks)
    slots, faults = [], []
    blocks = blocks + [codes.IDLE] * (-len(blocks) % 8)
    for n, block in enumerate(blocks):
        slot = model.block(block)
        if slot:
            slots.append(slot)
        if n % 8 == 7:
            faults.append(int(model.fault.link_fault))
    return slots, faults


@pytest.mark.parametrize("seed, size", [(0, 8), (1, 8), (2, 4), (3, 2), (5, 1)])
def test_hostile_blocks(seed, size):
    rng = random.Random(seed)
    blocks = list(hostile(rng, 12_000 if size == 8 else 9_000))
    slots, faults = expected(blocks)
    got, got_faults = receive(Receiver(CONFIG.replace(blocks_per_word=size)), blocks, rng, gaps=0.2 * (seed % 2))
    assert got_faults == faults
    assert got.slots == slots
    assert min(got.since_last) >= 64 // size
    assert min(got.since_beat) == 8 // size
    heard = [slot.heard for slot in slots]
    assert all(heard.count(kind) > 10 for kind in Heard)
    assert len(set(faults)) == 4
