"""What each received block is (UALink_200 §7.2.5, Figure 7-2)."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import (
    ALIGNMENT_BLOCK,
    BLOCKS_PER_BEAT,
    CONTROL_SYNC,
    DATA_SYNC,
    IDLE_TYPE,
    ORDERED_SET_TYPE,
    START_TYPE,
)
from ualink.phy.interface import blocks_layout
from ualink.phy.link_fault import LinkFault
from ualink.phy.stage import has_register

__all__ = ["BlockClassifier"]


class BlockClassifier(wiring.Component):
    """Looks at each block of a word by itself. Latency: one cycle, with fewer than eight blocks a word none.

    Parameters
    ----------
    blocks_per_word : 1, 2, 4 or 8.

    Members
    -------
    blocks : from the PCS; ``port`` is not looked at.
    valid : a word.
    data : its bytes, those of block n in bits 64n+63..64n, whatever the block is.
    control, invalid : bit n: block n has sync header 10; has 00 or 11. Neither: it is a data block.
    counted : bit n: block n is a control block of a type that UALink_200 uses. Others are passed over (ruling P-29).
    alignment : bit n: block n is of the start of an AM flit.
    sequences : per block the fault of which it is a sequence ordered set: D1 = D2 = 0 and O code 0; OK: it is none.
        The four bytes behind are not looked at.
    """

    def __init__(self, blocks_per_word: int = BLOCKS_PER_BEAT):
        self._blocks = blocks_per_word
        super().__init__(
            {
                "blocks": In(stream.Signature(blocks_layout(blocks_per_word), always_ready=True)),
                "valid": Out(1),
                "data": Out(64 * blocks_per_word),
                "control": Out(blocks_per_word),
                "invalid": Out(blocks_per_word),
                "counted": Out(blocks_per_word),
                "alignment": Out(blocks_per_word),
                "sequences": Out(data.ArrayLayout(LinkFault, blocks_per_word)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        blocks = [self.blocks.p.blocks[n] for n in range(self._blocks)]
        content = Signal(len(self.data), reset_less=True)
        domain = m.d.sync if has_register(self._blocks) else m.d.comb
        domain += [self.valid.eq(self.blocks.valid), content.eq(Cat(block[2:] for block in blocks))]
        m.d.comb += self.data.eq(content)
        for n, block in enumerate(blocks):
            sync, block_type, payload = block[:2], block[2:10], block[10:]
            is_control = sync == CONTROL_SYNC
            fault = Signal(LinkFault, name=f"fault_{n}")
            # D1, D2, D3 and the O code.
            with m.If(is_control & (block_type == ORDERED_SET_TYPE) & ~payload[:16].any() & ~payload[18:28].any()):
                m.d.comb += fault.eq(payload[16:18])
            domain += [
                self.control[n].eq(is_control),
                self.invalid[n].eq(~is_control & (sync != DATA_SYNC)),
                self.counted[n].eq(is_control & block_type.matches(IDLE_TYPE, START_TYPE, ORDERED_SET_TYPE)),
                self.alignment[n].eq(block == ALIGNMENT_BLOCK),
                self.sequences[n].eq(fault),
            ]
        return m
