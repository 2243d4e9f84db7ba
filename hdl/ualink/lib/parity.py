"""Even parity over bytes that travel and over registers that stay (UALink_200 §3.1.1, §6.7.3)."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = [
    "PROTECTED_BYTE_BITS",
    "ProtectedRegister",
    "byte_parity",
    "even_parity",
    "join_parity",
    "parity_mismatch",
    "split_parity",
]

PROTECTED_BYTE_BITS = 9
"""A byte in bits 7..0 and its parity in bit 8, which go through a datapath as one."""


def even_parity(*values) -> Value:
    """The bit that makes the number of ones in ``values`` and itself even."""
    return Cat(values).xor()


def byte_parity(value) -> Value:
    """The parity of each byte of ``value``: bit n belongs to bits 8n+7..8n."""
    return Cat(value[low : low + 8].xor() for low in range(0, len(value), 8))


def join_parity(value, parity) -> Value:
    """The bytes of ``value``, each with its bit of ``parity``, as protected bytes."""
    return Cat(Cat(value.word_select(n, 8), parity[n]) for n in range(len(parity)))


def split_parity(protected) -> tuple[Value, Value]:
    """The bytes and the parity bits of protected bytes: what ``join_parity`` was given."""
    count = len(protected) // PROTECTED_BYTE_BITS
    words = [protected.word_select(n, PROTECTED_BYTE_BITS) for n in range(count)]
    return Cat(word[:8] for word in words), Cat(word[8] for word in words)


def parity_mismatch(value, parity) -> Value:
    """1 bit: some byte of ``value`` does not fit its bit of ``parity``."""
    return (byte_parity(value) ^ parity).any()


class ProtectedRegister(wiring.Component):
    """A register of control state with one parity bit over all of it.

    A mismatch found once stays with it, through all states that follow from the wrong one, until it is cleared or the
    register is reset: whoever uses the state later still sees it.

    Parameters
    ----------
    layout : the fields of the state.
    init : their reset values where these are not 0.
    late : names of the fields whose next value is known last; they are the last to enter the parity.

    Members
    -------
    d, q : next state and state.
    load : 0: the state stays, ``d`` is not looked at. Reset value of the port 1: written in every cycle.
    clear : forget a mismatch of this cycle and before; the state goes on.
    mismatch : combinational: ``q`` is not what was written, or follows from a state that was not.
    """

    def __init__(self, layout: data.StructLayout, init: dict | None = None, late: Sequence[str] = ()):
        self.parity = Signal(init=layout.const(init).as_bits().bit_count() & 1)
        self._late = tuple(late)
        super().__init__(
            {"d": In(layout), "q": Out(layout, init=init), "load": In(1, init=1), "clear": In(1), "mismatch": Out(1)},
        )

    def elaborate(self, platform):
        m = Module()
        early = [self.d[name] for name, _ in self.d.shape() if name not in self._late]
        kept = Signal()
        m.d.comb += [self.mismatch.eq(even_parity(self.q, self.parity)), kept.eq(self.mismatch & ~self.clear)]
        with m.If(self.load):
            m.d.sync += [
                self.q.eq(self.d),
                self.parity.eq(even_parity(even_parity(*early, kept), *(self.d[name] for name in self._late))),
            ]
        with m.Elif(self.clear):
            m.d.sync += self.parity.eq(even_parity(self.q))
        return m
