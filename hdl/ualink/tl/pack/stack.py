"""How Responses of one and of two sectors come to stand when they follow each other upwards (UALink_200 §5.1.1)."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data

from ualink.tl.format.half_flits import SECTORS

__all__ = ["LAYOUTS", "PAIRS", "REGIONS", "RESPONSES_IN_SIGHT", "STACKS_LAYOUT", "stack", "stacks"]

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
