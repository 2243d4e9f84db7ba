"""The data that every line of memory has: a linear function of its number, its accelerator and a seed."""

from amaranth.hdl import Cat, Const, Module, Signal, Value

__all__ = ["WORDS", "difference_state", "line_state", "line_words", "step", "word_constant", "write_lanes"]

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E37_79B9_7F4A_7C15
WORDS = 8


def step(m: Module, x: Value, name: str) -> Signal:
    """The number that xorshift64 (Marsaglia, 13-7-17) makes of ``x``, combinational; three XORs a bit, linear."""
    for part, shifted in ((0, lambda v: Cat(Const(0, 13), v[:51])), (1, lambda v: v[7:]), (2, _left_17)):
        following = Signal(64, name=f"{name}_{part}")
        m.d.comb += following.eq(x ^ shifted(x))
        x = following
    return x


def line_state(m: Module, line: Value, dst: Value, seed: Value, name: str) -> Signal:
    """64 bits that no two lines of the accelerators have in common, from ``line`` (51 bits), ``dst`` and ``seed``."""
    key = Signal(64, name=f"{name}_key")
    m.d.comb += key.eq(Cat(line[:51], dst[:10]) ^ Cat(seed[:32], seed[:32]))
    return step(m, step(m, key, f"{name}_first"), f"{name}_second")


def difference_state(m: Module, seeds: Value, name: str) -> Signal:
    """What XORs the state of any line with one seed to that with another; ``seeds`` is the XOR of the two."""
    key = Signal(64, name=f"{name}_key")
    m.d.comb += key.eq(Cat(seeds[:32], seeds[:32]))
    return step(m, step(m, key, f"{name}_first"), f"{name}_second")


def line_words(state: Value) -> Value:
    """The 512 bits of a line: its state, XORed with another constant in each word."""
    return Cat(state ^ Const(word_constant(n), 64) for n in range(WORDS))


def word_constant(number: int) -> int:
    """What word ``number`` of every line is XORed with."""
    return (number + 1) * _GOLDEN & _WORD


def write_lanes(state: Value) -> Value:
    """The 64 byte enables of a sparse Write."""
    return state.rotate_left(29)


def _left_17(v: Value) -> Value:
    return Cat(Const(0, 17), v[:47])
