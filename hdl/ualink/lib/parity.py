"""Even parity over bytes that travel and over registers that stay (UALink_200 §3.1.1, §6.7.3)."""

from contextvars import ContextVar

from amaranth.hdl import Cat, Const, Elaboratable, Fragment, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = [
    "PROTECTED_BYTE_BITS",
    "ProtectedRegister",
    "WithoutDataParity",
    "byte_parity",
    "data_parity",
    "even_parity",
    "join_parity",
    "parity_mismatch",
    "protects_data",
    "split_parity",
]

PROTECTED_BYTE_BITS = 9
"""A byte in bits 7..0 and its parity in bit 8, which go through a datapath as one."""

_DATA_PARITY: ContextVar[bool] = ContextVar("data parity", default=True)
"""Whether what is elaborated now makes and checks parity over data."""

BITS_OF_STATE = 3
"""Bits of a protected register that share a parity bit."""


def protects_data() -> bool:
    """Whether what is elaborated now protects data: not in what is ``WithoutDataParity``."""
    return _DATA_PARITY.get()


def even_parity(*values) -> Value:
    """The bit that makes the number of ones in ``values`` and itself even."""
    return Cat(values).xor()


def data_parity(value, bits: int) -> Value:
    """The parity of each ``bits`` bits of ``value``, lowest first; zeros in what is ``WithoutDataParity``."""
    groups = range(0, len(value), bits)
    if not _DATA_PARITY.get():
        return Const(0, len(groups))
    return Cat(value[low : low + bits].xor() for low in groups)


def byte_parity(value) -> Value:
    """The parity of each byte of ``value``: bit n belongs to bits 8n+7..8n. As of ``data_parity``."""
    return data_parity(value, 8)


def join_parity(value, parity) -> Value:
    """The bytes of ``value``, each with its bit of ``parity``, as protected bytes."""
    return Cat(Cat(value.word_select(n, 8), parity[n]) for n in range(len(parity)))


def split_parity(protected) -> tuple[Value, Value]:
    """The bytes and the parity bits of protected bytes: what ``join_parity`` was given."""
    count = len(protected) // PROTECTED_BYTE_BITS
    words = [protected.word_select(n, PROTECTED_BYTE_BITS) for n in range(count)]
    return Cat(word[:8] for word in words), Cat(word[8] for word in words)


def parity_mismatch(value, parity) -> Value:
    """1 bit: some byte of ``value`` does not fit its bit of ``parity``; never in what is ``WithoutDataParity``."""
    if not _DATA_PARITY.get():
        return Const(0)
    return (byte_parity(value) ^ parity).any()


class WithoutDataParity(Elaboratable):
    """``component``, elaborated without parity over data, for devices that run out of logic.

    Parity bits of data stay in all signatures, are zero and protect nothing: a synthesizer removes them with every
    register and memory column that holds them, an eighth of each wide path. Parity over control and state stays. All
    that exchanges data must be built alike, else every beat is a Data Error to the one that checks.

    Members of ``component`` are used as they are; only this wrapper becomes a submodule.
    """

    def __init__(self, component: Elaboratable):
        self._component = component

    def elaborate(self, platform):
        token = _DATA_PARITY.set(False)
        try:
            return Fragment.get(self._component, platform)
        finally:
            _DATA_PARITY.reset(token)


class ProtectedRegister(wiring.Component):
    """A register of control state with a parity bit over each few bits of it.

    So many parity bits keep the parity off the paths that lead to the state: what is decided last passes two gates to
    it. A mismatch found once stays, through all states that follow from the wrong one, until it is cleared or the
    register is reset: whoever uses the state later still sees it.

    Parameters
    ----------
    layout : the fields of the state.
    init : their reset values where these are not 0.

    Members
    -------
    d, q : next state and state.
    load : 0: the state stays, ``d`` is not looked at. Reset value of the port 1: written in every cycle.
    clear : forget a mismatch of this cycle and before; the state goes on.
    mismatch : combinational: ``q`` is not what was written, or follows from a state that was not.
    """

    def __init__(self, layout: data.StructLayout, init: dict | None = None):
        reset = layout.const(init).as_bits()
        self.parity = Signal(
            -(-layout.size // BITS_OF_STATE),
            init=sum(
                ((reset >> low & (1 << BITS_OF_STATE) - 1).bit_count() & 1) << n
                for n, low in enumerate(range(0, layout.size, BITS_OF_STATE))
            ),
        )
        super().__init__(
            {"d": In(layout), "q": Out(layout, init=init), "load": In(1, init=1), "clear": In(1), "mismatch": Out(1)},
        )

    def elaborate(self, platform):
        m = Module()
        found = Signal()
        wrong = [even_parity(bits, parity) for bits, parity in zip(_shares(self.q), self.parity)]
        m.d.comb += self.mismatch.eq(Cat(wrong, found).any())
        m.d.sync += found.eq(self.mismatch & ~self.clear)
        with m.If(self.load):
            m.d.sync += [self.q.eq(self.d), self.parity.eq(_state_parity(self.d))]
        with m.Elif(self.clear):
            m.d.sync += self.parity.eq(_state_parity(self.q))
        return m


def _shares(state) -> list[Value]:
    """The bits of ``state`` that share a parity bit."""
    bits = Value.cast(state)
    return [bits[low : low + BITS_OF_STATE] for low in range(0, len(bits), BITS_OF_STATE)]


def _state_parity(state) -> Value:
    """The parity bits of ``state``."""
    return Cat(bits.xor() for bits in _shares(state))
