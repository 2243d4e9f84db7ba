"""The scrambler of the PCS: x^58 + x^39 + 1 over the payloads of eight blocks a cycle (IEEE 802.3 49.2.6, 82.2.5)."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCK_BITS, BLOCKS_PER_BEAT
from ualink.phy.pcs.interface import check_framing, pcs_beat_signature
from ualink.phy.pcs.marker_span import HALF_BEAT, MarkerSpan

__all__ = ["PAYLOAD_BITS", "SCRAMBLER_BITS", "Scrambler"]

SCRAMBLER_BITS = 58
PAYLOAD_BITS = BLOCK_BITS - 2
_TAP = 39
_HALF_BITS = HALF_BEAT * PAYLOAD_BITS


def _scrambled(m: Module, payload: Value, history: Value, bypass: Value, name: str) -> Value:
    """What is sent for ``payload`` after the 58 bits ``history``, the oldest lowest.

    Each bit is the XOR of three, 39 of them at a time: seven gates one after the other for half a beat.
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
    bits sent before are ones. Latency one cycle, a beat per cycle.

    A LUT of four inputs per bit, as many as there can be: so the longest path goes through fourteen of them.

    Parameters
    ----------
    marker_blocks : 16, 20, 32 or 64.

    Members
    -------
    input, output : streams of ``PCS_BEAT_LAYOUT``.
    """

    def __init__(self, *, marker_blocks: int):
        check_framing(marker_blocks=marker_blocks)
        self._marker_blocks = marker_blocks
        super().__init__({"input": In(pcs_beat_signature()), "output": Out(pcs_beat_signature())})

    def elaborate(self, platform):
        m = Module()
        step = Signal()
        span = MarkerSpan(m, self.input.p.marker, step, self._marker_blocks)
        beat = Signal.like(self.input.p, reset_less=True)
        m.d.comb += [
            self.input.ready.eq(~self.output.valid | self.output.ready),
            step.eq(self.input.ready & self.input.valid),
            self.output.p.eq(beat),
        ]
        payload = Cat(self.input.p.blocks[n][2:] for n in range(BLOCKS_PER_BEAT))
        history, before_high = Signal(SCRAMBLER_BITS, init=-1), Signal(SCRAMBLER_BITS)
        low = _scrambled(m, payload[:_HALF_BITS], history, span.low, "low")
        # Bits that bypass take no part in what is sent after them.
        m.d.comb += before_high.eq(Mux(span.low, history, low[-SCRAMBLER_BITS:]))
        high = _scrambled(m, payload[_HALF_BITS:], before_high, span.high, "high")
        sent = Cat(low, high)
        with m.If(self.input.ready):
            m.d.sync += self.output.valid.eq(self.input.valid)
        with m.If(step):
            m.d.sync += beat.eq(self.input.p)
            for n in range(BLOCKS_PER_BEAT):
                m.d.sync += beat.blocks[n][2:].eq(sent.word_select(n, PAYLOAD_BITS))
            with m.If(~span.high):
                m.d.sync += history.eq(high[-SCRAMBLER_BITS:])
        return m
