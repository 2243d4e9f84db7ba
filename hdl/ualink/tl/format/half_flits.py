"""What a half-flit has room for, and what the blocks of the transmitter hand to each other: fields, data jobs, Control
half-flits and half-flits."""

from amaranth.hdl import Cat, Const, Mux, Value
from amaranth.lib import data, enum

from ualink.upli.code import code_of

from .fields import MessageType

__all__ = [
    "CONTROL_CONTENT_LAYOUT",
    "CONTROL_COUNTS_LAYOUT",
    "DATA_JOB_LAYOUT",
    "FIELD_CODE_LAYOUT",
    "FIELD_FORM_LAYOUT",
    "HALF_FLIT_LAYOUT",
    "ORIG_DATA_BEAT_LAYOUT",
    "READ_DATA_BEAT_LAYOUT",
    "REQUEST_FIELD_LAYOUT",
    "RESPONSE_FIELD_LAYOUT",
    "SECTORS",
    "SPOILT",
    "TAGS",
    "DataSource",
    "carried_code",
    "carried_data",
]

SECTORS = 8
"""Sectors of a half-flit."""

TAGS = 4
"""Tags in an AuthTags half-flit."""


SPOILT = 4
"""In so many parts it is looked at whether control of a beat is wrong, which nobody wants to know in the same cycle."""


class DataSource(enum.Enum, shape=1):
    """Where the data of a field come from."""

    ORIG_DATA = 0
    RD_RSP = 1


DATA_JOB_LAYOUT = data.StructLayout(
    {
        "half_flits": 4,
        "source": DataSource,
        "num_beats": 2,
        "byte_enables": 1,
        "slot": 2,
    }
)
"""The data that one field owes: ``half_flits`` (0 = none) out of ``num_beats`` + 1 beats; with ``byte_enables`` the
last one is the byte enables, those of the first beat in quarter ``slot`` of the half-flit (ruling D04)."""

FIELD_CODE_LAYOUT = data.StructLayout({"low": 1, "high": 1, "auth_tag": 1})
"""The code of a field, even parity: ``low`` over the half of ``field`` that every form has and ``compressed``, ``high``
over the half that only an uncompressed one has, and ``auth_tag``. What is wrong of the beat makes ``low`` wrong."""

REQUEST_FIELD_LAYOUT = data.StructLayout(
    {"field": 128, "compressed": 1, "auth_tag": 64, "job": DATA_JOB_LAYOUT, "code": FIELD_CODE_LAYOUT}
)
"""A Request that holds its credits; a ``compressed`` field is in the low half of ``field``. ``auth_tag`` is what UPLI
brought along."""

RESPONSE_FIELD_LAYOUT = data.StructLayout(
    {"field": 64, "compressed": 1, "auth_tag": 64, "job": DATA_JOB_LAYOUT, "code": FIELD_CODE_LAYOUT}
)
"""A Response that holds its credits; as in ``REQUEST_FIELD_LAYOUT``."""

FIELD_FORM_LAYOUT = data.StructLayout({"compressed": 1, "job": DATA_JOB_LAYOUT})
"""What is to be known of a Request or a Response before it is decided whether it goes."""

CONTROL_COUNTS_LAYOUT = data.StructLayout(
    {
        "message": 1,
        "requests": range(5),
        "responses": range(9),
        "request_half_flits": range(37),
        "response_half_flits": data.ArrayLayout(range(33), 2),
        "some": 1,
        "two": 1,
        "tagged": 1,
    }
)
"""The number of Requests and Responses in a Control half-flit and the data half-flits that they owe, of Responses those
of the first four and those of the others, whether all these are ``some`` or ``two``, or, with ``message``, a Message
half-flit that takes the place of one. With ``tagged`` an AuthTags half-flit belongs to it (UALink_200 §5.1.1)."""

CONTROL_CONTENT_LAYOUT = data.StructLayout({"data": 256, "message": 1, "tags": 256, "code": 1, "tags_code": 1})
"""The same half-flit as it stands in the flit, and its AuthTags half-flit. ``code`` : even parity over ``data`` and
``message``; ``tags_code`` : over ``tags``."""

HALF_FLIT_LAYOUT = data.StructLayout({"data": 256, "message": 1, "code": 1})
"""A half-flit that is data or byte enables, or, with ``message``, a Poisoned Data message in the place of data.
``code`` : even parity over both."""

ORIG_DATA_BEAT_LAYOUT = data.StructLayout(
    {"data": 512, "byte_en": 64, "error": 1, "code": data.StructLayout({"data": 2, "byte_en": 1})}
)
"""What the link carries of an OrigData beat, ``data`` of one in ``error`` as ``carried_data`` makes them. ``code`` is
even parity: ``data`` (2 bits), one over each half of ``data`` and ``error``; ``byte_en`` (1 bit)."""

READ_DATA_BEAT_LAYOUT = data.StructLayout(
    {"data": 512, "error": 1, "code": data.StructLayout({"data": 2}), "spoilt": SPOILT // 2}
)
"""What the link carries of the data of a Read Response beat; as above, but all of ``code`` is inverted if
an odd number of bits of ``spoilt`` are set: the beat was not what its control said, which is known late."""


def carried_data(bits, error) -> Value:
    """The 512 ``bits`` of a beat, or of one in ``error`` two Poisoned Data messages (UALink_200 §5.3)."""
    message = Const(MessageType.POISONED_DATA.value, 256)
    return Mux(error, Cat(message, message), bits)


def carried_code(code, error, upset) -> Value:
    """The code of the two halves of ``carried_data`` with ``error``, made of the 8 bits of ``code`` of the beat's data;
    wrong if ``upset``."""
    message = code_of(Const(MessageType.POISONED_DATA.value, 256), Const(1))
    return Cat(code_of(Mux(error, message, code_of(half)), upset) for half in (code[:4], code[4:]))
