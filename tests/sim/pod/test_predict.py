"""The reference: bytes placed by hand here, operands and results of UALink_200 §2.8, order per pair."""

import pytest

from ualink_sim.beats import orig_data_beats, response_data, upli_request
from ualink_sim.model.upli.transactions import RdRspBeat, violations
from ualink_sim.pod.predict import Outcome, Reference, difference, predict
from ualink_sim.pod.scenario import load_scenario
from ualink_sim.pod.workload import build_requests
from ualink_sim.request import Request, read_attr


def request(op, addr, length, data=b"", *, line=1, src=0, dst=1, byte_en=None, attr=None):
    byte_en = (1 << length) - 1 if byte_en is None else byte_en
    attr = attr if attr is not None else read_attr(byte_en, length) if op == "read" else 0
    return Request(line=line, src=src, dst=dst, op=op, addr=addr, len=length, data=data, byte_en=byte_en, attr=attr)


def test_the_handwritten_example(root):
    outcomes, memory = predict(build_requests(load_scenario(root / "examples" / "handwritten.toml")), 3)
    line = bytes(range(64))
    assert [outcome.status for outcome in outcomes] == ["OKAY"] * 10
    assert outcomes[1].data == outcomes[2].data == line
    assert outcomes[4].data == bytes([0, *line[9:15], 0xA7, line[0x10], line[0x11], 0, 0])
    assert (outcomes[5].data, outcomes[6].data, outcomes[7].data) == (bytes(4), None, b"\x08\0\0\0")
    assert outcomes[9].data == bytes((7 * n + 1) % 256 for n in range(128))
    assert sorted(memory[0]) == [0x40, 0x2000, 0x2040, 0x2080]
    assert memory[1] == {0x1000: line[:8] + b"\xa0" + line[9:15] + b"\xa7" + line[16:]}
    assert memory[2] == {}


@pytest.mark.req("UPLI-193")
def test_write_beats_stand_on_the_lanes_of_their_addresses():
    # Figure 2-19: 12 bytes at 038h, enables 75h on lanes 56 to 63 and Ch on lanes 0 to 3 of the next beat.
    beats = orig_data_beats(request("write", 0x38, 12, bytes(range(1, 13)), byte_en=0xC75))
    assert [beat.byte_en for beat in beats] == [0x75 << 56, 0xC]
    assert beats[0].data[56:] == bytes(range(1, 9))
    assert beats[1].data[:4] == bytes(range(9, 13))
    assert [(beat.offset, beat.last) for beat in beats] == [(0, False), (1, True)]


def test_two_operands_begin_at_lane_0_and_the_result_follows_the_address():
    # Figure 2-23: 8-byte elements at 020h; Op1 on lanes 0 to 31, Op2 on lanes 32 to 63, results on lanes 32 to 63.
    compare, swap = 0x1111, 0x2222
    op1 = compare.to_bytes(8, "little") + bytes(24)
    op2 = swap.to_bytes(8, "little") + bytes(24)
    enables = 0x00FF00FF | 0x00FF00FF << 32
    cas = request("atomic", 0x20, 64, op1 + op2, byte_en=enables, attr=0x05)
    assert orig_data_beats(cas)[0].data == op1 + op2
    reference = Reference(2)
    assert reference.execute(cas) == Outcome("OKAY", bytes(64))
    reference.execute(request("write", 0x20, 8, op1[:8]))
    assert reference.execute(cas).data == op1[:8] + bytes(56)
    assert reference.execute(request("read", 0x20, 32)).data == op2[:8] + bytes(24)
    beat = RdRspBeat(tag=0, data=bytes(range(64)))
    assert response_data(cas, [beat])[:8] == bytes(range(32, 40))
    assert response_data(cas, [beat])[8:16] == bytes(8)


def test_beats_are_taken_by_their_offsets():
    read = request("read", 0x30, 64, byte_en=(1 << 64) - 1 - 0b1)
    beats = [RdRspBeat(tag=0, data=bytes([n]) * 64, offset=n) for n in (1, 0)]
    assert response_data(read, beats) == bytes(16) + b"\1" * 48
    assert upli_request(read).num_beats == 0


def test_every_generated_request_is_legal_on_upli(root):
    for item in build_requests(load_scenario(root / "examples" / "quickstart.toml")):
        assert violations(upli_request(item)) == []


def test_unknown_operations_are_aborted():
    assert Reference(2).execute(request("atomic", 0, 4, bytes(4), attr=0xF1)).status == "TARGET_ABORT"


def test_order_within_a_pair_is_watched():
    reference = Reference(3)
    first, second, other = request("read", 0, 4), request("read", 0, 4, line=2), request("read", 0, 4, dst=2)
    assert [reference.out_of_order(item) for item in (second, other)] == ["", ""]
    assert reference.out_of_order(first) == "executed after line 2 of the same pair"
    assert reference.out_of_order(second) == "executed twice"


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (Outcome("OKAY", b"\1\2\3\4"), ""),
        (Outcome("OKAY", b"\1\2\0\4"), "byte 0x102 is 00, not 03"),
        (Outcome("OKAY", b"\1"), "the amount of data differs"),
        (Outcome("CMPTO", b"\1\2\3\4"), "status is CMPTO, not OKAY"),
    ],
)
def test_differences_are_said_in_words(got, words):
    assert difference(request("read", 0x100, 4), Outcome("OKAY", b"\1\2\3\4"), got) == words
