"""64-byte data buffers of one class behind the TL receiver."""

from amaranth.hdl import Cat, Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.queue import Queue, UnhurriedQueue

__all__ = ["BEAT_LAYOUT", "HALF_BEAT_LAYOUT", "DataBuffer"]

HALF_BEAT_LAYOUT = data.StructLayout({"data": 256, "poison": 1, "code": 4})
"""One Data half-flit: lanes 0..31 or 32..63 of a beat. Bit n of ``code`` is even parity over bits 64n+63..64n, bit 0
also over ``poison``, so that an upset of that shows in the data."""

BEAT_LAYOUT = data.StructLayout({"data": 512, "error": 1, "code": 8})
"""One 64-byte beat; ``data`` is 0 if ``error``. Bit n of ``code`` is even parity over bits 64n+63..64n."""


class DataBuffer(wiring.Component):
    """Queue of ``depth`` 64-byte beats in two half memories, so that the two Data half-flits of a flit, which may
    belong to two beats, are written in one cycle. A beat is offered one cycle after its later half was written.

    A beat is poisoned if either half is; then its lanes are zero (UALink_200 §9.5.5, ruling D30).

    Parameters
    ----------
    depth : int: buffers. unhurried : they are ``UnhurriedQueue``.

    Attributes
    ----------
    low, high : halves of the beats, each in beat order; ``ready`` is low when all buffers are taken.
    beat : the oldest beat; ``ready`` only with ``valid``, which does not come late then.
    half_poisoned : level, the beat that is offered had only one poisoned half.
    """

    def __init__(self, depth: int, *, unhurried: bool = False):
        self.depth, self._unhurried = depth, unhurried
        super().__init__(
            {
                "low": In(stream.Signature(HALF_BEAT_LAYOUT)),
                "high": In(stream.Signature(HALF_BEAT_LAYOUT)),
                "beat": Out(stream.Signature(BEAT_LAYOUT)),
                "half_poisoned": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        kind = UnhurriedQueue if self._unhurried else Queue
        m.submodules.low_half = low = kind(HALF_BEAT_LAYOUT, self.depth)
        m.submodules.high_half = high = kind(HALF_BEAT_LAYOUT, self.depth)
        wiring.connect(m, low.input, wiring.flipped(self.low))
        wiring.connect(m, high.input, wiring.flipped(self.high))

        halves = low.output.p, high.output.p
        m.d.comb += [
            self.beat.valid.eq(low.output.valid & high.output.valid),
            self.beat.p.error.eq(halves[0].poison | halves[1].poison),
            self.half_poisoned.eq(self.beat.valid & (halves[0].poison ^ halves[1].poison)),
            low.output.ready.eq(self.beat.ready),
            high.output.ready.eq(self.beat.ready),
        ]
        with m.If(~self.beat.p.error):
            m.d.comb += [
                self.beat.p.data[:256].eq(halves[0].data),
                self.beat.p.data[256:].eq(halves[1].data),
                self.beat.p.code.eq(Cat(halves[0].code, halves[1].code)),
            ]
        return m
