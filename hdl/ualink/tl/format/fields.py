"""Bit layouts of the control fields, message types and what each field brings along (UALink_200 §5.1.1, §5.9).

A field is one little-endian integer over its sectors, so FTYPE is the top nibble of its highest sector. Names are those
of the tables with words divided: NUMBEATS is ``num_beats``, SRCACCID is ``src_acc_id``, RD/WR is ``rd_wr``.
"""

from amaranth.hdl import Mux
from amaranth.lib import data, enum

from ualink.upli.commands import ReqCmd

__all__ = [
    "COMPRESSED_REQUEST",
    "COMPRESSED_RESPONSE",
    "COMPRESSED_SINGLE_BEAT_READ_RESPONSE",
    "CREDIT_CLASSES",
    "FIELD_LAYOUTS",
    "FIELD_SECTORS",
    "FLOW_CONTROL",
    "UNCOMPRESSED_REQUEST",
    "UNCOMPRESSED_RESPONSE",
    "CompressedCmd",
    "FType",
    "MessageType",
    "first_byte_enable_slot",
    "has_byte_enables",
    "request_half_flits",
    "response_half_flits",
]


class FType(enum.IntEnum, shape=4):
    """Top four bits of a field (UALink_200 Table 5-27); codes 6h-Fh are not legal."""

    FLOW_CONTROL = 0x0
    UNCOMPRESSED_REQUEST = 0x1
    UNCOMPRESSED_RESPONSE = 0x2
    COMPRESSED_REQUEST = 0x3
    COMPRESSED_SINGLE_BEAT_READ_RESPONSE = 0x4
    COMPRESSED_RESPONSE = 0x5


class CompressedCmd(enum.IntEnum, shape=3):
    """CMD of a Compressed Request (UALink_200 Table 5-33); other codes are reserved."""

    READ = 0b000
    WRITE = 0b100
    WRITE_FULL = 0b110


class MessageType(enum.IntEnum, shape=8):
    """Byte 0 of a Message half-flit (UALink_200 Table 5-28); other types are not legal."""

    NOP = 0x00
    INITIAL_CREDIT_RELEASE_COMPLETE = 0x01
    POISONED_DATA = 0x20


CREDIT_CLASSES = ("req_cmd", "rsp_cmd", "req_data", "rsp_data")
"""The four credit classes; each has a Pool bucket and one bucket per VC (UALink_200 §5.8)."""

UNCOMPRESSED_REQUEST = data.StructLayout(
    {
        "num_beats": 2,
        "cway": 2,
        "cload": 1,
        "dst_acc_id": 10,
        "src_acc_id": 10,
        "addr": 55,
        "meta_data": 8,
        "len": 6,
        "attr": 8,
        "pool": 1,
        "tag": 11,
        "asi": 2,
        "vchan": 2,
        "cmd": 6,
        "ftype": 4,
    }
)
"""FTYPE 1h, 128 bits in sectors 7654 or 3210 (UALink_200 Table 5-29); ``addr`` is ReqAddr[56:2]; ``num_beats`` is beats
minus one (ruling D05); ``pool`` 1 = Pool credit (ruling D06)."""

UNCOMPRESSED_RESPONSE = data.StructLayout(
    {
        "spare": 16,
        "dst_acc_id": 10,
        "src_acc_id": 10,
        "last": 1,
        "rd_wr": 1,
        "status": 4,
        "offset": 2,
        "len": 2,
        "pool": 1,
        "tag": 11,
        "vchan": 2,
        "ftype": 4,
    }
)
"""FTYPE 2h, 64 bits in sectors 76, 54, 32 or 10 (UALink_200 Table 5-30); ``rd_wr`` 1 = Read (ruling D01)."""

COMPRESSED_REQUEST = data.StructLayout(
    {
        "cway": 2,
        "dst_acc_id": 10,
        "src_acc_id": 10,
        "addr": 14,
        "meta_data": 3,
        "len": 2,
        "pool": 1,
        "tag": 11,
        "asi": 2,
        "vchan": 2,
        "cmd": 3,
        "ftype": 4,
    }
)
"""FTYPE 3h, 64 bits in sectors 76, 54, 32 or 10 (UALink_200 Table 5-31); ``addr`` is ReqAddr[19:6]."""

COMPRESSED_SINGLE_BEAT_READ_RESPONSE = data.StructLayout(
    {
        "spare": 1,
        "last": 1,
        "offset": 2,
        "dst_acc_id": 10,
        "pool": 1,
        "tag": 11,
        "vchan": 2,
        "ftype": 4,
    }
)
"""FTYPE 4h, 32 bits in any sector (UALink_200 Table 5-34)."""

COMPRESSED_RESPONSE = data.StructLayout(
    {
        "spare": 1,
        "rd_wr": 1,
        "len": 2,
        "dst_acc_id": 10,
        "pool": 1,
        "tag": 11,
        "vchan": 2,
        "ftype": 4,
    }
)
"""FTYPE 5h, 32 bits in any sector (UALink_200 Table 5-36); ``rd_wr`` 1 = Read, 0 = Write."""


def _credit_return(count_bits):
    return data.StructLayout({"count": count_bits, "vc": 2, "is_vc": 1})


FLOW_CONTROL = data.StructLayout(
    {
        "rsp_data": _credit_return(5),
        "req_data": _credit_return(5),
        "rsp_cmd": _credit_return(3),
        "req_cmd": _credit_return(3),
        "ftype": 4,
    }
)
"""FTYPE 0h, 32 bits in any sector, all zero = NOP (UALink_200 Table 5-38). ``is_vc`` is the bit t of a class: 0 = Pool,
1 = the VC in ``vc``, the opposite sense of POOL in Requests and Responses (ruling D06)."""

FIELD_LAYOUTS = {
    FType.FLOW_CONTROL: FLOW_CONTROL,
    FType.UNCOMPRESSED_REQUEST: UNCOMPRESSED_REQUEST,
    FType.UNCOMPRESSED_RESPONSE: UNCOMPRESSED_RESPONSE,
    FType.COMPRESSED_REQUEST: COMPRESSED_REQUEST,
    FType.COMPRESSED_SINGLE_BEAT_READ_RESPONSE: COMPRESSED_SINGLE_BEAT_READ_RESPONSE,
    FType.COMPRESSED_RESPONSE: COMPRESSED_RESPONSE,
}

FIELD_SECTORS = {ftype: layout.size // 32 for ftype, layout in FIELD_LAYOUTS.items()}
"""Sectors that a field of each FTYPE covers; it starts at a multiple of that number."""


def has_byte_enables(cmd, *, uwm_has_byte_enables: bool = True):
    """True (or a 1-bit expression) when the data of a Request with ReqCmd ``cmd`` end with a byte-enable half-flit.

    Every command with originator data has one except WriteFull (UALink_200 §5.1.1); a UPLI Write Message by ruling D03.
    """
    if isinstance(cmd, int):
        without = {ReqCmd.WRITE_FULL.value} | (set() if uwm_has_byte_enables else {ReqCmd.UPLI_WRITE_MESSAGE.value})
        return bool(cmd >> 5 & 1) and cmd not in without
    without_byte_enables = cmd == ReqCmd.WRITE_FULL.value
    if not uwm_has_byte_enables:
        without_byte_enables |= cmd == ReqCmd.UPLI_WRITE_MESSAGE.value
    return cmd[5] & ~without_byte_enables


def first_byte_enable_slot(cmd, addr_slot, *, reading: str):
    """The quarter of a byte-enable half-flit that belongs to the first beat of a Request with ReqCmd ``cmd``.

    ``addr_slot`` is ReqAddr[7:6]; the further beats follow in order, modulo 4. ``reading`` is
    ``TLConfig.byte_enable_slots`` (ruling D04): with "beat" those of UPLI Write Messages and vendor commands (2Ch to
    2Fh, 3Ch to 3Fh), whose ReqAddr need not be an address, begin at 0.
    """
    if reading == "address":
        return addr_slot
    has_no_address = (cmd == ReqCmd.UPLI_WRITE_MESSAGE.value) | (cmd[5] & cmd[2:4].all())
    return Mux(has_no_address, 0, addr_slot)


def request_half_flits(cmd, num_beats, *, uwm_has_byte_enables: bool = True):
    """Data half-flits that a Request owes, 0 to 9: two a beat and the byte enables (UALink_200 §5.1.1).

    ``num_beats`` is ReqNumBeats, beats minus one; integers give an integer, values give an expression.
    """
    byte_enables = has_byte_enables(cmd, uwm_has_byte_enables=uwm_has_byte_enables)
    if isinstance(cmd, int):
        return 2 * (num_beats + 1) + byte_enables if cmd >> 5 & 1 else 0
    return Mux(cmd[5], 2 * num_beats + 2 + byte_enables, 0)


def response_half_flits(rd_wr, num_beats):
    """Data half-flits that a Response owes: two a beat of a Read Response, none of a Write Response."""
    if isinstance(rd_wr, int):
        return 2 * (num_beats + 1) if rd_wr else 0
    return Mux(rd_wr, 2 * num_beats + 2, 0)
