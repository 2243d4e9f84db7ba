"""The capture decoder: whole streams, replays, damage, and captures that start in mid-stream."""

import random
from collections import deque

import pytest

from ualink_sim.model.decode import Decoder, FlitState, decode_flits
from ualink_sim.model.dl.flit import DLFlit
from ualink_sim.model.dl.header import CommandHeader, ExplicitHeader
from ualink_sim.model.dl.link import LinkEnd
from ualink_sim.model.dl.messages import NoOp, TLRateNotification, UARTTransport
from ualink_sim.model.dl.packing import Packer
from ualink_sim.model.tl.fields import Credit, FlowControl, UncompressedRequest
from ualink_sim.model.tl.reassembly import ReceivedRequest
from ualink_sim.model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE, Issue, TransmitSequence, message_half_flit
from ualink_sim.model.upli.transactions import OrigDataBeat, Request


def tl_stream(rng, requests):
    """TL flits of an initialisation and of ``requests`` WriteFulls, with what must come out."""
    sequence, flits, expected = TransmitSequence(), [], []
    flits.append(sequence.send([Issue(0, FlowControl(req_cmd=Credit(7)))]))
    flits.append(sequence.send(lower_message=message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE)))
    for tag in range(requests):
        beats = rng.randint(1, 4)
        field = UncompressedRequest(cmd=0x29, tag=tag, addr=tag << 6, len=16 * beats - 1, num_beats=beats - 1)
        data = rng.randbytes(64 * beats)
        while not sequence.control_slot:
            flits.append(sequence.send())
        flits.append(sequence.send([Issue(0, field, data)]))
        request = Request(cmd=0x29, addr=tag << 8, len=16 * beats - 1, num_beats=beats - 1, tag=tag)
        cut = [data[64 * n : 64 * n + 64] for n in range(beats)]
        expected.append(
            ReceivedRequest(
                request, tuple(OrigDataBeat(data=d, offset=n, last=n == beats - 1) for n, d in enumerate(cut))
            )
        )
    while sequence.owed:
        flits.append(sequence.send())
    return flits, expected


def capture(seed=1, requests=120, damage=None, delay=4, burst=7):
    """(transmitter's side, receiver's side, expected, messages) of one direction; ``burst``: most TL flits a slot."""
    rng = random.Random(seed)
    flits, expected = tl_stream(rng, requests)
    left, right = LinkEnd(), LinkEnd()
    left.accept = False
    waiting, wire, back = deque(flits), deque([None] * delay), deque([None] * delay)
    sent, received = [], []
    messages = [TLRateNotification(rate=3125).encode(), *UARTTransport.dwords([0xFFFF, 0, 7]), NoOp().encode()]
    slot = 0
    while waiting or not left.idle or slot < 30:
        left.accept = slot >= 10
        if slot >= 10:
            for _ in range(rng.randint(0, burst)):
                if waiting:
                    left.tl_flits.append(waiting.popleft())
        if slot == 15:
            left.messages.extend(messages)
        flit = left.transmit_flit()
        sent.append(flit)
        if damage and damage(rng, slot):
            flit = flit[:100] + bytes([flit[100] ^ 1]) + flit[101:]
        wire.append(flit)
        arrived = wire.popleft()
        if arrived is not None:
            received.append(arrived)
            right.receive_slot(arrived)
        back.append(right.transmit_flit())
        answer = back.popleft()
        if answer is not None:
            left.receive_slot(answer)
        slot += 1
    received += [flit for flit in wire if flit is not None]
    return sent, received, expected, messages


def transactions(decoded):
    return [item for flit in decoded for tl_flit in flit.tl_flits for item in tl_flit.received]


def test_clean_capture():
    sent, received, expected, messages = capture()
    for flits in (sent, received):
        decoded = list(decode_flits(flits))
        assert transactions(decoded) == expected
        assert [m.dword for flit in decoded for m in flit.messages] == messages
        kinds = [type(m.message) for flit in decoded for m in flit.messages]
        assert kinds == [TLRateNotification, UARTTransport, type(None), type(None), type(None), NoOp]
        assert not any(flit.notes for flit in decoded)
        assert {flit.state for flit in decoded} == {FlitState.PAYLOAD, FlitState.NOP}
        assert [flit.number for flit in decoded] == list(range(len(flits)))


@pytest.mark.req("DL-136", "DL-143")
def test_damaged_capture():
    sent, received, expected, _ = capture(damage=lambda rng, slot: rng.random() < 0.04)
    decoded = list(decode_flits(sent))
    assert transactions(decoded) == expected
    states = [flit.state for flit in decoded]
    assert states.count(FlitState.DUPLICATE) > 3 and FlitState.BAD_CRC not in states and FlitState.GAP not in states
    decoded = list(decode_flits(received))
    assert transactions(decoded) == expected
    states = [flit.state for flit in decoded]
    assert states.count(FlitState.BAD_CRC) > 1 and states.count(FlitState.GAP) > 1
    assert any("missing" in note for flit in decoded for note in flit.notes)
    numbers = [flit.seq for flit in decoded if flit.state is FlitState.PAYLOAD]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("burst", [7, 16])
def test_capture_from_mid_stream(burst):
    sent, _, expected, _ = capture(requests=150, burst=burst)
    whole = list(decode_flits(sent))
    in_order = [flit for decoded in whole for flit in decoded.tl_flits]
    decoded = list(decode_flits(sent[22:], from_start=False))
    assert "mid-stream" in decoded[0].notes[0]
    unknown = [flit for flit in decoded if any(tl_flit.events is None for tl_flit in flit.tl_flits)]
    [in_step] = [flit for flit in decoded if any("in step from" in note for note in flit.notes)]
    assert unknown[-1] is in_step and in_step.number < 25
    tail = [(flit.data, flit.message_bits) for d in decoded for flit in d.tl_flits]
    assert len(tail) > 100
    assert tail == [(flit.data, flit.message_bits) for flit in in_order][-len(tail) :]
    found = transactions(decoded)
    assert len(found) > 80 and found == expected[-len(found) :]


@pytest.mark.req("DL-136", "DL-143")
@pytest.mark.parametrize("start", [15, 22, 37])
def test_damaged_capture_from_mid_stream(start):
    _, received, expected, _ = capture(requests=250, damage=lambda rng, slot: rng.random() < 0.1)
    decoded = list(decode_flits(received[start:], from_start=False))
    found = transactions(decoded)
    assert len(found) > 100 and found == expected[-len(found) :]
    assert not any(flit.problems for flit in decoded if flit.state is not FlitState.BAD_CRC)


def test_capture_that_holds_the_credit_release():
    sent, _, expected, _ = capture()
    decoded = list(decode_flits(sent[3:], from_start=False))
    assert transactions(decoded) == expected
    assert any("in step" in note for flit in decoded for note in flit.notes)


def test_link_restart():
    first, _, expected, _ = capture(seed=1)
    second, _, more, _ = capture(seed=2)
    decoded = list(decode_flits(first[:30] + second))
    assert transactions(decoded)[-len(more) :] == more
    [restart] = [flit for flit in decoded if flit.restarted]
    assert restart.notes == ["the link restarted"] and 30 <= restart.number < 40
    assert expected[0] == transactions(decoded)[0]


def encode(header, packed=None):
    return (packed or Packer().nop()).flit(header.encode()).encode()


@pytest.mark.req("DL-136")
def test_seven_bad_flits_make_low_bits_useless():
    decoder = Decoder(from_start=True)
    packed = Packer().pack([(bytes(64), 0), *[None] * 9])
    assert decoder.feed(encode(ExplicitHeader(True, False, 1), packed)).seq == 1
    for _ in range(7):
        assert decoder.feed(bytes(640)).state is FlitState.BAD_CRC
    assert decoder.feed(encode(CommandHeader(True, False, 5, 2), packed)).state is FlitState.UNNUMBERED
    assert decoder.feed(encode(ExplicitHeader(True, True, 2), packed)).state is FlitState.PAYLOAD


def test_a_restart_is_seen_without_nop_flits():
    decoder = Decoder()
    packed = Packer().pack([(bytes(64), 0), *[None] * 9])
    first = encode(ExplicitHeader(True, False, 1), packed)
    flits = [first, encode(CommandHeader(True, False, 5, 2), packed), first]
    assert [decoder.feed(flit).restarted for flit in flits] == [False, False, True]


def lost_at_the_end_of_the_numbers(more):
    decoder = Decoder()
    packed = Packer().pack([(bytes(64), 0), *[None] * 9])
    for seq in range(1, 510):
        assert decoder.feed(encode(ExplicitHeader(True, False, seq), packed)).state is FlitState.PAYLOAD
    nops = [decoder.feed(encode(ExplicitHeader(False, False, 511))) for _ in range(12)]
    assert "flits 510 and on are missing" in nops[0].notes and not any(flit.restarted for flit in nops)
    return [decoder.feed(encode(header, packed)) for header in more]


def test_idle_flits_with_the_reset_number_before_a_replay_are_no_restart():
    replay = [ExplicitHeader(True, True, 510), ExplicitHeader(True, False, 511), ExplicitHeader(True, False, 1)]
    assert all(flit.state is FlitState.PAYLOAD for flit in lost_at_the_end_of_the_numbers(replay))
    [flit] = lost_at_the_end_of_the_numbers([ExplicitHeader(True, False, 1)])
    assert flit.restarted and flit.state is FlitState.PAYLOAD


def test_flits_that_no_replay_brings_are_given_up():
    decoder = Decoder(from_start=True)
    packed = Packer().pack([(bytes(64), 0), *[None] * 9])
    decoded = [decoder.feed(encode(ExplicitHeader(True, False, seq), packed)) for seq in (1, *range(9, 300))]
    [given_up] = [flit for flit in decoded if any("never replayed" in note for note in flit.notes)]
    assert given_up.seq == 1 + 257 and given_up.state is FlitState.PAYLOAD
    states = [flit.state for flit in decoded]
    assert states.index(FlitState.GAP) == 1 and states.count(FlitState.GAP) == 249
    assert decoded[-1].tl_flits[0].events is not None


def test_lost_flits_count_like_bad_ones():
    decoder = Decoder(from_start=True)
    packed = Packer().pack([(bytes(64), 0), *[None] * 9])
    decoder.feed(encode(ExplicitHeader(True, False, 1), packed))
    lost = decoder.feed(encode(CommandHeader(True, False, 5, 2), packed), lost=8)
    assert lost.state is FlitState.UNNUMBERED and lost.notes == ["8 flits before this one were lost"]
    assert decoder.feed(encode(ExplicitHeader(True, True, 2), packed)).state is FlitState.PAYLOAD


@pytest.mark.req("DL-152")
def test_after_a_gap_only_an_explicit_flit_is_taken():
    decoder = Decoder(from_start=True)
    packed = Packer().pack([(bytes(64), 0), *[None] * 9])
    headers = [
        (ExplicitHeader(True, False, 1), FlitState.PAYLOAD),
        (ExplicitHeader(True, False, 9), FlitState.GAP),
        (ExplicitHeader(True, True, 1), FlitState.DUPLICATE),
        (CommandHeader(True, False, 5, 2), FlitState.GAP),
        (ExplicitHeader(True, True, 2), FlitState.PAYLOAD),
        (CommandHeader(True, False, 5, 3), FlitState.PAYLOAD),
    ]
    assert [decoder.feed(encode(header, packed)).state for header, _ in headers] == [state for _, state in headers]


@pytest.mark.req("DL-147", "DL-151")
def test_reserved_headers():
    decoder = Decoder(from_start=True)
    for flit in (
        encode(ExplicitHeader(True, False, 0)),
        encode(CommandHeader(True, False, 0, 1)),
        DLFlit(header=0b1000 << 20).encode(),
    ):
        decoded = decoder.feed(flit)
        assert decoded.state is FlitState.BAD_HEADER and decoded.problems
    assert "no DL flit" in decoder.feed(b"short").problems[0]


def test_fatal_tl_error_is_noted_once():
    decoder, packer = Decoder(from_start=True), Packer()
    good = TransmitSequence().send()
    packed = packer.pack([((6 << 28).to_bytes(64, "little"), 0), good, *[None] * 8])
    decoded = decoder.feed(encode(ExplicitHeader(True, False, 1), packed))
    assert len(decoded.notes) == len(decoded.problems) == 1 and "FTYPE 0x6" in decoded.problems[0]
    assert decoded.tl_flits[1].events is None
