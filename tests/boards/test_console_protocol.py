"""The bytes of requests and answers, and the registers of a design that a tool relies on."""

import json
import random

import pytest

from support.boards.console_board import FULL, LANE, TRAFFIC
from ualink.config import ConfigError
from ualink.csr.design import RegisterDesign
from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink_boards.console.names import DesignTable
from ualink_boards.console.protocol import (
    Answer,
    AnswerReader,
    Operation,
    Request,
    Word,
    answer_bytes,
    encode_answer,
    encode_request,
)

READ, WRITE = Operation.READ, Operation.WRITE


def _crc(body: bytes) -> bytes:
    """CRC-16/IBM-3740, a bit at a time."""
    crc = 0xFFFF
    for bit in (byte >> n & 1 for byte in body for n in range(7, -1, -1)):
        crc = (crc << 1 & 0xFFFF) ^ (0x1021 if (crc >> 15) ^ bit else 0)
    return crc.to_bytes(2, "big")


def test_bytes_on_the_line():
    assert _crc(b"123456789") == b"\x29\xb1"
    body = bytes.fromhex("02 07 04 03 02 01 0d 0c 0b 0a")
    assert encode_request(Request(WRITE, 7, 0x01020304, 0x0A0B0C0D)) == b"\x55" + body + _crc(body)
    body = bytes.fromhex("81 09 00 44 33 22 11 01 00 00 00 00")
    answer = Answer(READ, 9, (Word(0, 0x11223344), Word(1, 0)))
    assert encode_answer(answer) == b"\xaa" + body + _crc(body)
    assert len(encode_answer(answer)) == answer_bytes(2)


def test_an_answer_is_found_among_other_bytes_however_they_arrive():
    rng = random.Random(3)
    request = Request(READ, 0x55, 5, 3)
    answer = Answer(READ, 0x55, tuple(Word(n, rng.getrandbits(32)) for n in range(3)))
    data = encode_answer(answer)
    damaged = bytearray(data)
    damaged[8] ^= 4
    late = encode_answer(Answer(READ, 0x54, answer.words))
    before = (b"", data[:6], bytes(damaged), late, b"\xaa", b"\xaa\x81", rng.randbytes(50), encode_request(request))
    for head in before:
        for step in (1, 7, 1000):
            reader = AnswerReader(request)
            whole = head + data + b"\xaa"
            found = [reader.feed(whole[n : n + step]) for n in range(0, len(whole), step)]
            assert next(filter(None, found)) == answer
    for wrong in (bytes(damaged), late, data[:-1], encode_answer(Answer(WRITE, 0x55, answer.words))):
        assert AnswerReader(request).feed(wrong) is None


def test_the_description_says_what_the_windows_are():
    words = {register.offset: register for register in FULL.description}
    assert words[0].fields[0].reset == int.from_bytes(b"UALB", "little")
    assert words[4]["version"].reset == 1
    assert words[4]["windows"].reset == 5
    assert words[4]["address_bits"].reset == FULL.address_bits == 6
    assert words[8].fields[0].reset == FULL.map_hash
    assert words[12].fields[0].reset == 50_000_000
    name = b"".join(words[at].fields[0].reset.to_bytes(4, "little") for at in range(16, 32, 4))
    assert name == b"full".ljust(16, b"\0")


def test_windows_stand_one_after_the_other():
    table = DesignTable(json.loads(FULL.to_json()))
    assert list(table.windows) == ["description", "dl", "traffic", "lane0", "lane1"]
    assert [next(iter(window)).address for window in table] == [0, 0x100, 0x200, 0x300, 0x400]
    assert table.register("lane1.words").address == 0x414
    assert table.map_hash == FULL.map_hash


def test_the_hash_tells_designs_apart_that_differ_in_any_window():
    def changed(reset):
        return RegisterMap("bert_lane", (Register("line", 0, (Field("width", "7:0", Access.CONSTANT, reset),)),))

    designs = [
        RegisterDesign("a", 1, (("lane0", LANE),)),
        RegisterDesign("a", 1, (("lane1", LANE),)),
        RegisterDesign("a", 1, (("lane0", LANE), ("lane1", LANE))),
        RegisterDesign("a", 1, (("lane0", TRAFFIC),)),
        RegisterDesign("a", 1, (("lane0", changed(20)),)),
        RegisterDesign("a", 1, (("lane0", changed(40)),)),
        RegisterDesign("a", 1, (("traffic", TRAFFIC), ("lane0", LANE))),
        RegisterDesign("a", 1, (("lane0", LANE), ("traffic", TRAFFIC))),
    ]
    assert len({design.map_hash for design in designs}) == len(designs)
    # The clock and the name are in registers of their own.
    assert RegisterDesign("b", 2, (("lane0", LANE),)).map_hash == designs[0].map_hash


@pytest.mark.parametrize(
    ("name", "clock_hz", "windows", "reason"),
    [
        ("", 1, ("a",), "the design is called ''"),
        ("x" * 17, 1, ("a",), "a name has 1 to 16 characters"),
        ("größe", 1, ("a",), "characters of ASCII"),
        ("x", 0, ("a",), "clock_hz is 0"),
        ("x", 1 << 32, ("a",), "clock_hz is 4294967296"),
        ("x", 1, ("a", "a"), "windows are called description, a, a"),
        ("x", 1, ("description",), "each needs a lower case name of its own"),
        ("x", 1, ("a.b",), "each needs a lower case name of its own"),
        ("x", 1, tuple(f"w{n}" for n in range(4_095)), "4,096 windows are more than 4,095"),
    ],
)
def test_designs_that_cannot_be_are_refused(name, clock_hz, windows, reason):
    with pytest.raises(ConfigError) as refused:
        RegisterDesign(name, clock_hz, tuple((window, LANE) for window in windows))
    assert reason in str(refused.value)
