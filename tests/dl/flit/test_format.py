"""Format constants of the DL flit against the figure's offsets and the executable model."""

import pytest

from ualink.dl.flit import format as flit
from ualink.dl.flit.format import BYTE_MAP, FlitOp
from ualink_sim.model.dl.flit import DLFlit, byte_map
from ualink_sim.model.dl.header import CommandHeader, ExplicitHeader
from ualink_sim.model.dl.packing import SegmentHeader


@pytest.mark.req("DL-011")
def test_byte_map_is_that_of_the_figure():
    assert [tuple(place) for place in BYTE_MAP] == [
        (p.kind, p.number, p.byte) if p.kind in ("S", "SH") else (p.kind, 0, p.number) for p in byte_map()
    ]
    assert flit.SEGMENT_HEADER_OFFSETS == (0x043, 0x0C3, 0x143, 0x1C3, 0x243)
    assert (flit.FLIT_HEADER_OFFSET, flit.CRC_OFFSET) == (0x270, 0x27C)


@pytest.mark.req("DL-011")
def test_moved_sectors_stand_where_the_table_says():
    offsets = {31: (64, 65, 66, 131), 47: (128, 129, 130, 194), 63: (192, 193, 258, 259), 79: (256, 257, 321, 322)}
    offsets |= {
        95: (320, 385, 386, 387),
        111: (384, 448, 449, 450),
        156: (576, 577, 578, 627),
        154: (628, 629, 630, 631),
    }
    for sector, places in offsets.items():
        assert tuple(BYTE_MAP.index(("S", sector, byte)) for byte in range(4)) == places


@pytest.mark.req("DL-009", "DL-010")
def test_halves_make_the_segments():
    halves = flit.HALF_SEGMENT_SECTORS
    assert tuple(a + b for a, b in zip(halves[::2], halves[1::2])) == (32, 32, 32, 31, 30)
    assert flit.FIRST_SECTOR == (0, 16, 32, 48, 64, 80, 96, 112, 127, 143)


@pytest.mark.req("DL-013", "DL-014", "DL-015", "DL-016", "DL-017")
def test_segment_header_layout():
    for alt, first, second in [(0, None, None), (1, 2, None), (0, None, 1), (1, 3, 2), (0, 0, 0)]:
        values = {
            "alternative_sector": alt,
            "message_0": first or 0,
            "tl_flit_0": first is not None,
            "message_1": second or 0,
            "tl_flit_1": second is not None,
        }
        assert (
            flit.SEGMENT_HEADER_LAYOUT.const(values).as_value().value
            == SegmentHeader(bool(alt), (first, second)).encode()
        )
    assert flit.SEGMENT_HEADER_LAYOUT["reserved"].offset == 1


def test_flit_header_layouts():
    explicit = {"flit_seq_no": 0x155, "payload": 1, "op": FlitOp.REPLAY}
    command = {"flit_seq_lo": 5, "ack_req_seq": 0x1FE, "payload": 0, "op": FlitOp.REPLAY_REQUEST}
    assert flit.EXPLICIT_HEADER_LAYOUT.const(explicit).as_value().value == (1 << 21) | (1 << 20) | (0x155 << 8)
    assert flit.COMMAND_HEADER_LAYOUT.const(command).as_value().value == (3 << 21) | (0x1FE << 11) | (5 << 8)
    assert flit.EXPLICIT_HEADER_LAYOUT.size == flit.COMMAND_HEADER_LAYOUT.size == 24
    header = ExplicitHeader(payload=True, replay=True, flit_seq_no=0x155).encode()
    assert flit.EXPLICIT_HEADER_LAYOUT.const(explicit).as_value().value == header
    header = CommandHeader(payload=False, replay_request=True, ack_req_seq=0x1FE, flit_seq_lo=5).encode()
    assert flit.COMMAND_HEADER_LAYOUT.const(command).as_value().value == header
    wire = DLFlit(header=header).encode()
    assert int.from_bytes(wire[flit.FLIT_HEADER_OFFSET : flit.FLIT_HEADER_OFFSET + 3], "little") == header
