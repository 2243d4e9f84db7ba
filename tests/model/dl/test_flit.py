"""Byte map, header and CRC of the DL flit against the table form of Figure 6-4 and worked vectors."""

import random

import pytest

from ualink_sim.model.dl.flit import SECTORS, SEGMENT_SECTORS, SEGMENT_START, DLFlit, byte_map, crc_bytes, crc_ok
from ualink_sim.model.dl.header import CommandHeader, ExplicitHeader, HeaderError, decode_header

MOVED = {
    31: (64, 65, 66, 131),
    47: (128, 129, 130, 194),
    63: (192, 193, 258, 259),
    79: (256, 257, 321, 322),
    95: (320, 385, 386, 387),
    111: (384, 448, 449, 450),
    156: (576, 577, 578, 627),
}


def sector_offsets(s):
    """Closed form of the grid: where the bytes of sector ``s`` stand."""
    if s in MOVED:
        return MOVED[s]
    if s < 16:
        first = 4 * s
    elif s < 111:
        first = 64 * (s // 16) + 4 * (s % 16) + 4
    elif s < 127:
        first = 448 + 4 * (s - 112) + 4
    elif s < 143:
        first = 512 + 4 * (s - 127)
    elif s < 154:
        first = 576 + 4 * (s - 143) + 4
    else:
        first = {154: 628, 155: 632}[s]
    return tuple(range(first, first + 4))


@pytest.mark.req("DL-009", "DL-010", "DL-011", "DL-033")
def test_byte_map_is_the_grid():
    expected = {offset: ("S", s, y) for s in range(SECTORS) for y, offset in enumerate(sector_offsets(s))}
    expected |= {offset: ("SH", n, 0) for n, offset in enumerate((67, 195, 323, 451, 579))}
    expected |= {624 + n: ("FH", n, 0) for n in range(3)}
    expected |= {636 + n: ("CRC", n, 0) for n in range(4)}
    assert len(expected) == 640
    assert [tuple(place) for place in byte_map()] == [expected[offset] for offset in range(640)]
    assert SEGMENT_SECTORS == (32, 32, 32, 31, 30)
    assert [start + 16 for start in SEGMENT_START] == [16, 48, 80, 112, 143]


@pytest.mark.req("DL-011")
def test_every_byte_lands_in_its_place():
    for offset, place in enumerate(byte_map()):
        flit = bytearray(640)
        flit[offset] = 0xA5
        decoded = DLFlit.decode(bytes(flit))
        if place.kind == "S":
            assert decoded.sectors[place.number] == 0xA5 << (8 * place.byte)
        elif place.kind == "SH":
            assert decoded.segment_headers[place.number] == 0xA5
        elif place.kind == "FH":
            assert decoded.header == 0xA5 << (8 * place.number)
        else:
            assert decoded == DLFlit()


def test_encode_inverts_decode():
    rng = random.Random(1)
    for _ in range(50):
        flit = DLFlit(
            [rng.getrandbits(8) for _ in range(5)], [rng.getrandbits(32) for _ in range(157)], rng.getrandbits(24)
        )
        wire = flit.encode()
        assert crc_ok(wire) and not crc_ok(wire, covers_zero_field=False)
        assert DLFlit.decode(wire) == flit
    with pytest.raises(ValueError, match="639 bytes"):
        DLFlit.decode(bytes(639))
    with pytest.raises(ValueError, match="157"):
        DLFlit([0] * 5, [0] * 156).encode()


def header_at_624(*values):
    return bytes(624) + bytes(values) + bytes(9)


VECTORS = [
    (bytes(636), "d2ee685b", "3aff2e61"),
    (bytes(n % 256 for n in range(636)), "f2b7e5f8", "9f93b127"),
    (header_at_624(0x00, 0xFF, 0x01), "53d47864", "95603148"),
    (header_at_624(0x00, 0xFF, 0x4F), "02903dea", "94aedd80"),
    (header_at_624(0x00, 0x01, 0x10), "297c8f7a", "5dfb5475"),
]


def bit_serial_crc(first636, covers_zero_field):
    register = 0xFFFFFFFF
    for byte in first636 + (bytes(4) if covers_zero_field else b""):
        for i in range(8):
            feedback = (register >> 31) ^ (byte >> i & 1)
            register = (register << 1 & 0xFFFFFFFF) ^ (0x04C11DB7 if feedback else 0)
    return (register ^ 0xFFFFFFFF).to_bytes(4, "little")


@pytest.mark.req("DL-004", "DL-012", "DL-034", "DL-035")
@pytest.mark.parametrize(("body", "covered", "uncovered"), VECTORS)
def test_crc_vectors(body, covered, uncovered):
    assert crc_bytes(body).hex() == covered == bit_serial_crc(body, True).hex()
    assert crc_bytes(body, covers_zero_field=False).hex() == uncovered == bit_serial_crc(body, False).hex()


@pytest.mark.req("DL-004", "DL-012")
def test_crc_finds_every_single_and_some_double_bit_errors():
    rng = random.Random(2)
    wire = DLFlit(sectors=[rng.getrandbits(32) for _ in range(157)]).encode()
    number = int.from_bytes(wire, "little")
    for bit in range(5120):
        assert not crc_ok((number ^ 1 << bit).to_bytes(640, "little"))
    for _ in range(500):
        first, second = rng.sample(range(5120), 2)
        assert not crc_ok((number ^ 1 << first ^ 1 << second).to_bytes(640, "little"))


@pytest.mark.req("DL-182")
def test_inverted_crc_is_refused():
    flit = DLFlit()
    assert flit.encode(invert_crc=True)[636:].hex() == "2d1197a4"
    assert not crc_ok(flit.encode(invert_crc=True))
    assert not crc_ok(flit.encode(crc_covers_zero_field=False, invert_crc=True), covers_zero_field=False)


HEADERS = [
    (ExplicitHeader(False, False, 511), 0x01FF00),
    (ExplicitHeader(True, False, 1), 0x100100),
    (ExplicitHeader(True, True, 0x155), 0x315500),
    (CommandHeader(False, False, 511, 7), 0x4FFF00),
    (CommandHeader(True, False, 0x0AA, 5), 0x555500),
    (CommandHeader(False, True, 1, 0), 0x600800),
    (CommandHeader(True, True, 0x1FF, 2), 0x7FFA00),
]


@pytest.mark.req("DL-132", "DL-133", "DL-134")
@pytest.mark.parametrize(("header", "value"), HEADERS)
def test_headers(header, value):
    assert header.encode() == value
    assert decode_header(value) == header
    assert decode_header(value | 0xFF) == header, "bits 7..0 are reserved"
    if isinstance(header, ExplicitHeader):
        assert decode_header(value | 0x0E0000) == header, "bits 19..17 are reserved"


@pytest.mark.req("DL-011")
def test_header_bytes_on_the_wire():
    assert DLFlit(header=0x4FFF00).encode() == header_at_624(0x00, 0xFF, 0x4F)[:636] + bytes.fromhex("02903dea")


@pytest.mark.req("DL-134")
@pytest.mark.parametrize("op_payload", [0b0010, *range(0b1000, 0b10000)])
def test_reserved_op_codes(op_payload):
    with pytest.raises(HeaderError, match="reserved"):
        decode_header(op_payload << 20)
