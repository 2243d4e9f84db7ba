"""Unpacker against the executable model, and packer to unpacker as identity."""

import random

import pytest

from support.dl.packing_bench import BEATS, PackerRun, random_flits, unpack
from ualink_sim.model.dl import packing as dl_packing
from ualink_sim.model.dl.flit import DLFlit


def random_dl_flits(rng, count, load, message_load):
    """Payload flits packed by the model, from random offers."""
    packer = dl_packing.Packer()
    flits = []
    while len(flits) < count:
        ticks = [random_flits(rng, 1)[0] if rng.random() < load else None for _ in range(dl_packing.TICKS)]
        messages = [rng.getrandbits(32) if rng.random() < message_load else None for _ in range(dl_packing.SEGMENTS)]
        packed = packer.pack(ticks, messages)
        if packed.payload:
            flits.append(packed.flit(rng.getrandbits(24)))
    return flits


def by_kind(events):
    """Flits, messages and number of format errors, without their times."""
    flits = [tuple(event[2:]) for event in events if event[0] == "flit"]
    messages = [event[2] for event in events if event[0] == "message"]
    return flits, messages, sum(event[0] == "format_error" for event in events)


def model_unpack(flits):
    unpacker = dl_packing.Unpacker()
    events = [event for flit in flits for event in unpacker.unpack(flit)]
    return (
        [event[1:] for event in events if event[0] == "flit"],
        [event[1] for event in events if event[0] == "message"],
        len(unpacker.format_errors),
    )


@pytest.mark.req(
    "DL-001", "DL-009", "DL-010", "DL-011", "DL-013", "DL-016", "DL-017", "DL-018", "DL-019", "DL-020", "DL-021",
    "DL-023", "DL-031"
)  # fmt: skip
@pytest.mark.parametrize(("load", "message_load", "gaps"), [(1, 0, 0), (1, 1, 0), (0.8, 0.4, 1), (0.4, 0.8, 0)])
def test_agrees_with_model(load, message_load, gaps):
    rng = random.Random(f"{load} {message_load}")
    flits = random_dl_flits(rng, 40, load, message_load)
    events, _ = unpack([flit.encode() for flit in flits], gaps=rng if gaps else None)
    result = by_kind(events)
    assert result == model_unpack(flits)
    assert result[2] == 0


@pytest.mark.req(
    "DL-001", "DL-009", "DL-010", "DL-011", "DL-013", "DL-016", "DL-017", "DL-018", "DL-019", "DL-020", "DL-021",
    "DL-023", "DL-031"
)  # fmt: skip
@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize(("load", "message_load", "gaps"), [(1, 0.5, 0), (0.8, 0.4, 1)])
def test_agrees_with_model_in_steps(n, load, message_load, gaps):
    """With beats as near to each other as may be, and with any pauses: between two flits of any length as well."""
    rng = random.Random(f"{n} {load}")
    flits = random_dl_flits(rng, 40, load, message_load)
    events, _ = unpack([flit.encode() for flit in flits], gaps=rng if gaps else None, n=n)
    result = by_kind(events)
    assert result == model_unpack(flits)
    assert result[2] == 0


@pytest.mark.req("DL-014", "DL-015")
def test_reserved_bits_are_ignored():
    rng = random.Random(3)
    flits = random_dl_flits(rng, 30, 0.5, 0.5)
    expected = model_unpack(flits)
    for flit in flits:
        for n, header in enumerate(flit.segment_headers):
            absent = 2 | (0 if header & 0x10 else 0x0C) | (0 if header & 0x80 else 0x60)
            flit.segment_headers[n] = header | (rng.getrandbits(8) & absent)
    events, _ = unpack([flit.encode() for flit in flits])
    assert by_kind(events) == expected


@pytest.mark.req("DL-028")
def test_flit_after_a_full_first_half_may_be_called_either():
    rng = random.Random(4)
    packer = dl_packing.Packer()
    called_other: list[DLFlit] = []
    segments = set()
    flits = []
    for _ in range(400):
        before = len(packer.carry_over)
        messages = [rng.getrandbits(32) if rng.random() < 0.5 else None for _ in range(dl_packing.SEGMENTS)]
        flits.append(packer.pack(random_flits(rng, dl_packing.TICKS), messages).flit())
        headers = list(flits[-1].segment_headers)
        carry = before
        for n, size in enumerate(dl_packing.SEGMENT_SECTORS):
            start = carry + (headers[n] & 1)
            # Saturated: as many flits as have room start in each segment.
            starts = 1 if start == 16 or start + 16 >= size else 2
            carry = start + 16 * starts - size
            if start == 16:
                assert headers[n] & 0x90 == 0x10
                headers[n] = 0x80 | (headers[n] & 0x0C) << 3 | (headers[n] & 1)
                segments.add(n)
        assert carry == len(packer.carry_over)
        called_other.append(DLFlit(headers, flits[-1].sectors))
        if segments == set(range(dl_packing.SEGMENTS)) and len(flits) > 20:
            break
    assert segments == set(range(dl_packing.SEGMENTS))
    expected = model_unpack(flits)
    assert expected[2] == 0
    for encoded in (flits, called_other):
        events, _ = unpack([flit.encode() for flit in encoded])
        assert by_kind(events) == expected


@pytest.mark.req("DL-022", "DL-026")
@pytest.mark.parametrize("n", [1, 2, 4])
def test_any_segment_headers_decode_as_in_the_model(n):
    """Impossible layouts raise a format error each and leave the rest as the model has it."""
    rng = random.Random(5)
    flits = []
    for _ in range(150 if n == 1 else 60):
        # Mostly two flits a segment, so that every carry-over occurs.
        headers = [rng.getrandbits(8) | (0x90 if rng.random() < 0.97 else 0) for _ in range(5)]
        flits.append(DLFlit(headers, [rng.getrandbits(32) for _ in range(157)]))
    events, _ = unpack([flit.encode() for flit in flits], n=n)
    expected = model_unpack(flits)
    assert expected[2] > (20 if n == 1 else 5)
    assert by_kind(events) == expected


def test_latency_and_order():
    rng = random.Random(6)
    flits = random_dl_flits(rng, 12, 1, 0)
    events, beat_cycles = unpack([flit.encode() for flit in flits])
    assert beat_cycles == list(range(12 * BEATS))
    cycles = [event[1] for event in events]
    assert cycles == sorted(cycles)
    # Nearly every half segment completes a TL flit; the last of a DL flit comes two cycles after its beat.
    assert max(cycles) == beat_cycles[-1] + 2
    assert min(cycles) == 2


def test_last_half_segment_does_not_wait_for_the_next_flit():
    flit = random_flits(random.Random(7), 1)[0]
    packed = dl_packing.Packer().pack([None] * 8 + [flit, None]).flit()
    events, beat_cycles = unpack([packed.encode()])
    assert events == [("flit", beat_cycles[9] + 1, *flit)]


@pytest.mark.parametrize("n", [2, 4])
def test_latency_in_steps(n):
    """TL flits and messages of one half segment each: the part that has the last sector is taken in one of the ``n``
    cycles from the beat that completes the half segment on, for the last one as many cycles later."""
    flit = random_flits(random.Random(7), 1)[0]
    cases = [([None] * 8 + [flit, None], [None] * 5, n), ([flit] + [None] * 9, [None] * 5, n)]
    for ticks, messages, delay in cases:
        packed = dl_packing.Packer().pack(ticks, messages).flit()
        events, beat_cycles = unpack([packed.encode()], n=n)
        completed = beat_cycles[9 if ticks[8] else 1]
        assert events == [("flit", completed + delay, *flit)]
    packed = dl_packing.Packer().pack([None] * 9 + [flit], [1, None, None, None, 2]).flit()
    rest = dl_packing.Packer().pack([flit] + [None] * 9).flit()
    events, beat_cycles = unpack([packed.encode(), rest.encode()], n=n)
    assert [event[:2] for event in events if event[0] == "message"] == [
        ("message", beat_cycles[1] + 1),
        ("message", beat_cycles[9] + 1),
    ]


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("beats_in_hand", [4, 10])
def test_flush_in_each_cycle_of_a_beat(beats_in_hand, n):
    rng = random.Random(8)
    packer = dl_packing.Packer()
    before = packer.pack(random_flits(rng, 10)).flit()
    cut = packer.pack(random_flits(rng, 10)).flit().encode()[: 64 * beats_in_hand]
    packer.flush()
    after = [packer.pack(random_flits(rng, 10)).flit()]
    flush_at = BEATS + beats_in_hand - 1
    flits = [before.encode(), cut, *(flit.encode() for flit in after)]
    for later in range(n):
        events, beat_cycles = unpack(flits, flush_at=flush_at, flush_later=later, n=n)
        flushed = beat_cycles[flush_at] + later
        assert by_kind([event for event in events if event[1] > flushed]) == model_unpack(after)


@pytest.mark.parametrize("beats_in_hand", [1, 4, 10])
def test_flush_drops_what_came_in_part(beats_in_hand):
    rng = random.Random(8)
    packer = dl_packing.Packer()
    before = [packer.pack(random_flits(rng, 10)).flit() for _ in range(2)]
    cut = packer.pack(random_flits(rng, 10)).flit().encode()[: 64 * beats_in_hand]
    packer.flush()
    after = [packer.pack(random_flits(rng, 10)).flit() for _ in range(3)]
    flush_at = 2 * BEATS + beats_in_hand - 1
    events, _ = unpack(
        [*(flit.encode() for flit in before), cut, *(flit.encode() for flit in after)], flush_at=flush_at
    )
    assert by_kind([event for event in events if event[1] > flush_at]) == model_unpack(after)


@pytest.mark.req("DL-001", "DL-018", "DL-023", "DL-025", "DL-031")
def test_packer_to_unpacker_is_identity():
    rng = random.Random(9)
    tl_flits = random_flits(rng, 600)
    dwords = [rng.getrandbits(32) for _ in range(200)]
    run = PackerRun(
        tl_flits,
        dwords,
        dl_flits=70,
        offer_flit=lambda cycle: rng.random() < 0.8,
        offer_message=lambda cycle: rng.random() < 0.2,
        accept=lambda cycle: rng.random() < 0.8,
        ready=lambda cycle: rng.random() < 0.9,
    )
    events, _ = unpack([flit["data"] for flit in run.flits if flit["payload"]], gaps=rng)
    flits, messages, errors = by_kind(events)
    assert len(flits) > 400 and len(messages) > 80
    assert flits == tl_flits[: len(flits)]
    assert messages == dwords[: len(messages)]
    assert errors == 0


@pytest.mark.req("DL-179")
@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize(("byte", "kind"), [(64 + 3, "header"), (128 + 4, "message"), (5 * 64 + 3, "header"), (37, "")])
def test_bad_parity_of_what_is_used_here(byte, kind, n):
    """Of a segment header or a message: a fault; of a byte of a TL flit: nothing, its parity goes on with it."""
    rng = random.Random(byte)
    packer = dl_packing.Packer()
    flit = packer.pack(random_flits(rng, 10), [None, rng.getrandbits(32), None, None, None]).flit()
    events, beat_cycles = unpack([flit.encode()], bad_parity={byte}, n=n)
    faults = [event[1] for event in events if event[0] == "fault"]
    messages = [event for event in events if event[0] == "message"]
    beat = byte // 64
    if kind == "header":
        # Once for each half of the segment, each time in the cycle in which what it says comes out.
        assert faults == [beat_cycles[beat] + 1, beat_cycles[beat + 1] + 1] and len(messages) == (beat != 1 or 1)
    elif kind == "message":
        assert faults == [beat_cycles[beat + 1] + 1] and not messages
    else:
        assert not faults and len(messages) == 1
