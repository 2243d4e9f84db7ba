"""The code of what a flit brings: of its sectors, made of the parity of its bytes, and of the fields in them."""

from amaranth.hdl import Cat, Const, Value
from amaranth.lib import data

from ualink.lib.parity import protects_data
from ualink.upli.code import code_of

from .control_decoder import SECTORS

__all__ = [
    "FIELD_CODE_LAYOUT",
    "FLIT_SECTORS",
    "request_code",
    "response_code",
    "sector_codes",
    "tag_slot_codes",
    "word_codes",
]

FLIT_SECTORS = 2 * SECTORS
"""Sectors of a flit, of 32 bits each; so many bits of code go with it through the receiver."""

FIELD_CODE_LAYOUT = data.StructLayout({"lower": 1, "upper": 1})
"""Even parity over the halves of a field: ``lower`` over the one of which a compressed field has nothing, ``upper``
over the other and over what is kept beside the field."""


def sector_codes(parity) -> Value:
    """16 bits: even parity of each sector of a flit, of the 64 bits over its bytes. They are not checked: what was
    wrong stays wrong."""
    if not protects_data():
        return Const(0, FLIT_SECTORS)
    return Cat(parity[4 * n : 4 * n + 4].xor() for n in range(FLIT_SECTORS))


def word_codes(sectors) -> Value:
    """Even parity of each 64 bits, out of that of each sector."""
    return Cat(sectors[n : n + 2].xor() for n in range(0, len(sectors), 2))


def request_code(sectors, pair: int) -> tuple[Value, Value]:
    """The code of the halves of ``request_field``, out of those of the sectors of its half-flit."""
    words = word_codes(sectors)
    return words[pair - 1] if pair else Const(0), words[pair]


def response_code(sectors, sector: int) -> tuple[Value, Value]:
    """The code of the halves of ``response_field``."""
    return sectors[sector - 1] if sector else Const(0), sectors[sector]


def tag_slot_codes(decoded, tags) -> Value:
    """8 bits: the code of each ``tag_slot`` together with ``tags``, anew from the fields that have a tag
    (``DECODED_LAYOUT``), so that it covers the register of ``tag_slot`` too."""
    tagged = [decoded.responses[n] | (decoded.requests[n // 2] if n % 2 else 0) for n in range(SECTORS)]
    return Cat(code_of(sum(tagged[:n], start=Const(0))[:2], tags) for n in range(SECTORS))
