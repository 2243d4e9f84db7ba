"""The descrambler of the PCS, eight blocks a cycle (IEEE 802.3 49.2.10, 82.2.16)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.phy.blocks import BLOCKS_PER_BEAT
from ualink.phy.pcs.interface import check_framing, pcs_beat_signature
from ualink.phy.pcs.marker_span import HALF_BEAT, MarkerSpan
from ualink.phy.pcs.scrambler import PAYLOAD_BITS, SCRAMBLER_BITS

__all__ = ["Descrambler"]

_TAP = 39
_BEAT_BITS = BLOCKS_PER_BEAT * PAYLOAD_BITS
_HALF_BITS = HALF_BEAT * PAYLOAD_BITS


class Descrambler(wiring.Component):
    """Descrambles the 64 payload bits of each block; sync headers stay as they are.

    The first ``marker_blocks`` blocks from a beat with ``marker`` on bypass the descrambler, which does not advance. It
    synchronises itself: 58 payload bits after the first received one every bit is right. Latency one cycle.

    Parameters
    ----------
    marker_blocks : 16, 20, 32 or 64.

    Members
    -------
    input, output : streams of ``PCS_BEAT_LAYOUT``, always ready.
    """

    def __init__(self, *, marker_blocks: int):
        check_framing(marker_blocks=marker_blocks)
        self._marker_blocks = marker_blocks
        super().__init__(
            {"input": In(pcs_beat_signature(always_ready=True)), "output": Out(pcs_beat_signature(always_ready=True))}
        )

    def elaborate(self, platform):
        m = Module()
        span = MarkerSpan(m, self.input.p.marker, self.input.valid, self._marker_blocks)
        payload = Signal(_BEAT_BITS)
        m.d.comb += payload.eq(Cat(self.input.p.blocks[n][2:] for n in range(BLOCKS_PER_BEAT)))
        low, high = payload[:_HALF_BITS], payload[_HALF_BITS:]
        history = Signal(SCRAMBLER_BITS, init=-1)
        before_high = Mux(span.low, history, low[-SCRAMBLER_BITS:])
        clear = Cat(
            Mux(span.low, low, _descrambled(Cat(history, low), _HALF_BITS)),
            Mux(span.high, high, _descrambled(Cat(before_high, high), _HALF_BITS)),
        )
        m.d.sync += self.output.valid.eq(self.input.valid)
        with m.If(self.input.valid):
            m.d.sync += [
                self.output.p.marker.eq(self.input.p.marker),
                self.output.p.codeword.eq(self.input.p.codeword),
            ]
            for n in range(BLOCKS_PER_BEAT):
                m.d.sync += self.output.p.blocks[n].eq(
                    Cat(self.input.p.blocks[n][:2], clear.word_select(n, PAYLOAD_BITS))
                )
            with m.If(~span.high):
                m.d.sync += history.eq(high[-SCRAMBLER_BITS:])
        return m


def _descrambled(received, bits: int):
    """The last ``bits`` bits of ``received``, which begins with 58 bits more."""
    return received[SCRAMBLER_BITS:] ^ received[SCRAMBLER_BITS - _TAP :][:bits] ^ received[:bits]
