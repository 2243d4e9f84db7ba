"""The six control fields of a Control half-flit, bit by bit (UALink_200 §5.9, Tables 5-27 to 5-38).

A field is one little-endian integer over its sectors, so FTYPE is the top nibble of its highest sector. ``WIDTHS`` has
the members in the order of the tables, most significant first; names are those of the tables with words divided.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

__all__ = [
    "FIELD_TYPES",
    "HALF_FLIT_BYTES",
    "NOP",
    "CompressedReadResponse",
    "CompressedRequest",
    "CompressedResponse",
    "ControlField",
    "Credit",
    "FieldError",
    "FlowControl",
    "Request",
    "Response",
    "UncompressedRequest",
    "UncompressedResponse",
    "decode_control_half_flit",
    "encode_control_half_flit",
]

HALF_FLIT_BYTES = 32
SECTORS = 8

READ, WRITE, WRITE_FULL, UPLI_WRITE_MESSAGE = 0x03, 0x28, 0x29, 0x2A
COMPRESSED_COMMANDS = {0b000: READ, 0b100: WRITE, 0b110: WRITE_FULL}
"""CMD of a Compressed Request and the ReqCmd that it stands for (UALink_200 Table 5-33); other codes are reserved."""


class FieldError(ValueError):
    """A control field or half-flit that Rev 1.0 does not allow."""


@dataclass(frozen=True, kw_only=True)
class ControlField:
    """Common part: ``WIDTHS`` gives the bits of each member below FTYPE."""

    FTYPE: ClassVar[int]
    sectors: ClassVar[int]
    WIDTHS: ClassVar[dict[str, int]]
    is_request: ClassVar[bool] = False
    is_response: ClassVar[bool] = False

    def __post_init__(self):
        for name, width in self.WIDTHS.items():
            value = getattr(self, name)
            if not 0 <= value < 1 << width:
                raise FieldError(f"{type(self).__name__}.{name} is {value:#x}; it has {width} bits")

    def encode(self) -> int:
        """The field as an integer of 32 bits a sector; spare bits are 0."""
        value = self.FTYPE
        for name, width in self.WIDTHS.items():
            value = value << width | getattr(self, name)
        return value << (32 * self.sectors - 4 - sum(self.WIDTHS.values()))

    @classmethod
    def decode(cls, value: int) -> Self:
        """Take the field apart; FTYPE is not looked at and spare bits are ignored."""
        low = 32 * cls.sectors - 4
        members = {}
        for name, width in cls.WIDTHS.items():
            low -= width
            members[name] = value >> low & ((1 << width) - 1)
        return cls(**members)

    def data_beats(self) -> int:
        """64-byte beats of data that the field brings along: its data credits."""
        return 0

    def half_flits(self, uwm_has_byte_enables: bool = True) -> int:
        """Data half-flits that the field owes, its byte enables included (UALink_200 §5.1.1).

        ``uwm_has_byte_enables`` is ruling D03: a UPLI Write Message ends with a byte-enable half-flit.
        """
        return 2 * self.data_beats() + self.has_byte_enables(uwm_has_byte_enables)

    def has_byte_enables(self, uwm_has_byte_enables: bool = True) -> bool:
        """True when the last of the owed half-flits holds byte enables."""
        return False


@dataclass(frozen=True, kw_only=True)
class Request(ControlField):
    """What both Request formats share: ``pool`` is 1 for a Pool credit (ruling D06)."""

    cmd: int = 0
    vchan: int = 0
    asi: int = 0
    tag: int = 0
    pool: int = 0
    is_request: ClassVar[bool] = True

    @property
    def req_cmd(self) -> int:
        """ReqCmd that the field stands for."""
        return self.cmd

    def has_byte_enables(self, uwm_has_byte_enables: bool = True) -> bool:
        without = (WRITE_FULL,) if uwm_has_byte_enables else (WRITE_FULL, UPLI_WRITE_MESSAGE)
        return self.data_beats() > 0 and self.req_cmd not in without


@dataclass(frozen=True, kw_only=True)
class Response(ControlField):
    """What the three Response formats share."""

    vchan: int = 0
    tag: int = 0
    pool: int = 0
    is_response: ClassVar[bool] = True

    @property
    def is_read(self) -> bool:
        """True for a Read Response, which brings data along; False for a Write Response."""
        return True

    def data_beats(self) -> int:
        return getattr(self, "len", 0) + 1 if self.is_read else 0


@dataclass(frozen=True, kw_only=True)
class UncompressedRequest(Request):
    """FTYPE 1h, sectors 7654 or 3210 (Table 5-29): ``addr`` is ReqAddr[56:2], ``num_beats`` is beats-1 (D05)."""

    attr: int = 0
    len: int = 0
    meta_data: int = 0
    addr: int = 0
    src_acc_id: int = 0
    dst_acc_id: int = 0
    cload: int = 0
    cway: int = 0
    num_beats: int = 0
    FTYPE: ClassVar[int] = 0x1
    sectors: ClassVar[int] = 4
    WIDTHS: ClassVar[dict[str, int]] = {
        "cmd": 6,
        "vchan": 2,
        "asi": 2,
        "tag": 11,
        "pool": 1,
        "attr": 8,
        "len": 6,
        "meta_data": 8,
        "addr": 55,
        "src_acc_id": 10,
        "dst_acc_id": 10,
        "cload": 1,
        "cway": 2,
        "num_beats": 2,
    }

    @property
    def byte_address(self) -> int:
        """ReqAddr, 57 bits."""
        return self.addr << 2

    def data_beats(self) -> int:
        return self.num_beats + 1 if self.cmd & 0x20 else 0


@dataclass(frozen=True, kw_only=True)
class UncompressedResponse(Response):
    """FTYPE 2h, sectors 76, 54, 32 or 10 (Table 5-30): ``rd_wr`` is 1 for a Read Response (ruling D01)."""

    len: int = 0
    offset: int = 0
    status: int = 0
    rd_wr: int = 0
    last: int = 0
    src_acc_id: int = 0
    dst_acc_id: int = 0
    FTYPE: ClassVar[int] = 0x2
    sectors: ClassVar[int] = 2
    WIDTHS: ClassVar[dict[str, int]] = {
        "vchan": 2,
        "tag": 11,
        "pool": 1,
        "len": 2,
        "offset": 2,
        "status": 4,
        "rd_wr": 1,
        "last": 1,
        "src_acc_id": 10,
        "dst_acc_id": 10,
    }

    @property
    def is_read(self) -> bool:
        return bool(self.rd_wr)


@dataclass(frozen=True, kw_only=True)
class CompressedRequest(Request):
    """FTYPE 3h, sectors 76, 54, 32 or 10 (Tables 5-31 to 5-33): ``addr`` is ReqAddr[19:6], ``cway`` names the rest."""

    len: int = 0
    meta_data: int = 0
    addr: int = 0
    src_acc_id: int = 0
    dst_acc_id: int = 0
    cway: int = 0
    FTYPE: ClassVar[int] = 0x3
    sectors: ClassVar[int] = 2
    WIDTHS: ClassVar[dict[str, int]] = {
        "cmd": 3,
        "vchan": 2,
        "asi": 2,
        "tag": 11,
        "pool": 1,
        "len": 2,
        "meta_data": 3,
        "addr": 14,
        "src_acc_id": 10,
        "dst_acc_id": 10,
        "cway": 2,
    }

    def __post_init__(self):
        super().__post_init__()
        if self.cmd not in COMPRESSED_COMMANDS:
            raise FieldError(f"CMD 0b{self.cmd:03b} of a Compressed Request is reserved")

    @property
    def req_cmd(self) -> int:
        return COMPRESSED_COMMANDS[self.cmd]

    @property
    def crosses_block(self) -> bool:
        """It would not end in the 256-byte block where it begins; legal only where ADDR may be ciphertext (TL-226)."""
        return (self.addr & 3) + self.len > 3

    def data_beats(self) -> int:
        return 0 if self.req_cmd == READ else self.len + 1


@dataclass(frozen=True, kw_only=True)
class CompressedReadResponse(Response):
    """FTYPE 4h, any sector (Table 5-34): one beat in single-beat mode, status OKAY."""

    dst_acc_id: int = 0
    offset: int = 0
    last: int = 0
    FTYPE: ClassVar[int] = 0x4
    sectors: ClassVar[int] = 1
    WIDTHS: ClassVar[dict[str, int]] = {"vchan": 2, "tag": 11, "pool": 1, "dst_acc_id": 10, "offset": 2, "last": 1}


@dataclass(frozen=True, kw_only=True)
class CompressedResponse(Response):
    """FTYPE 5h, any sector (Table 5-36): a Write Response or a burst of read beats, status OKAY."""

    dst_acc_id: int = 0
    len: int = 0
    rd_wr: int = 0
    FTYPE: ClassVar[int] = 0x5
    sectors: ClassVar[int] = 1
    WIDTHS: ClassVar[dict[str, int]] = {"vchan": 2, "tag": 11, "pool": 1, "dst_acc_id": 10, "len": 2, "rd_wr": 1}

    @property
    def is_read(self) -> bool:
        return bool(self.rd_wr)


@dataclass(frozen=True)
class Credit:
    """Credits of one class in a Flow Control field: for VC ``vc``, or for the Pool when ``vc`` is None."""

    count: int = 0
    vc: int | None = None

    def encode(self, count_bits: int) -> int:
        """``tvv`` above the count; t is 0 for the Pool, the opposite sense of the POOL bit (ruling D06)."""
        if not 0 <= self.count < 1 << count_bits:
            raise FieldError(f"{self.count} credits in one field; the count has {count_bits} bits")
        if self.vc is not None and not 0 <= self.vc < 4:
            raise FieldError(f"VC {self.vc} of a credit; VCs are 0 to 3")
        return (0 if self.vc is None else 0b100 | self.vc) << count_bits | self.count

    @classmethod
    def decode(cls, value: int, count_bits: int) -> Self:
        """Take ``tvv`` and count apart; vv is ignored when t is 0."""
        top = value >> count_bits
        return cls(value & ((1 << count_bits) - 1), top & 3 if top & 4 else None)


@dataclass(frozen=True, kw_only=True)
class FlowControl(ControlField):
    """FTYPE 0h, any sector (Table 5-38); without any credit it is the NOP field, 32 zeros."""

    req_cmd: Credit = Credit()
    rsp_cmd: Credit = Credit()
    req_data: Credit = Credit()
    rsp_data: Credit = Credit()
    FTYPE: ClassVar[int] = 0x0
    sectors: ClassVar[int] = 1
    WIDTHS: ClassVar[dict[str, int]] = {}
    COUNT_BITS: ClassVar[dict[str, int]] = {"req_cmd": 3, "rsp_cmd": 3, "req_data": 5, "rsp_data": 5}

    def encode(self) -> int:
        value = 0
        for name, bits in self.COUNT_BITS.items():
            value = value << (bits + 3) | getattr(self, name).encode(bits)
        return value

    @classmethod
    def decode(cls, value: int) -> Self:
        members: dict[str, Any] = {}
        for name, bits in reversed(cls.COUNT_BITS.items()):
            members[name] = Credit.decode(value & ((8 << bits) - 1), bits)
            value >>= bits + 3
        return cls(**members)


NOP = FlowControl()

FIELD_TYPES: dict[int, type[ControlField]] = {
    kind.FTYPE: kind
    for kind in (
        FlowControl,
        UncompressedRequest,
        UncompressedResponse,
        CompressedRequest,
        CompressedReadResponse,
        CompressedResponse,
    )
}


def _check_block(control: ControlField) -> None:
    if isinstance(control, CompressedRequest) and control.crosses_block:
        raise FieldError(f"Compressed Request of {control.len + 1} blocks at ADDR {control.addr:#x} crosses 256 bytes")


def encode_control_half_flit(fields: Iterable[tuple[int, ControlField]], encryption: bool = False) -> bytes:
    """32 bytes with each field at its lowest sector and NOP fields elsewhere; FieldError for an illegal footprint.

    ``encryption`` : the link may carry encrypted traffic, in which a Compressed Request may seem to cross 256 bytes.
    """
    value, used = 0, 0
    for sector, control in fields:
        if not 0 <= sector <= SECTORS - control.sectors or sector % control.sectors:
            raise FieldError(f"a field of {control.sectors} sectors cannot stand at sector {sector}")
        footprint = (1 << control.sectors) - 1 << sector
        if used & footprint:
            raise FieldError(f"two fields overlap at sector {sector}")
        used |= footprint
        if not encryption:
            _check_block(control)
        value |= control.encode() << (32 * sector)
    return value.to_bytes(HALF_FLIT_BYTES, "little")


def decode_control_half_flit(half_flit: bytes, encryption: bool = False) -> list[tuple[int, ControlField]]:
    """The fields of a Control half-flit with their lowest sectors, in ascending order; NOP fields are left out.

    ``encryption`` : as in ``encode_control_half_flit``.
    """
    if len(half_flit) != HALF_FLIT_BYTES:
        raise ValueError(f"{len(half_flit)} bytes given; a half-flit has {HALF_FLIT_BYTES}")
    fields = []
    top = SECTORS - 1
    while top >= 0:  # FTYPE is at the top of a field, so fields are found from sector 7 down
        ftype = half_flit[4 * top + 3] >> 4
        if ftype not in FIELD_TYPES:
            raise FieldError(f"FTYPE {ftype:#x} in sector {top} is not legal")
        kind = FIELD_TYPES[ftype]
        sector = top - kind.sectors + 1
        if sector < 0 or sector % kind.sectors:
            raise FieldError(f"a field of {kind.sectors} sectors cannot end in sector {top}")
        value = int.from_bytes(half_flit[4 * sector : 4 * top + 4], "little")
        if value:
            fields.append((sector, kind.decode(value)))
            if not encryption:
                _check_block(fields[-1][1])
        top = sector - 1
    return fields[::-1]
