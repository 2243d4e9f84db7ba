"""Receive side of the reconciliation sublayer, eight blocks a cycle, against the model that takes them one by one."""

import random

import pytest

from support.phy.rs_stream import hostile, receive
from ualink.config import PhyConfig
from ualink.phy.rs_receive import RSReceive
from ualink_sim.model.phy import rs_blocks as codes
from ualink_sim.model.phy.rs_receive import Heard, Receiver

CONFIG = PhyConfig(rate=200, marker_interval=32, idle_interval=8)


def expected(blocks: list[int], config=CONFIG):
    """Slots, and the link fault after each eighth block, as the model has them."""
    model = Receiver(config.control_interval, config.control_flit_blocks)
    slots, faults = [], []
    blocks = blocks + [codes.IDLE] * (-len(blocks) % 8)
    for n, block in enumerate(blocks):
        slot = model.block(block)
        if slot:
            slots.append(slot)
        if n % 8 == 7:
            faults.append(int(model.fault.link_fault))
    return slots, faults


@pytest.mark.parametrize("seed", range(2))
def test_hostile_blocks(seed):
    rng = random.Random(seed)
    blocks = list(hostile(rng, 12_000))
    slots, faults = expected(blocks)
    got, got_faults = receive(RSReceive(CONFIG), blocks, rng, gaps=0.2 * (seed % 2))
    assert got_faults == faults
    assert got.slots == slots
    assert min(got.since_last) >= 8
    heard = [slot.heard for slot in slots]
    assert all(heard.count(kind) > 10 for kind in Heard)
    assert len(set(faults)) == 4
