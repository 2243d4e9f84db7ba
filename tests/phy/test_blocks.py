"""DL flits as 64B/66B data blocks, bit by bit in the order of the wire."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_BEAT, data_blocks

FLIT_BYTES, BLOCKS = 640, 80


def expected_bits(flit: bytes) -> list[int]:
    """What the wire carries, written down from the standard: sync header 0, 1, then eight bytes, lowest bit first."""
    bits = []
    for block in range(BLOCKS):
        bits += [0, 1]
        for byte in flit[8 * block : 8 * block + 8]:
            bits += [byte >> n & 1 for n in range(8)]
    return bits


@pytest.mark.req("DL-032")
def test_a_flit_is_eighty_data_blocks_in_wire_order():
    beat, blocks = Signal(512), Signal(BLOCKS_PER_BEAT * BLOCK_BITS)
    m = Module()
    m.d.comb += blocks.eq(data_blocks(beat))
    flit = random.Random(6).randbytes(FLIT_BYTES)
    bits = []

    async def testbench(ctx):
        for n in range(0, FLIT_BYTES, 64):
            ctx.set(beat, int.from_bytes(flit[n : n + 64], "little"))
            sent = ctx.get(blocks)
            bits.extend(sent >> bit & 1 for bit in range(len(blocks)))

    simulator = Simulator(m)
    simulator.add_testbench(testbench)
    simulator.run()
    assert bits == expected_bits(flit)


def test_other_widths_are_refused():
    with pytest.raises(ValueError, match="512 bits, not 256"):
        data_blocks(Signal(256))
