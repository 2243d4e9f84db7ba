"""Joining a stream of TL flits: the right count of owed half-flits is found and no other."""

import random

import pytest

from ualink_sim.model.tl.fields import CompressedResponse, Credit, FlowControl, UncompressedRequest
from ualink_sim.model.tl.sequence import Issue, ReceiveSequence, TransmitSequence, message_half_flit
from ualink_sim.model.tl.synchronise import MOST_OWED, Synchronizer


def stream(rng, flits, data):
    """TL flits of a busy transmitter; ``data`` makes the bytes of a beat."""
    sequence = TransmitSequence()
    for _ in range(flits):
        issues = []
        if sequence.control_slot and rng.random() < 0.8:
            if rng.random() < 0.1:
                fields = [CompressedResponse(tag=n, len=3, rd_wr=1) for n in range(8)]
            else:
                beats = rng.randint(1, 4)
                write = UncompressedRequest(
                    cmd=rng.choice([0x28, 0x29]), attr=0xFF, addr=rng.getrandbits(50), len=15, num_beats=beats - 1
                )
                read = UncompressedRequest(cmd=0x03, tag=5, attr=0xFF, addr=rng.getrandbits(50))
                fields = [rng.choice([write, read]), FlowControl(req_cmd=Credit(3))]
            sector = 0
            for field in fields:
                enables = rng.randbytes(32) if field.has_byte_enables() else b""
                bad = frozenset(n for n in range(field.data_beats()) if rng.random() < 0.05)
                content = b"".join(data(rng) for _ in range(field.data_beats()))
                issues.append(Issue(sector, field, content, enables, bad))
                sector += field.sectors
        yield sequence.send(issues, upper_message=message_half_flit(0) if rng.random() < 0.05 else None)


DATA = {
    "random": lambda rng: rng.randbytes(64),
    "zeros": lambda rng: bytes(64),
    "counting": lambda rng: b"".join(n.to_bytes(4, "little") for n in range(rng.randrange(100), 200))[:64],
    "like fields": lambda rng: FlowControl(req_cmd=Credit(2)).encode().to_bytes(4, "little") * 16,
}


@pytest.mark.req("TL-015", "TL-040", "TL-042", "TL-045")
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("start", [3, 29, 80])
def test_the_right_count_is_left(data, start):
    truth, synchronizer, joined = ReceiveSequence(), Synchronizer(), None
    steps = 0
    for number, (flit, message_bits) in enumerate(stream(random.Random(start), 600, DATA[data])):
        events = truth.receive(flit, message_bits)
        if joined is not None:
            found = joined.receive(flit, message_bits)
            assert [type(event) for event in found] == [type(event) for event in events]
            assert len(joined.owed) == len(truth.owed)
        elif number >= start:
            joined = synchronizer.push(flit, message_bits)
            steps += 1
            assert joined is None or [half.is_be for half in joined.owed if half.serial >= 0] == [
                half.is_be for half, other in zip(truth.owed, joined.owed) if other.serial >= 0
            ]
    assert joined is not None and steps < 300


def test_the_bound_is_reached_and_not_passed():
    most = 0
    sequence = TransmitSequence()
    for last in (1, 8, 8, 8):
        fields = [CompressedResponse(len=3, rd_wr=1)] * last
        if last == 1:
            fields = [UncompressedRequest(cmd=0x28)]
        while not sequence.control_slot:
            sequence.send()
        sequence.send(
            [Issue(n, f, bytes(64 * f.data_beats()), bytes(32) * f.has_byte_enables()) for n, f in enumerate(fields)]
        )
        most = max(most, len(sequence.owed))
    assert most == MOST_OWED


def test_begins_again_when_every_reading_is_refuted():
    synchronizer, truth = Synchronizer(), ReceiveSequence()
    for _ in range(40):
        synchronizer.push(bytes([0xFF]) * 64, 0)
    joined = None
    for flit, message_bits in stream(random.Random(4), 300, DATA["random"]):
        truth.receive(flit, message_bits)
        if joined is not None:
            joined.receive(flit, message_bits)
        else:
            joined = synchronizer.push(flit, message_bits)
        assert joined is None or len(joined.owed) == len(truth.owed)
    assert joined is not None
