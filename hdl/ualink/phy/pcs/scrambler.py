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
_BEAT_BITS = BLOCKS_PER_BEAT * PAYLOAD_BITS
_HALF_BITS = HALF_BEAT * PAYLOAD_BITS


def _fed_back(m: Module, vector: Value, bits: int, name: str) -> Signal:
    """The first ``bits`` output bits for an input that begins with ``vector``, after zeros.

    That is ``vector`` times the series 1 / (1 + p) with p = x^39 + x^58, which over GF(2) is the product of 1 + p,
    1 + p^2, 1 + p^4 and so on. A factor costs one XOR of three bits each.
    """
    power = 1
    while power * _TAP < bits:
        product = Signal(bits, name=f"{name}_{power}")
        m.d.comb += product.eq(vector ^ vector.shift_left(power * _TAP) ^ vector.shift_left(power * SCRAMBLER_BITS))
        vector, power = product, 2 * power
    return vector


def _echo(history: Value) -> Value:
    """What 58 sent bits, the oldest lowest, add to the input after them."""
    return history ^ history[SCRAMBLER_BITS - _TAP :]


class Scrambler(wiring.Component):
    """Scrambles the 64 payload bits of each block; sync headers stay as they are.

    The first ``marker_blocks`` blocks of a Start flit bypass the scrambler, which does not advance. After reset the 58
    bits sent before are ones. Latency two cycles, a beat per cycle.

    The part of the payload in each output bit is made in the first cycle, that of the 58 bits sent before in the
    second, so that only the latter is in a loop.

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
        valid = Signal()
        beat = Signal.like(self.input.p)
        bypass_low, bypass_high = Signal(), Signal()
        mixed = Signal(_BEAT_BITS)
        moves = Signal()
        m.d.comb += [
            moves.eq(~self.output.valid | self.output.ready),
            self.input.ready.eq(~valid | moves),
            step.eq(self.input.ready & self.input.valid),
        ]
        payload = Cat(self.input.p.blocks[n][2:] for n in range(BLOCKS_PER_BEAT))
        # Bits that bypass take no part in what is sent after them.
        taking_part = Cat(Mux(span.low, 0, payload[:_HALF_BITS]), Mux(span.high, 0, payload[_HALF_BITS:]))
        scrambled = _fed_back(m, taking_part, _BEAT_BITS, "scrambled")
        with m.If(self.input.ready):
            m.d.sync += valid.eq(self.input.valid)
        with m.If(step):
            m.d.sync += [
                beat.eq(self.input.p),
                bypass_low.eq(span.low),
                bypass_high.eq(span.high),
                mixed[:_HALF_BITS].eq(Mux(span.low, payload[:_HALF_BITS], scrambled[:_HALF_BITS])),
                mixed[_HALF_BITS:].eq(Mux(span.high, payload[_HALF_BITS:], scrambled[_HALF_BITS:])),
            ]

        history = Signal(SCRAMBLER_BITS, init=-1)
        share = _fed_back(m, _echo(history), _BEAT_BITS, "share")
        high_share = share[_HALF_BITS:]
        if self._marker_blocks % BLOCKS_PER_BEAT:
            high_share = Mux(bypass_low, share[:_HALF_BITS], high_share)
        sent = Signal(_BEAT_BITS)
        m.d.comb += [
            sent[:_HALF_BITS].eq(mixed[:_HALF_BITS] ^ Mux(bypass_low, 0, share[:_HALF_BITS])),
            sent[_HALF_BITS:].eq(mixed[_HALF_BITS:] ^ Mux(bypass_high, 0, high_share)),
        ]
        with m.If(moves):
            m.d.sync += self.output.valid.eq(valid)
        with m.If(moves & valid):
            m.d.sync += [self.output.p.marker.eq(beat.marker), self.output.p.codeword.eq(beat.codeword)]
            for n in range(BLOCKS_PER_BEAT):
                m.d.sync += self.output.p.blocks[n].eq(Cat(beat.blocks[n][:2], sent.word_select(n, PAYLOAD_BITS)))
            with m.If(~bypass_high):
                m.d.sync += history.eq(sent[-SCRAMBLER_BITS:])
        return m
