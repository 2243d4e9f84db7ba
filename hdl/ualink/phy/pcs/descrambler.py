"""The descrambler of the PCS, some blocks a cycle (IEEE 802.3 49.2.10, 82.2.16)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCKS_PER_BEAT
from ualink.phy.pcs.interface import check_framing, pcs_beat_signature
from ualink.phy.pcs.marker_span import MarkerSpan, span_blocks
from ualink.phy.pcs.scrambler import PAYLOAD_BITS, SCRAMBLER_BITS
from ualink.phy.stage import has_register

__all__ = ["Descrambler"]

_TAP = 39


class Descrambler(wiring.Component):
    """Descrambles the 64 payload bits of each block; sync headers stay as they are.

    The first ``marker_blocks`` blocks from a beat with ``marker`` on bypass the descrambler, which does not advance. It
    synchronises itself: 58 payload bits after the first received one every bit is right. Latency one cycle, with fewer
    than eight blocks a beat none.

    Parameters
    ----------
    marker_blocks : 16, 20, 32 or 64.
    blocks_per_word : 1, 2, 4 or 8.

    Members
    -------
    input, output : streams of ``pcs_beat_layout``, always ready.
    """

    def __init__(self, *, marker_blocks: int, blocks_per_word: int = BLOCKS_PER_BEAT):
        check_framing(marker_blocks=marker_blocks, blocks_per_word=blocks_per_word)
        self._blocks = blocks_per_word
        self._marker_blocks = marker_blocks
        super().__init__(
            {
                "input": In(pcs_beat_signature(blocks_per_word, always_ready=True)),
                "output": Out(pcs_beat_signature(blocks_per_word, always_ready=True)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        span = MarkerSpan(m, self.input.p.marker, self.input.valid, self._marker_blocks, self._blocks)
        payload = Signal(self._blocks * PAYLOAD_BITS)
        m.d.comb += payload.eq(Cat(self.input.p.blocks[n][2:] for n in range(self._blocks)))
        history = Signal(SCRAMBLER_BITS, init=-1)
        bits = span_blocks(self._blocks) * PAYLOAD_BITS
        before, clear_parts = history, []
        for n, bypass in enumerate(span.parts):
            part = payload.word_select(n, bits)
            clear_parts.append(Mux(bypass, part, _descrambled(Cat(before, part), bits)))
            before = Mux(bypass, before, part[-SCRAMBLER_BITS:])
        clear = Cat(clear_parts)
        registered = has_register(self._blocks)
        domain = m.d.sync if registered else m.d.comb
        domain += self.output.valid.eq(self.input.valid)
        with m.If(self.input.valid if registered else Const(1)):
            domain += [
                self.output.p.marker.eq(self.input.p.marker),
                self.output.p.codeword.eq(self.input.p.codeword),
            ]
            for n in range(self._blocks):
                domain += self.output.p.blocks[n].eq(
                    Cat(self.input.p.blocks[n][:2], clear.word_select(n, PAYLOAD_BITS))
                )
        with m.If(self.input.valid & ~span.whole):
            m.d.sync += history.eq(payload[-SCRAMBLER_BITS:])
        return m


def _descrambled(received, bits: int):
    """The last ``bits`` bits of ``received``, which begins with 58 bits more."""
    return received[SCRAMBLER_BITS:] ^ received[SCRAMBLER_BITS - _TAP :][:bits] ^ received[:bits]
