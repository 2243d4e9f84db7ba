"""The scrambler of the PCS: x^58 + x^39 + 1 over the payloads of some blocks a cycle (IEEE 802.3 49.2.6, 82.2.5)."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_BEAT
from ualink.phy.pcs.interface import check_framing, pcs_beat_signature
from ualink.phy.pcs.marker_span import MarkerSpan, span_blocks
from ualink.phy.stage import pass_on

__all__ = ["PAYLOAD_BITS", "SCRAMBLER_BITS", "Scrambler"]

SCRAMBLER_BITS = 58
PAYLOAD_BITS = BLOCK_BITS - 2
_TAP = 39


def _scrambled(m: Module, payload: Value, history: Value, bypass: Value, name: str) -> Value:
    """What is sent for ``payload`` after the 58 bits ``history``, the oldest lowest.

    Each bit is the XOR of three, 39 of them at a time: seven gates one after the other for four blocks.
    """
    sent = history
    for low in range(0, len(payload), _TAP):
        part = payload[low : low + _TAP]
        fed_back = sent[-_TAP:][: len(part)] ^ sent[-SCRAMBLER_BITS:][: len(part)]
        following = Signal(len(part), name=f"{name}_{low}")
        m.d.comb += following.eq(part ^ Mux(bypass, 0, fed_back))
        sent = Cat(sent, following)
    return sent[SCRAMBLER_BITS:]


class Scrambler(wiring.Component):
    """Scrambles the 64 payload bits of each block; sync headers stay as they are.

    The first ``marker_blocks`` blocks of a Start flit bypass the scrambler, which does not advance. After reset the 58
    bits sent before are ones. Latency one cycle, with fewer than eight
    blocks a beat none; a beat per cycle.

    A LUT of four inputs per bit, as many as there can be: so the longest path of eight blocks goes through fourteen
    of them.

    Parameters
    ----------
    marker_blocks : 16, 20, 32 or 64.
    blocks_per_word : 1, 2, 4 or 8.

    Members
    -------
    input, output : streams of ``pcs_beat_layout``.
    """

    def __init__(self, *, marker_blocks: int, blocks_per_word: int = BLOCKS_PER_BEAT):
        check_framing(marker_blocks=marker_blocks, blocks_per_word=blocks_per_word)
        self._blocks = blocks_per_word
        self._marker_blocks = marker_blocks
        super().__init__(
            {"input": In(pcs_beat_signature(blocks_per_word)), "output": Out(pcs_beat_signature(blocks_per_word))}
        )

    def elaborate(self, platform):
        m = Module()
        domain, loads, step = pass_on(m, self._blocks, self.input, self.output)
        span = MarkerSpan(m, self.input.p.marker, step, self._marker_blocks, self._blocks)
        beat = Signal.like(self.input.p, reset_less=True)
        m.d.comb += self.output.p.eq(beat)
        payload = Cat(self.input.p.blocks[n][2:] for n in range(self._blocks))
        history = Signal(SCRAMBLER_BITS, init=-1)
        bits = span_blocks(self._blocks) * PAYLOAD_BITS
        before: Value = history
        parts: list[Value] = []
        for n, bypass in enumerate(span.parts):
            if n:
                # Bits that bypass take no part in what is sent after them.
                behind = Signal(SCRAMBLER_BITS, name=f"before_{n}")
                m.d.comb += behind.eq(Mux(span.parts[n - 1], before, parts[-1][-SCRAMBLER_BITS:]))
                before = behind
            parts.append(_scrambled(m, payload.word_select(n, bits), before, bypass, f"part_{n}"))
        sent = Cat(parts)
        with m.If(loads):
            domain += beat.eq(self.input.p)
            for n in range(self._blocks):
                domain += beat.blocks[n][2:].eq(sent.word_select(n, PAYLOAD_BITS))
        with m.If(step & ~span.whole):
            m.d.sync += history.eq(sent[-SCRAMBLER_BITS:])
        return m
