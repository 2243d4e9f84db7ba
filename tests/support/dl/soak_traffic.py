"""Hardware that makes and checks endless TL flits: random numbers, a source, a sink."""

import random

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import tl_flit_signature
from ualink.lib.parity import byte_parity, even_parity, parity_mismatch

__all__ = ["RATE_BITS", "FlitSink", "FlitSource", "Xorshift", "flit_content"]

RATE_BITS = 16
"""Probabilities are fractions of 2**16."""

_rng = random.Random("TL flits")
_SPREAD = 0x9E3779B1
_WORDS = [(_rng.getrandbits(32), _rng.getrandbits(32) | 1) for _ in range(16)]


def flit_content(number: Value, salt: int) -> tuple[Value, Value]:
    """512 bits of data and the two message bits of TL flit ``number`` (32 bits) of the stream ``salt``.

    Every 32-bit word is another hash of the number, so that no sector can stand in for another.
    """
    mixed = ((number ^ salt) * Const(_SPREAD, 32))[:32]
    folded = mixed ^ mixed[15:]
    words = [((folded + add) * Const(factor, 32))[:32] for add, factor in _WORDS]
    return Cat(*words), folded[13:15] ^ mixed[30:]


class Xorshift(wiring.Component):
    """Marsaglia's generator of 64 bits, another value in each cycle; a change of ``seed`` starts it anew."""

    seed: In(32)
    value: Out(64)

    def __init__(self, salt: int):
        self._salt = salt
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        state = Signal(64, init=1)
        loaded = Signal(32)
        x = state ^ (state << 13)[:64]
        y = x ^ (x >> 7)
        m.d.sync += [state.eq(y ^ (y << 17)), loaded.eq(self.seed)]
        with m.If(loaded != self.seed):
            # Never zero, and different for each generator.
            m.d.sync += state.eq(Cat(self.seed ^ self._salt, Const(self._salt | 1 << 31, 32)))
        m.d.comb += self.value.eq(state)
        return m


class FlitSource(wiring.Component):
    """Offers the flits 0, 1, 2, … of stream ``salt``; after each one there is the next with probability ``rate``.

    ``sent`` counts the flits that were taken.
    """

    def __init__(self, salt: int):
        self._salt = salt
        super().__init__(
            {
                "seed": In(32),
                "rate": In(RATE_BITS),
                "flit": Out(tl_flit_signature()),
                "sent": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.chance = chance = Xorshift(self._salt)
        data, message = flit_content(self.sent, self._salt)
        taken = self.flit.valid & self.flit.ready
        m.d.comb += [
            chance.seed.eq(self.seed),
            self.flit.p.data.eq(data),
            self.flit.p.message.eq(message),
            self.flit.p.parity.eq(byte_parity(data)),
            self.flit.p.control_parity.eq(even_parity(message)),
        ]
        with m.If(taken):
            m.d.sync += self.sent.eq(self.sent + 1)
        with m.If(taken | ~self.flit.valid):
            m.d.sync += self.flit.valid.eq((chance.value[:RATE_BITS] < self.rate) | self.rate.all())
        return m


class FlitSink(wiring.Component):
    """Compares every flit with the next one expected of stream ``salt``.

    Members
    -------
    pending : flits are on their way or on offer.
    delivered, mismatches : flits that came, and those that were not the one expected.
    longest_wait : most cycles without a delivery while flits were pending.
    """

    def __init__(self, salt: int):
        self._salt = salt
        super().__init__(
            {
                "flit": In(tl_flit_signature(always_ready=True)),
                "pending": In(1),
                "delivered": Out(32),
                "mismatches": Out(32),
                "longest_wait": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        data, message = flit_content(self.delivered, self._salt)
        waited = Signal(32)
        flit = self.flit.p
        wrong = (flit.data != data) | (flit.message != message) | flit.error
        bad_parity = parity_mismatch(flit.data, flit.parity) | even_parity(
            flit.message, flit.error, flit.control_parity
        )
        with m.If(self.flit.valid):
            m.d.sync += self.delivered.eq(self.delivered + 1)
            with m.If(wrong | bad_parity):
                m.d.sync += self.mismatches.eq(self.mismatches + 1)
        m.d.sync += waited.eq(waited + 1)
        with m.If(self.flit.valid | ~self.pending):
            m.d.sync += waited.eq(0)
        with m.If(waited > self.longest_wait):
            m.d.sync += self.longest_wait.eq(waited)
        return m
