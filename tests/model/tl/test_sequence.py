"""Half-flit sequences: every row of the slot table, illegal input, random lockstep."""

import random

import pytest

from ualink_sim.model.tl.fields import (
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
    encode_control_half_flit,
)
from ualink_sim.model.tl.sequence import (
    INITIAL_CREDIT_RELEASE_COMPLETE,
    NOP_MESSAGE,
    POISONED_DATA,
    ControlFields,
    DataHalfFlit,
    Issue,
    Message,
    ProtocolError,
    ReceiveSequence,
    SequenceError,
    Tags,
    TransmitSequence,
    message_half_flit,
)

FC = FlowControl(req_cmd=Credit(5), rsp_cmd=Credit(5), req_data=Credit(20), rsp_data=Credit(20))


def write(beats=1, sector=0, tag=1, poisoned=()):
    field = CompressedRequest(cmd=4, len=beats - 1, tag=tag)
    return Issue(sector, field, bytes(range(64)) * beats, bytes([0xBE]) * 32, frozenset(poisoned), 7)


def read(sector=0, tag=1):
    return Issue(sector, CompressedRequest(cmd=0, tag=tag), tag=5)


MESSAGE = message_half_flit(NOP_MESSAGE)
EVENT = Message(NOP_MESSAGE, bytes(31))


@pytest.mark.req("TL-058", "TL-059", "TL-060", "TL-061")
def test_message_in_a_lower_control_slot_holds_the_control_half_flit_back():
    transmit, receive = TransmitSequence(), ReceiveSequence()
    flit, bits = transmit.send(lower_message=MESSAGE)
    assert (flit, bits) == (MESSAGE + bytes(32), 1)
    assert receive.receive(flit, bits) == [EVENT]
    assert receive.receive(*transmit.send(lower_message=MESSAGE, upper_message=MESSAGE)) == [EVENT, EVENT]
    assert receive.receive(*transmit.send([read()])) == [ControlFields(((0, read().field),))]
    assert not receive.receive(bytes(64), 0)


@pytest.mark.req("TL-061")
def test_message_beside_the_swapped_half_flit():
    transmit, receive = TransmitSequence(), ReceiveSequence()
    issue = Issue(0, CompressedRequest(cmd=6), bytes(64))
    receive.receive(*transmit.send([issue]))
    assert transmit.swap and receive.swap
    events = receive.receive(*transmit.send(lower_message=MESSAGE))
    assert events[0] == EVENT and isinstance(events[1], DataHalfFlit) and not receive.owed
    receive.receive(*transmit.send([issue]))
    events = receive.receive(*transmit.send([read()], upper_message=MESSAGE))
    assert isinstance(events[0], ControlFields) and events[1] == EVENT and receive.swap and transmit.swap


@pytest.mark.req("TL-059")
@pytest.mark.parametrize("authentication", [False, True])
def test_messages_among_data_delay_the_sequence(authentication):
    transmit, receive = TransmitSequence(authentication), ReceiveSequence(authentication)
    seen = receive.receive(*transmit.send([write(4)]))
    for lower, upper in ((MESSAGE, None), (None, MESSAGE), (MESSAGE, MESSAGE), (None, None), (None, None)):
        seen += receive.receive(*transmit.send(lower_message=lower, upper_message=upper))
    while transmit.owed:
        seen += receive.receive(*transmit.send())
    data = [event for event in seen if isinstance(event, DataHalfFlit)]
    assert [event.owed.index for event in data] == list(range(9)) and data[8].owed.is_be
    assert b"".join(event.data for event in data[:8]) == bytes(range(64)) * 4
    assert seen.count(EVENT) == 4 and not receive.owed


@pytest.mark.req("TL-057", "TL-065", "TL-167")
def test_initial_credit_release_message():
    receive = ReceiveSequence()
    half = message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE, bytes([1]))
    assert half[:2] == bytes([0x01, 0x01])
    assert receive.receive(half + bytes(32), 1) == [Message(1, bytes([1]) + bytes(30))]


@pytest.mark.req("TL-065")
def test_unknown_messages_are_consumed():
    receive = ReceiveSequence()
    events = receive.receive(message_half_flit(0x55) + bytes(32), 1)
    assert len(events) == 1 and isinstance(events[0], ProtocolError) and not events[0].fatal
    assert receive.receive(*TransmitSequence().send([read()])) == [ControlFields(((0, read().field),))]


@pytest.mark.req("TL-062", "TL-076", "TL-079", "TL-080", "TL-081", "TL-082", "TL-084", "TL-085")
@pytest.mark.parametrize("poisoned", [(), (0,), (1,), (0, 1)])
def test_poisoned_beats(poisoned):
    transmit, receive = TransmitSequence(), ReceiveSequence()
    events = []
    first = transmit.send([write(2, poisoned=poisoned)])
    events += receive.receive(*first)
    while transmit.owed:
        flit, bits = transmit.send()
        noise = bytearray(flit)
        for half in (0, 1):
            if bits >> half & 1:
                noise[32 * half + 1 : 32 * half + 32] = bytes(range(31))
        events += receive.receive(bytes(noise), bits)
    data = [event for event in events if isinstance(event, DataHalfFlit)]
    assert [event.poisoned for event in data] == [k // 2 in poisoned and k < 4 for k in range(5)]
    assert all(event.data == bytes(32) for event in data if event.poisoned)
    assert data[4].data == bytes([0xBE]) * 32


@pytest.mark.req("TL-082")
def test_half_a_poisoned_beat_is_logged():
    receive = ReceiveSequence()
    flit, _ = TransmitSequence().send([write(1)])
    events = receive.receive(flit[:32] + message_half_flit(POISONED_DATA), 2)
    assert isinstance(events[1], DataHalfFlit) and events[1].poisoned
    events = receive.receive(bytes(64), 0)
    assert isinstance(events[1], ProtocolError) and not events[1].fatal


def fatal(receive, flit, bits):
    events = receive.receive(flit, bits)
    assert isinstance(events[-1], ProtocolError) and events[-1].fatal
    assert receive.receive(bytes(64), 0) == [], "nothing is forwarded after a fatal error"
    return True


POISON = message_half_flit(POISONED_DATA)


@pytest.mark.req("TL-063", "TL-081", "TL-084", "TL-088", "TL-220")
def test_poison_outside_data_is_fatal():
    assert fatal(ReceiveSequence(), POISON + bytes(32), 1)
    assert fatal(ReceiveSequence(), bytes(32) + POISON, 2)
    transmit, receive = TransmitSequence(), ReceiveSequence()
    receive.receive(*transmit.send([write(1)]))
    flit, _ = transmit.send()
    assert fatal(receive, flit[:32] + POISON, 2)
    transmit, receive = TransmitSequence(), ReceiveSequence()
    receive.receive(*transmit.send([write(1), write(1, 2, 2)]))
    for _ in range(2):
        receive.receive(*transmit.send())
    assert receive.swap and receive.owed[0].is_be
    assert fatal(receive, bytes(32) + POISON, 2)


@pytest.mark.req("TL-045", "TL-088", "TL-220")
def test_mandatory_nop_must_be_zero():
    for where in range(32):
        flit = bytearray(TransmitSequence().send([read()])[0])
        flit[32 + where] = 1
        assert fatal(ReceiveSequence(), bytes(flit), 0)


@pytest.mark.req("TL-088", "TL-220")
def test_illegal_fields_are_fatal():
    receive = ReceiveSequence()
    assert fatal(receive, (6 << 28).to_bytes(64, "little"), 0)
    receive.reset()
    assert receive.receive(bytes(64), 0) == []
    assert isinstance(receive.receive(*TransmitSequence().send([read()]))[0], ControlFields)


@pytest.mark.req("TL-048", "TL-052", "TL-064", "TL-220")
def test_authentication_limits():
    transmit = TransmitSequence(True)
    responses = [Issue(s, CompressedResponse(tag=s)) for s in range(5)]
    with pytest.raises(SequenceError, match="5 tagged"):
        transmit.send(responses)
    with pytest.raises(SequenceError, match="cannot replace"):
        transmit.send(responses[:4], upper_message=MESSAGE)
    flit, _ = TransmitSequence(False).send(responses)
    assert fatal(ReceiveSequence(True), flit, 0)
    flit, bits = transmit.send(responses[:4])
    assert fatal(ReceiveSequence(True), flit, bits | 2)


@pytest.mark.req("TL-050", "TL-051", "TL-220")
def test_authentication_and_swap():
    transmit, receive = TransmitSequence(True), ReceiveSequence(True)
    receive.receive(*transmit.send([write(1)]))
    receive.receive(*transmit.send())
    assert transmit.swap and receive.swap
    with pytest.raises(SequenceError, match="1 tagged"):
        transmit.send([read()])
    flit, bits = transmit.send([Issue(3, FC)])
    refused = encode_control_half_flit([(0, read().field)]) + flit[32:]
    probe = ReceiveSequence(True)
    probe.owed = receive.owed.copy()
    assert fatal(probe, refused, 0)
    events = receive.receive(flit, bits)
    assert events[0] == ControlFields(((3, FC),)) and events[1].owed.is_be
    assert isinstance(receive.receive(*transmit.send([read()]))[1], Tags)


@pytest.mark.req("TL-045")
def test_authentication_without_tagged_fields_is_followed_by_a_nop():
    transmit = TransmitSequence(True)
    flit, bits = transmit.send([Issue(0, FC)])
    assert flit[32:] == bytes(32) and bits == 0
    assert ReceiveSequence(True).receive(flit, bits) == [ControlFields(((0, FC),))]


def test_what_the_transmitter_refuses():
    transmit = TransmitSequence()
    with pytest.raises(SequenceError, match="poison"):
        transmit.send(upper_message=POISON)
    with pytest.raises(SequenceError, match="not free"):
        transmit.send([read()], lower_message=MESSAGE)
    with pytest.raises(SequenceError, match="0 bytes of data"):
        transmit.send([Issue(0, CompressedRequest(cmd=4))])
    with pytest.raises(SequenceError, match="byte enables"):
        transmit.send([Issue(0, CompressedRequest(cmd=4), bytes(64))])
    transmit.send([write(4)])
    with pytest.raises(SequenceError, match="not free"):
        transmit.send([read()])


def random_issues(rng, authentication):
    issues, sector = [], 0
    while sector < 8:
        sizes = [n for n in (1, 2, 4) if sector % n == 0]
        size = rng.choice(sizes)
        tag, beats = rng.randrange(2048), rng.randint(1, 4)
        choice = {
            4: [UncompressedRequest(cmd=c, tag=tag, num_beats=beats - 1) for c in (3, 0x28, 0x29, 0x2A, 0x3C)]
            + [UncompressedRequest(cmd=c, tag=tag) for c in (0x30, 0x32)],
            2: [CompressedRequest(cmd=c, tag=tag, len=beats - 1) for c in (0, 4, 6)]
            + [UncompressedResponse(tag=tag, rd_wr=r, len=beats - 1) for r in (0, 1)],
            1: [None, None, None, FC, CompressedReadResponse(tag=tag)]
            + [CompressedResponse(tag=tag, rd_wr=r, len=beats - 1) for r in (0, 1)],
        }[size]
        field = rng.choice(choice)
        if field is not None:
            n = field.data_beats()
            enables = rng.randbytes(32) if field.has_byte_enables() else b""
            poisoned = frozenset(b for b in range(n) if rng.random() < 0.1)
            issues.append(Issue(sector, field, rng.randbytes(64 * n), enables, poisoned, rng.getrandbits(64)))
        sector += size
    tagged = [issue for issue in issues if not isinstance(issue.field, FlowControl)]
    rng.shuffle(tagged)
    if authentication:
        issues = [i for i in issues if i not in tagged[rng.randint(0, 4) :]]
    return issues


@pytest.mark.req(
    "TL-015", "TL-038", "TL-040", "TL-042", "TL-047", "TL-048", "TL-049", "TL-053", "TL-059", "TL-060", "TL-062"
)
@pytest.mark.parametrize("authentication", [False, True])
def test_random_lockstep(authentication):
    rng = random.Random(5 + authentication)
    for _ in range(40):
        transmit, receive = TransmitSequence(authentication), ReceiveSequence(authentication)
        sent_fields, sent_halves, sent_tags, messages = [], [], [], 0
        fields, halves, tags, received_messages = [], [], [], 0
        for number in range(100):
            issues, lower, upper = [], None, None
            if transmit.control_slot and rng.random() < 0.8 and number < 90:
                issues = random_issues(rng, authentication)
                if authentication and transmit.swap:
                    issues = [i for i in issues if isinstance(i.field, FlowControl)]
            elif rng.random() < 0.2:
                lower = message_half_flit(rng.choice([0, 1]), rng.randbytes(31))
            tagged = [i for i in issues if not isinstance(i.field, FlowControl)]
            if rng.random() < 0.2 and not (authentication and tagged):
                upper = message_half_flit(rng.choice([0, 1]), rng.randbytes(31))
            messages += (lower is not None) + (upper is not None)
            sent_fields += [(i.sector, i.field) for i in issues]
            sent_tags += [(i.field, i.tag) for i in tagged] if authentication else []
            for i in issues:
                count = 2 * i.field.data_beats()
                cut = [i.data[32 * k : 32 * k + 32] for k in range(count)]
                sent_halves += [(bytes(32), True) if k // 2 in i.poisoned else (h, False) for k, h in enumerate(cut)]
                sent_halves += [(i.byte_enables, False)] if i.byte_enables else []
            for event in receive.receive(*transmit.send(issues, lower, upper)):
                if isinstance(event, ControlFields):
                    fields += event.fields
                elif isinstance(event, DataHalfFlit):
                    halves.append((event.data, event.poisoned))
                elif isinstance(event, Tags):
                    tags += event.tags
                else:
                    assert isinstance(event, Message)
                    received_messages += 1
            assert len(transmit.owed) == len(receive.owed)
        assert (fields, tags, received_messages) == (sent_fields, sent_tags, messages)
        assert halves == sent_halves[: len(halves)] and len(halves) + len(receive.owed) == len(sent_halves)
