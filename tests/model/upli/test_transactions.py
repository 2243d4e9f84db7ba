"""Beats, lanes, byte enables and legality of UPLI Requests: the worked examples of the standard and more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ualink_sim.model.upli.transactions import (
    RdRspBeat,
    ReqCmd,
    Request,
    beats_of,
    element_bytes,
    has_orig_data,
    is_reserved,
    is_vendor_defined,
    lane_masks,
    op_type,
    orig_data,
    read_data,
    read_masks,
    responds_on_rd_rsp,
    violations,
)

ALL = 0xFFFFFFFFFFFFFFFF

READS = [
    (0x000, 3, 0xFF, [0xFFFF]),
    (0x038, 3, 0xFF, [0xFF00000000000000, 0xFF]),
    (0x034, 0, 0x04, [0x0040000000000000]),
    (0x034, 0, 0xF4, [0x0040000000000000]),
    (0x038, 1, 0x7E, [0x7E00000000000000]),
    (0x03C, 1, 0x3C, [0xC000000000000000, 0x3]),
    (0x03C, 1, 0xFF, [0xF000000000000000, 0xF]),
    (0x1000, 63, 0xFF, [ALL] * 4),
    (0x044, 46, 0xFF, [0xFFFFFFFFFFFFFFF0, ALL, ALL]),
    (0x00C, 60, 0x18, [0xFFFFFFFFFFFF8000, ALL, ALL, 0x1FFFFFFFFFFFFFFF]),
]


@pytest.mark.req("UPLI-178", "UPLI-341", "UPLI-343", "UPLI-344", "UPLI-345", "UPLI-346", "UPLI-373")
@pytest.mark.parametrize(("addr", "length", "attr", "masks"), READS)
def test_read_examples(addr, length, attr, masks):
    assert read_masks(addr, length, attr) == masks
    assert not violations(Request(cmd=ReqCmd.READ, addr=addr, len=length, attr=attr))


WRITES = [
    (ReqCmd.WRITE, 0x000, 3, 0, [0xFFFF]),
    (ReqCmd.WRITE, 0x000, 15, 0, [ALL]),
    (ReqCmd.WRITE, 0x038, 2, 1, [0xFF00000000000000, 0xF]),
    (ReqCmd.WRITE_FULL, 0x000, 31, 1, [ALL] * 2),
    (ReqCmd.WRITE, 0x004, 62, 3, [0xFFFFFFFFFFFFFFF0, ALL, ALL, ALL]),
    (ReqCmd.WRITE, 0x040, 15, 0, [ALL]),
    (ReqCmd.WRITE_FULL, 0x040, 47, 2, [ALL] * 3),
]


@pytest.mark.req("UPLI-164", "UPLI-348", "UPLI-349", "UPLI-350", "UPLI-352", "UPLI-355", "UPLI-372")
@pytest.mark.parametrize(("cmd", "addr", "length", "num_beats", "masks"), WRITES)
def test_write_examples(cmd, addr, length, num_beats, masks):
    assert lane_masks(addr, length) == masks
    assert not violations(Request(cmd=cmd, addr=addr, len=length, num_beats=num_beats))
    assert violations(Request(cmd=cmd, addr=addr, len=length, num_beats=(num_beats + 1) % 4))


ILLEGAL = [
    (ReqCmd.READ, 0x0FC, 1, 0xFF, 0, "256"),
    (ReqCmd.READ, 0x002, 0, 0xFF, 0, "doubleword"),
    (ReqCmd.WRITE_FULL, 0x080, 47, 0, 2, "256"),
    (ReqCmd.WRITE_FULL, 0x020, 15, 0, 0, "64-byte"),
    (ReqCmd.WRITE_FULL, 0x040, 14, 0, 0, "64-byte"),
]


@pytest.mark.req("UPLI-164", "UPLI-192", "UPLI-194", "UPLI-356", "UPLI-372")
def test_lengths_and_byte_enables_of_writes():
    """Write is 1 to 64 doublewords in up to 4 beats; WriteFull 1 to 4 whole beats, every byte enabled."""
    write, full = {}, {}
    for first in range(64):
        for length in range(64):
            beats = (4 * (first + length + 1) + 63) // 64 - 4 * first // 64
            for cmd, legal in ((0x28, write), (0x29, full)):
                request = Request(cmd=cmd, addr=4 * first, len=length, num_beats=(beats - 1) % 4)
                if not violations(request):
                    legal[first, length] = orig_data(request, bytes(4 * (length + 1)))
    assert len(write) == 2080 and {len(beats) for beats in write.values()} == {1, 2, 3, 4}
    assert set(full) == {(16 * first, 16 * n + 15) for first in range(4) for n in range(4 - first)}
    for (_, length), beats in full.items():
        assert [beat.byte_en for beat in beats] == [ALL] * ((length + 1) // 16)


@pytest.mark.req("UPLI-176", "UPLI-189", "UPLI-342", "UPLI-355")
@pytest.mark.parametrize(("cmd", "addr", "length", "attr", "num_beats", "reason"), ILLEGAL)
def test_illegal_examples(cmd, addr, length, attr, num_beats, reason):
    assert reason in violations(Request(cmd=cmd, addr=addr, len=length, attr=attr, num_beats=num_beats))[0]


@pytest.mark.req("UPLI-176", "UPLI-341", "UPLI-342", "UPLI-373")
def test_every_range_of_a_block():
    legal = 0
    for first in range(64):
        for length in range(64):
            if violations(Request(cmd=ReqCmd.READ, addr=4 * first, len=length)):
                continue
            legal += 1
            masks = lane_masks(4 * first, length)
            assert len(masks) == beats_of(4 * first, length) <= 4 and all(masks)
            assert sum(mask.bit_count() for mask in masks) == 4 * (length + 1)
    assert legal == 2080


ATOMICS = [
    (1, 0b01, 0x010, 9, True),
    (1, 0b00, 0x000, 10, True),
    (2, 0b01, 0x020, 15, True),
    (2, 0b00, 0x000, 15, True),
    (2, 0b01, 0x0E0, 15, True),
    (1, 0b10, 0x008, 0, True),
    (1, 0b11, 0x03C, 0, True),
    (1, 0b01, 0x034, 1, False),
    (1, 0b01, 0x038, 3, False),
    (2, 0b00, 0x010, 15, False),
    (2, 0b00, 0x020, 7, False),
]


@pytest.mark.req("UPLI-358", "UPLI-359", "UPLI-365", "UPLI-370")
@pytest.mark.parametrize(("operands", "op_size", "addr", "length", "legal"), ATOMICS)
def test_atomic_examples(operands, op_size, addr, length, legal):
    request = Request(cmd=ReqCmd.ATOMIC_R, addr=addr, len=length, attr=op_size << 2)
    assert (not violations(request, operands)) == legal
    if legal:
        assert not violations(request)


@pytest.mark.req("UPLI-179", "UPLI-180")
def test_attributes_of_an_atomic():
    """OpType is {ReqAttr[0], ReqAttr[7:4]}, OpSize ReqAttr[3:2], and ReqAttr[1] means nothing."""
    for attr in range(256):
        assert op_type(attr) == 16 * (attr % 2) + attr // 16
        assert element_bytes(attr) == (4, 8, 2, 1)[attr // 4 % 4]
        assert (op_type(attr ^ 2), element_bytes(attr ^ 2)) == (op_type(attr), element_bytes(attr))
    assert (op_type(0x55), element_bytes(0x55)) == (0x15, 8)
    assert (op_type(0x30), element_bytes(0x30)) == (0x03, 4)


@pytest.mark.req("UPLI-180", "UPLI-358")
@pytest.mark.parametrize(("op_size", "size"), [(0b00, 4), (0b01, 8), (0b10, 2), (0b11, 1)])
def test_op_size_decides_what_a_whole_element_is(op_size, size):
    for first in range(16):
        for length in range(16 - first):
            request = Request(cmd=0x30, addr=4 * first, len=length, attr=op_size << 2)
            whole = 4 * first % size == 0 and 4 * (length + 1) % size == 0
            assert (not violations(request, 1)) == whole, (first, length)


RESERVED = [*range(0x03), *range(0x04, 0x08), *range(0x10, 0x28), 0x2B, 0x31, *range(0x33, 0x3C)]
VENDOR = [*range(0x08, 0x10), *range(0x2C, 0x30), *range(0x3C, 0x40)]


@pytest.mark.req("UPLI-184", "UPLI-187", "UPLI-188", "UPLI-192", "UPLI-194", "UPLI-197", "UPLI-198", "UPLI-201")
@pytest.mark.req("UPLI-207")
def test_command_map():
    """Table 2-6 code by code: what each is, whether it brings data, and which channel answers it."""
    assert {cmd.name: cmd.value for cmd in ReqCmd} == {
        "READ": 0x03,
        "WRITE": 0x28,
        "WRITE_FULL": 0x29,
        "UPLI_WRITE_MESSAGE": 0x2A,
        "ATOMIC_R": 0x30,
        "ATOMIC_NR": 0x32,
    }
    assert [cmd for cmd in range(64) if is_vendor_defined(cmd)] == VENDOR
    assert [cmd for cmd in range(64) if is_reserved(cmd)] == RESERVED
    assert [cmd for cmd in range(64) if has_orig_data(cmd)] == [*range(0x20, 0x40)]
    on_rd_rsp = [cmd for cmd in (0x03, 0x28, 0x29, 0x30, 0x32) if responds_on_rd_rsp(Request(cmd=cmd))]
    assert on_rd_rsp == [0x03, 0x30]
    assert all(responds_on_rd_rsp(Request(cmd=cmd)) for cmd in range(0x08, 0x10))
    assert not any(responds_on_rd_rsp(Request(cmd=cmd)) for cmd in range(0x2C, 0x30))


@pytest.mark.req("UPLI-204", "UPLI-219", "UPLI-220", "UPLI-221", "UPLI-222", "UPLI-206")
def test_message_types():
    """Table 2-7: which types exist, their beats, and which channel answers them."""

    def message(kind, num_beats=0, **fields):
        return Request(cmd=0x2A, meta_data=kind, num_beats=num_beats, **fields)

    assert [responds_on_rd_rsp(message(kind)) for kind in range(4)] == [False, False, True, False]
    assert [kind for kind in range(256) if violations(message(kind))] == [*range(0x04, 0xF0)]
    for num_beats in range(1, 4):
        assert [kind for kind in range(256) if violations(message(kind, num_beats))] == [*range(0xF0)]


@pytest.mark.req("UPLI-379", "UPLI-161", "UPLI-208")
@pytest.mark.parametrize(("cmd", "meta_data"), [(0x2A, 0x00), (0x2A, 0xF0), (0x2A, 0xFF), (0x2D, 0x77), (0x3E, 0x80)])
def test_no_length_and_no_address_of_messages_and_vendor_commands_is_wrong(cmd, meta_data):
    for length in range(64):
        for addr in (0, 1, 0x3C, 0xFC, (1 << 57) - 1):
            request = Request(cmd=cmd, meta_data=meta_data, addr=addr, len=length, attr=0xFF, asi=3)
            assert not violations(request)


@pytest.mark.req("UPLI-285", "UPLI-286", "UPLI-303", "UPLI-349", "UPLI-350", "UPLI-352", "UPLI-353")
@given(st.integers(0, 63), st.integers(0, 63), st.randoms(use_true_random=False))
def test_orig_data_beats(first, length, rng):
    length = min(length, 63 - first)
    addr, size = 0x10000 + 4 * first, 4 * (length + 1)
    request = Request(cmd=ReqCmd.WRITE, addr=addr, len=length, num_beats=beats_of(addr, length) - 1)
    data, enables = rng.randbytes(size), bytes(rng.randrange(2) for _ in range(size))
    beats = orig_data(request, data, enables)
    assert not violations(request) and len(beats) == request.num_beats + 1
    assert [beat.offset for beat in beats] == list(range(len(beats)))
    assert [beat.last for beat in beats] == [False] * (len(beats) - 1) + [True]
    for n in range(size):
        beat, lane = divmod(addr % 64 + n, 64)
        assert beats[beat].data[lane] == data[n] and beats[beat].byte_en >> lane & 1 == enables[n]
    for beat, mask in zip(beats, lane_masks(addr, length)):
        assert not beat.byte_en & ~mask
    with pytest.raises(ValueError, match="bytes given"):
        orig_data(request, data + b"\0")


@pytest.mark.req("UPLI-259", "UPLI-260", "UPLI-345")
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_offsets_place_the_beats_in_address_order(order):
    """Offset 0 has the byte at the lowest address, whatever the order of arrival."""
    request = Request(cmd=ReqCmd.READ, addr=0x1004, len=62, attr=0xFF)
    beats = [RdRspBeat(tag=0, data=bytes(range(64 * n, 64 * n + 64)), offset=n) for n in order]
    assert read_data(request, beats) == bytes(range(4, 256))


@pytest.mark.req("UPLI-347")
def test_read_data_ignores_masked_bytes():
    request = Request(cmd=ReqCmd.READ, addr=0x38, len=3, attr=0x1C)
    beats = [RdRspBeat(tag=0, data=bytes([n + 1]) * 64, offset=n) for n in (1, 0)]
    assert read_data(request, beats) == bytes([0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 0, 0, 0])
