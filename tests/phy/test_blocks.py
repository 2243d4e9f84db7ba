"""DL flits as 64B/66B data blocks, bit by bit in the order of the wire."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from ualink.phy import blocks
from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_BEAT, control_block, data_blocks

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
    beat, sent_blocks = Signal(512), Signal(BLOCKS_PER_BEAT * BLOCK_BITS)
    m = Module()
    m.d.comb += sent_blocks.eq(data_blocks(beat))
    flit = random.Random(6).randbytes(FLIT_BYTES)
    bits = []

    async def testbench(ctx):
        for n in range(0, FLIT_BYTES, 64):
            ctx.set(beat, int.from_bytes(flit[n : n + 64], "little"))
            sent = ctx.get(sent_blocks)
            bits.extend(sent >> bit & 1 for bit in range(len(sent_blocks)))

    simulator = Simulator(m)
    simulator.add_testbench(testbench)
    simulator.run()
    assert bits == expected_bits(flit)


def test_other_widths_are_refused():
    with pytest.raises(ValueError, match="512 bits, not 256"):
        data_blocks(Signal(256))


@pytest.mark.req("PHY-034", "PHY-035", "PHY-036")
@pytest.mark.parametrize(
    "name, octets",
    [
        ("IDLE_BLOCK", "1e 00 00 00 00 00 00 00"),
        ("ERROR_BLOCK", "1e 1e 8f c7 e3 f1 78 3c"),
        ("START_BLOCK", "78 00 00 00 00 00 00 00"),
        ("ALIGNMENT_BLOCK", "78 ff ff ff ff ff ff ff"),
        ("LOCAL_FAULT_BLOCK", "4b 00 00 01 00 00 00 00"),
        ("REMOTE_FAULT_BLOCK", "4b 00 00 02 00 00 00 00"),
        ("LINK_INTERRUPTION_BLOCK", "4b 00 00 03 00 00 00 00"),
    ],
)
def test_control_blocks(name, octets):
    block = getattr(blocks, name)
    assert block & 1 == 1 and block >> 1 & 1 == 0
    assert (block >> 2).to_bytes(8, "little") == bytes.fromhex(octets)


@pytest.mark.parametrize("arguments", [(0x100, 0), (0x1E, 1 << 56), (-1, 0)])
def test_other_control_blocks_are_refused(arguments):
    with pytest.raises(ValueError, match="8 and 56 bits"):
        control_block(*arguments)
