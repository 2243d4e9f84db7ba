"""Packer and unpacker against the packing rules, case by case and at random."""

import random
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ualink_sim.model.dl.flit import DLFlit
from ualink_sim.model.dl.packing import Packer, SegmentHeader, Unpacker

NO_FLITS = (None,) * 10


def tl_flit(n):
    """A TL flit whose sector j holds the number 16 n + j, and message bits n mod 4."""
    return b"".join((16 * n + j).to_bytes(4, "little") for j in range(16)), n % 4


def sectors_of(n):
    return [16 * n + j for j in range(16)]


@pytest.mark.req("DL-013", "DL-014", "DL-015", "DL-016", "DL-017", "DL-018")
def test_segment_header_bits():
    assert SegmentHeader(True).encode() == 0x01
    for m in range(4):
        assert SegmentHeader(False, (m, None)).encode() == 0x10 | m << 2
        assert SegmentHeader(False, (None, m)).encode() == 0x80 | m << 5
    assert SegmentHeader.decode(0x6E) == SegmentHeader()
    for value in range(256):
        kept = value & 0x91 | (value & 0x0C if value & 0x10 else 0) | (value & 0x60 if value & 0x80 else 0)
        assert SegmentHeader.decode(value).encode() == kept


@pytest.mark.req("DL-017", "DL-027", "DL-031")
def test_first_flit_of_segment_0():
    packed = Packer().pack([tl_flit(7), *NO_FLITS[1:]])
    assert packed.segment_headers == [0x10 | 3 << 2, 0, 0, 0, 0]
    assert packed.sectors == sectors_of(7) + [0] * 141
    assert packed.payload


@pytest.mark.req("DL-017", "DL-027")
def test_second_flit_of_segment_0_alone():
    packed = Packer().pack([None, tl_flit(6), *NO_FLITS[2:]])
    assert packed.segment_headers == [0x80 | 2 << 5, 0, 0, 0, 0]
    assert packed.sectors == [0] * 16 + sectors_of(6) + [0] * 125


@pytest.mark.req("DL-020", "DL-023", "DL-028", "DL-030", "DL-031")
@pytest.mark.parametrize("tick", [8, 9])
def test_flit_behind_a_full_first_half_is_flit_0(tick):
    packer = Packer()
    packer.carry_over = list(range(900, 914))  # 14 sectors: every segment then starts flits at 14 and 30
    ticks = [tl_flit(n) for n in range(8)] + [None, None]
    ticks[tick] = tl_flit(9)
    packed = packer.pack(ticks, (None, None, None, None, 0xABCD))
    assert packed.segment_headers == [0xB0, 0xF8, 0xB0, 0xF8, 0x15]
    assert packed.sectors[126:128] == [16 * 7, 0xABCD]
    assert packed.sectors[128:143] == sectors_of(7)[1:]
    assert packed.sectors[143:157] == sectors_of(9)[:14]
    assert packer.carry_over == sectors_of(9)[14:]
    following = packer.pack(NO_FLITS)
    assert following.sectors == sectors_of(9)[14:] + [0] * 155
    assert following.payload and following.segment_headers == [0] * 5


@pytest.mark.req("DL-020", "DL-021", "DL-027", "DL-030")
@pytest.mark.parametrize("message", [None, 0xFEDCBA98])
@pytest.mark.parametrize("carry", range(16))
def test_every_start_sector(carry, message):
    tail = list(range(500, 500 + carry))
    prefix = ([] if message is None else [message]) + tail
    for ticks in ((1, 0), (0, 1), (1, 1), (0, 0)):
        packer = Packer()
        packer.carry_over = list(tail)
        offers = [tl_flit(20 + n) if here else None for n, here in enumerate(ticks)]
        packed = packer.pack(offers + [None] * 8, (message, None, None, None, None))
        expected, starts = list(prefix), [False, False]
        for tick, offer in enumerate(offers):
            if offer is not None and len(expected) < 32:
                late = tick == 1 and (starts[0] or len(prefix) < 16)
                starts[1 if late else 0] = True
                expected += sectors_of(20 + tick)
            elif offer is None:
                expected += [0] * ((16, 32)[tick] - len(expected))
        assert packed.sectors[:32] == expected[:32]
        assert packed.sectors[32 : 32 + len(expected) - 32] == expected[32:]
        header = SegmentHeader.decode(packed.segment_headers[0])
        assert header.alt_sector == (message is not None)
        assert [bits is not None for bits in header.flit] == starts


@pytest.mark.req("DL-024")
def test_nothing_to_send_is_a_nop():
    packed = Packer().pack(NO_FLITS)
    assert not packed.payload and packed.segment_headers == [0] * 5 and not any(packed.sectors)


@pytest.mark.req("DL-024", "DL-037")
def test_message_alone():
    packed = Packer().pack(NO_FLITS, (None, 0, None, 0x120, None))
    assert packed.payload and packed.segment_headers == [0, 1, 0, 1, 0]
    assert Unpacker().unpack(packed.flit()) == [("message", 0), ("message", 0x120)]


@pytest.mark.req("DL-023", "DL-031")
def test_carry_over_skips_nop_flits():
    packer, unpacker = Packer(), Unpacker()
    queue = deque(tl_flit(n) for n in range(12))
    first = packer.pack_queue(queue)
    kept = list(packer.carry_over)
    assert len(kept) == 3 and not packer.nop().payload and packer.carry_over == kept
    second = packer.pack_queue(queue)
    events = unpacker.unpack(first.flit()) + unpacker.unpack(second.flit())
    assert events == [("flit", *tl_flit(n)) for n in range(12)]


@pytest.mark.req("DL-009", "DL-021", "DL-023", "DL-026")
@pytest.mark.parametrize(("messages", "flits"), [((None,) * 5, 157), ((1,) * 5, 152)])
def test_saturated_throughput(messages, flits):
    packer, queue = Packer(), deque(tl_flit(n) for n in range(200))
    for _ in range(16):
        assert packer.pack_queue(queue, messages).payload
    assert 200 - len(queue) == flits and not packer.carry_over


@pytest.mark.req("DL-022", "DL-026")
def test_flit_without_free_sector_is_not_accepted():
    packer = Packer()
    packer.carry_over = [1] * 15
    packed = packer.pack([tl_flit(0), tl_flit(1), *NO_FLITS[2:]], (2, None, None, None, None))
    assert packed.accepted == (True,) + (False,) * 9


@pytest.mark.req("DL-001", "DL-018", "DL-019", "DL-023", "DL-025", "DL-026", "DL-028", "DL-031", "DL-037")
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.3))
def test_round_trip(seed, flit_density, message_density, nop_density):
    rng = random.Random(seed)
    packer, unpacker = Packer(), Unpacker()
    sent, received, sent_messages, received_messages = [], [], [], []
    for _ in range(12):
        if rng.random() < nop_density:
            assert not packer.nop().payload
            continue
        ticks = [(rng.randbytes(64), rng.randrange(4)) if rng.random() < flit_density else None for _ in range(10)]
        messages = [rng.getrandbits(32) if rng.random() < message_density else None for _ in range(5)]
        packed = packer.pack(ticks, messages)
        assert len(packer.carry_over) <= 15
        sent += [offer for offer, taken in zip(ticks, packed.accepted) if taken and offer is not None]
        assert all(offer is not None for offer, taken in zip(ticks, packed.accepted) if taken)
        sent_messages += [m for m in messages if m is not None]
        for kind, *content in unpacker.unpack(DLFlit.decode(packed.flit().encode())):
            (received if kind == "flit" else received_messages).append(tuple(content))
    pending = 1 if packer.carry_over else 0
    assert received == sent[: len(sent) - pending]
    assert received_messages == [(m,) for m in sent_messages]
    assert unpacker.carry_over == len(packer.carry_over) and not unpacker.format_errors


def ends_with_carry_15():
    """A packer and an unpacker that have passed five saturated DL flits: 15 sectors of a TL flit are to come."""
    packer, unpacker, queue = Packer(), Unpacker(), deque(tl_flit(n) for n in range(50))
    for _ in range(5):
        unpacker.unpack(packer.pack_queue(queue).flit())
    assert unpacker.carry_over == len(packer.carry_over) == 15
    return packer, unpacker


@pytest.mark.req("DL-028")
def test_unpacker_takes_a_flit_1_behind_a_full_first_half():
    packer, unpacker = ends_with_carry_15()
    flit = packer.pack([None, tl_flit(61), *NO_FLITS[2:]], (5, None, None, None, None)).flit()
    assert flit.segment_headers[0] == 0x11 | 1 << 2
    flit.segment_headers[0] = 0x81 | 1 << 5
    assert unpacker.unpack(flit) == [("message", 5), ("flit", *tl_flit(49)), ("flit", *tl_flit(61))]
    assert not unpacker.format_errors


@pytest.mark.req("DL-022")
def test_impossible_layouts_are_format_errors():
    packer, unpacker = ends_with_carry_15()
    flit = packer.pack([tl_flit(61), *NO_FLITS[1:]], (5, None, None, None, None)).flit()
    flit.segment_headers[0] |= 0x80
    assert unpacker.unpack(flit)[-1] == ("flit", *tl_flit(61))
    assert unpacker.format_errors == ["segment 0: TL Flit[1] has no sector to start in"]
    packer, unpacker = ends_with_carry_15()
    unpacker.flush()
    assert unpacker.carry_over == 0
    assert unpacker.unpack(packer.pack(NO_FLITS).flit()) == []
