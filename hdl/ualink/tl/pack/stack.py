"""How Responses of one and of two sectors come to stand when they follow each other upwards (UALink_200 §5.1.1)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data

from ualink.tl.format.half_flits import SECTORS

__all__ = [
    "FITS_LAYOUT",
    "LAYOUTS",
    "PAIRS",
    "REGIONS",
    "RESPONSES_IN_SIGHT",
    "STACKS_LAYOUT",
    "fits",
    "stack",
    "stacks",
    "stacks_from",
]

RESPONSES_IN_SIGHT = 8
"""Responses that the packer has places for."""

PAIRS = SECTORS // 2
"""Pairs of sectors 10, 32, 54, 76: what a Compressed Request or an Uncompressed Response covers."""

REGIONS = ((0, 4), (0, 3), (0, 2), (0, 1), (1, 1), (2, 1))
"""What Requests leave of a half-flit is one run of pairs: (its lowest pair, how many pairs)."""

LAYOUTS = tuple(
    (base, pairs, 2 * base + skipped) for base, pairs in REGIONS for skipped in range(3 if pairs > 1 else 2)
)
"""Ways to use what is left: (lowest pair, how many pairs, sector from which on Responses stand)."""

STACKS_LAYOUT = data.ArrayLayout(data.ArrayLayout(RESPONSES_IN_SIGHT + 1, PAIRS + 1), 2)
"""What ``stack`` says of the Responses in sight, from sector 0 and from sector 1 on."""

FITS_LAYOUT = data.StructLayout({"low": PAIRS + 1, "high": PAIRS})
"""Whether all Responses that may go have room, from sector 0 on in bit p of ``low`` in p pairs, from sector 1 on in bit
p of ``high`` in p + 1 pairs."""


def stacks(m: Module, compressed, name: str = "") -> Cat:
    """Bits of ``STACKS_LAYOUT`` for Responses in these forms."""
    return Cat(Cat(stack(m, compressed, start, name)) for start in (0, 1))


def stack(m: Module, compressed, start: int, name: str = "") -> list[Signal]:
    """Responses in ``compressed`` (a bit for each, oldest first) go up from sector ``start``, 0 or 1.

    A compressed one takes the next sector, any other the next whole pair. Returns for 0 to 4 pairs of sectors how many
    Responses have their place in them, one-hot: bit n of element p for n Responses in the p lowest pairs.
    """
    most = len(compressed)
    held = [Signal(most + 1, name=f"{name}held_from_{start}_in_{pairs}") for pairs in range(PAIRS + 1)]
    two = [compressed[n] & compressed[n + 1] if n + 1 < most else Const(0) for n in range(most)]
    m.d.comb += held[0].eq(1)
    for pairs in range(PAIRS):
        before, after = held[pairs], [Const(0)] * (most + 1)
        if pairs == 0 and start == 1:
            after[:2] = [~compressed[0], compressed[0]]
        else:
            after[most] = before[most]
            for n in range(most):
                after[n + 1] |= before[n] & ~two[n]
                if n + 2 <= most:
                    after[n + 2] |= before[n] & two[n]
        m.d.comb += held[pairs + 1].eq(Cat(after))
    return held


def fits(stacks, candidates) -> Cat:
    """Bits of ``FITS_LAYOUT`` for as many ``candidates``, which stand as ``stacks`` says."""
    low, high = (list(start) for start in stacks)
    return Cat(~(held & candidates).any() for held in (*low, *high[1:]))


def stacks_from(m: Module, compressed, number: int, together=None) -> list[Cat]:
    """``stacks`` of the first Responses in ``compressed``, of those from the second on, and so on for ``number`` of
    them. Two pairs are what one pair holds and what the next one holds behind it, and so are four; all have the same
    such pairs. ``together``, if it is known otherwise: bit n, Response n and the next one are both compressed.
    """
    short = [*compressed, *[Const(0)] * (2 * RESPONSES_IN_SIGHT)]
    two = [Signal(name=f"together_{n}") for n in range(len(short) - 1)]
    for n, both in enumerate(two):
        known = together is not None and n < len(together)
        m.d.comb += both.eq(together[n] if known else short[n] & short[n + 1])
    # Bit n: n Responses from this one on have their place in so many pairs.
    one = [Cat(0, ~both, both) for both in two]
    double = _behind(m, one, one, "in_2")
    held = [[Const(1)] * len(one), one, double, _behind(m, double, one, "in_3"), _behind(m, double, double, "in_4")]
    whole = []
    for k in range(number):
        low = [Cat(pairs[k], Const(0, RESPONSES_IN_SIGHT + 1))[: RESPONSES_IN_SIGHT + 1] for pairs in held]
        high = [low[0]]
        for n, pairs in enumerate(held[:-1]):
            # The upper sector of the first pair holds one if that is compressed.
            behind = Signal(RESPONSES_IN_SIGHT + 1, name=f"behind_{n}_{k}")
            m.d.comb += behind.eq(Mux(short[k], Cat(0, pairs[k + 1]), pairs[k]))
            high.append(behind)
        whole.append(Cat(*low, *high))
    return whole


def _behind(m, first, then, name):
    """For each Response how many have their place in the pairs of ``first`` and those of ``then`` behind them."""
    result = []
    for k in range(len(then) - len(first[0]) + 1):
        held = Signal(len(first[k]) + len(then[k]) - 1, name=f"{name}_{k}")
        ways = [Const(0)] * len(held)
        for n, here in enumerate(first[k]):
            for more, there in enumerate(then[k + n]):
                ways[n + more] |= here & there
        m.d.comb += held.eq(Cat(ways))
        result.append(held)
    return result
