"""Beats, lanes, byte enables and legality of UPLI Requests: the worked examples of the standard and more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ualink_sim.model.upli import (
    RdRspBeat,
    ReqCmd,
    Request,
    beats_of,
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


@pytest.mark.req("UPLI-178", "UPLI-341", "UPLI-343", "UPLI-344", "UPLI-345", "UPLI-346", "UPLI-373", "UPLI-260")
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
def test_op_type():
    assert op_type(0x55) == 0x15 and op_type(0x30) == 0x03
    assert {op_type(attr) for attr in range(256)} == set(range(32))


@pytest.mark.req("UPLI-184", "UPLI-187", "UPLI-188", "UPLI-192", "UPLI-194", "UPLI-201", "UPLI-207")
def test_command_map():
    assert [c for c in range(64) if is_vendor_defined(c)] == [*range(8, 16), *range(0x2C, 0x30), *range(0x3C, 0x40)]
    assert sum(is_reserved(cmd) for cmd in range(64)) == 64 - 16 - 6
    assert all(has_orig_data(cmd) == (cmd >= 0x20) for cmd in range(64))
    answers = {cmd: responds_on_rd_rsp(Request(cmd=cmd)) for cmd in ReqCmd}
    assert [cmd for cmd, on_rd_rsp in answers.items() if on_rd_rsp] == [ReqCmd.READ, ReqCmd.ATOMIC_R]
    messages = [responds_on_rd_rsp(Request(cmd=0x2A, meta_data=kind)) for kind in range(4)]
    assert messages == [False, False, True, False]


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


@pytest.mark.req("UPLI-347")
def test_read_data_ignores_masked_bytes():
    request = Request(cmd=ReqCmd.READ, addr=0x38, len=3, attr=0x1C)
    beats = [RdRspBeat(tag=0, data=bytes([n + 1]) * 64, offset=n) for n in (1, 0)]
    assert read_data(request, beats) == bytes([0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 0, 0, 0])
