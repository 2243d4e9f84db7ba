"""What is in the TL flits that a flit source makes."""

from amaranth.hdl import Cat, Const, Value

from ualink.dl.interface import TL_FLIT_LAYOUT

__all__ = ["NUMBER_BITS", "flit_content"]

NUMBER_BITS = 32
_WORDS = TL_FLIT_LAYOUT["data"].width // NUMBER_BITS
_SPREAD = 0x9E3779B1


def flit_content(number: Value) -> tuple[Value, Value]:
    """512 bits of data and the 2 message bits of TL flit ``number``, 32 bits.

    Word w, counted from 0, is the mixed number rotated by 2 w and XORed with w + 1 times the golden ratio. So another
    flit is noticed, and a word that stands elsewhere; no two flits have the same content.
    """
    folded = (number ^ (number << 13))[:NUMBER_BITS]
    mixed = folded ^ (folded >> 7)
    words = [
        mixed.rotate_left(2 * word) ^ Const((word + 1) * _SPREAD % (1 << NUMBER_BITS), NUMBER_BITS)
        for word in range(_WORDS)
    ]
    return Cat(*words), mixed[:2]
