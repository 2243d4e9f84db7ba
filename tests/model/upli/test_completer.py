"""Memory, atomic operations and the Completer's responses."""

import random
from dataclasses import replace

import pytest

from ualink_sim.model.upli.completer import Completer
from ualink_sim.model.upli.memory import OPERATIONS, Memory, Operation
from ualink_sim.model.upli.transactions import (
    OrigDataBeat,
    RdRspBeat,
    ReqCmd,
    Request,
    Status,
    WrRspBeat,
    beats_of,
    orig_data,
    read_data,
    read_masks,
)

IDS = {"tag": 0x2A5, "src_phys_acc_id": 7, "dst_phys_acc_id": 9, "vc": 2}
PATTERN = bytes((7 * n + 1) % 251 for n in range(256))


def lanes(data, mask):
    return bytes(byte if mask >> lane & 1 else 0 for lane, byte in enumerate(data))


def attr_of(op, op_size):
    return op >> 4 | op_size << 2 | (op & 0xF) << 4


@pytest.mark.req("UPLI-354", "UPLI-362")
def test_memory():
    memory = Memory()
    assert memory.read(0x1FFFFFFFFFFFFC0, 64) == bytes(64)
    memory.write(0x103C, b"abcdefgh", bytes([1, 0, 1, 1, 1, 1, 0, 1]))
    assert memory.read(0x103A, 12) == b"\0\0a\0cdef\0h\0\0"
    memory.write_line(0x2000, bytes(range(64)), 0b1010)
    assert memory.read_line(0x2015)[:5] == bytes([0, 1, 0, 3, 0])
    with pytest.raises(ValueError, match="57 bits"):
        memory.read_line(1 << 57)


OPERATION_EXAMPLES = [
    (0x00, 4, 0xFFFFFFFF, 2, 0, 1),
    (0x01, 2, 0xF0F0, 0xFF00, 0, 0xF000),
    (0x02, 2, 0xF0F0, 0x0F00, 0, 0xFFF0),
    (0x03, 1, 0xF0, 0xFF, 0, 0x0F),
    (0x04, 8, 1, 0xDEADBEEFCAFEF00D, 0, 0xDEADBEEFCAFEF00D),
    (0x05, 1, 0x80, 0x7F, 0, 0x80),
    (0x06, 1, 0x80, 0x7F, 0, 0x7F),
    (0x07, 1, 0x80, 0x7F, 0, 0x7F),
    (0x08, 1, 0x80, 0x7F, 0, 0x80),
    (0x09, 4, 5, 5, 0, 0),
    (0x09, 4, 4, 5, 0, 5),
    (0x0A, 4, 0, 5, 0, 5),
    (0x0A, 4, 6, 5, 0, 5),
    (0x0A, 4, 5, 5, 0, 4),
    (0x0B, 2, 1, 2, 0, 0xFFFF),
    (0x10, 4, 7, 7, 9, 9),
    (0x10, 4, 8, 7, 9, 8),
    (0x11, 4, 0x12345678, 0xABCDEF01, 0x00FF00FF, 0x12CD5601),
]


@pytest.mark.parametrize(("op", "size", "old", "op1", "op2", "new"), OPERATION_EXAMPLES)
def test_operations(op, size, old, op1, op2, new):
    memory = Memory()
    memory.write(0x40, old.to_bytes(size, "little"))
    assert memory.atomic(0x40, size, OPERATIONS[op], op1, op2) == old
    assert memory.read(0x40, 8) == new.to_bytes(size, "little").ljust(8, b"\0")


def filled(**arguments):
    completer = Completer(**arguments)
    completer.memory.write(0x1000, PATTERN)
    return completer


@pytest.mark.req("UPLI-188", "UPLI-226", "UPLI-229", "UPLI-231", "UPLI-234", "UPLI-236", "UPLI-240", "UPLI-343")
@pytest.mark.req("UPLI-310", "UPLI-311", "UPLI-312", "UPLI-314", "UPLI-315", "UPLI-344", "UPLI-346", "UPLI-373")
@pytest.mark.parametrize("single_beat", [False, True])
def test_reads(single_beat):
    rng = random.Random(1)
    completer = filled(single_beat=single_beat)
    for _ in range(100):
        first = rng.randrange(64)
        length, attr = rng.randrange(64 - first), rng.randrange(256)
        addr = 0x1000 + 4 * first
        request = Request(cmd=ReqCmd.READ, addr=addr, len=length, attr=attr, **IDS)
        beats = completer.execute(request)
        count = beats_of(addr, length)
        for offset, (beat, mask) in enumerate(zip(beats, read_masks(addr, length, attr), strict=True)):
            block = addr % 256 // 64 + offset
            assert beat == RdRspBeat(
                tag=0x2A5,
                data=lanes(PATTERN[64 * block : 64 * block + 64], mask),
                offset=offset,
                num_beats=0 if single_beat else count - 1,
                last=offset == count - 1,
                src_phys_acc_id=9,
                dst_phys_acc_id=7,
                vc=2,
            )
        if attr == 0xFF:
            assert read_data(request, beats) == PATTERN[4 * first : 4 * (first + length + 1)]


@pytest.mark.req("UPLI-262", "UPLI-266", "UPLI-268", "UPLI-269", "UPLI-271", "UPLI-352", "UPLI-353", "UPLI-354")
def test_writes():
    rng = random.Random(2)
    completer, shadow = filled(), bytearray(PATTERN)
    for _ in range(100):
        first = rng.randrange(64)
        length = rng.randrange(64 - first)
        addr, size = 0x1000 + 4 * first, 4 * (length + 1)
        request = Request(cmd=ReqCmd.WRITE, addr=addr, len=length, num_beats=beats_of(addr, length) - 1, **IDS)
        data, enables = rng.randbytes(size), bytes(rng.randrange(2) for _ in range(size))
        expected = WrRspBeat(tag=0x2A5, src_phys_acc_id=9, dst_phys_acc_id=7, vc=2)
        assert completer.execute(request, orig_data(request, data, enables)) == [expected]
        for n in range(size):
            shadow[4 * first + n] = data[n] if enables[n] else shadow[4 * first + n]
        assert completer.memory.read(0x1000, 256) == shadow
    full = Request(cmd=ReqCmd.WRITE_FULL, addr=0x1040, len=31, num_beats=1)
    completer.execute(full, orig_data(full, PATTERN[:128]))
    assert completer.touched == {0x1000, 0x1040, 0x1080, 0x10C0}
    assert completer.memory.read(0x1040, 128) == PATTERN[:128]


ATOMIC_EXAMPLES = [
    (0x00, 0b01, 0x010, 9, 0x00FF00FF00000000, 0x00FF00FF00000000),
    (0x00, 0b00, 0x000, 10, 0x000000F0FF0F000F, 0x000000F0FF0F000F),
    (0x10, 0b01, 0x020, 15, 0x00FF00FF00FF00FF, 0x00FF00FF00000000),
    (0x11, 0b00, 0x000, 15, 0xFF0F000FFF0F000F, 0x00000000FF0F000F),
    (0x10, 0b01, 0x0E0, 15, 0x000000FF000000FF, 0x000000FF00000000),
    (0x04, 0b10, 0x008, 0, 0x0000000000000C00, 0x0000000000000C00),
    (0x0B, 0b11, 0x03C, 0, 0x8000000000000000, 0x8000000000000000),
    (0x00, 0b00, 0x000, 15, 0, 0),
]


@pytest.mark.req("UPLI-145", "UPLI-357", "UPLI-360", "UPLI-361", "UPLI-362", "UPLI-364", "UPLI-366", "UPLI-367")
@pytest.mark.req("UPLI-197", "UPLI-198", "UPLI-369", "UPLI-370", "UPLI-374")
@pytest.mark.parametrize("returning", [True, False])
@pytest.mark.parametrize(("op", "op_size", "addr", "length", "byte_en", "result"), ATOMIC_EXAMPLES)
def test_atomics(op, op_size, addr, length, byte_en, result, returning):
    completer = filled()
    size = {0b00: 4, 0b01: 8, 0b10: 2, 0b11: 1}[op_size]
    operands = bytes((3 * n + 100) % 256 for n in range(64))
    if op == 0x10:  # make every other compare succeed
        operands = PATTERN[addr : addr + 32] + operands[32:]
        operands = bytes(b ^ (1 if n // size % 2 else 0) for n, b in enumerate(operands[:32])) + operands[32:]
    cmd = ReqCmd.ATOMIC_R if returning else ReqCmd.ATOMIC_NR
    request = Request(cmd=cmd, addr=0x1000 + addr, len=length, attr=attr_of(op, op_size), **IDS)
    [beat] = completer.execute(request, [OrigDataBeat(data=operands, byte_en=byte_en)])
    assert beat.status is Status.OKAY and beat.tag == 0x2A5
    assert isinstance(beat, RdRspBeat if returning else WrRspBeat)
    block = addr - addr % 64
    if returning:
        assert beat.data == lanes(PATTERN[block : block + 64], result)
        assert (beat.offset, beat.num_beats, beat.last) == (0, 0, True)
    shadow = bytearray(PATTERN)
    double = op >= 0x10
    for lane in range(0, 32 if double else 64, size):
        if byte_en >> lane & 1:
            at = (addr if double else block) + lane
            old, op1 = shadow[at : at + size], operands[lane : lane + size]
            op2 = operands[32 + lane : 32 + lane + size]
            values = [int.from_bytes(v, "little") for v in (old, op1, op2)]
            new = {
                0x00: lambda o, a, b: o + a,
                0x04: lambda o, a, b: a,
                0x0B: lambda o, a, b: o - a,
                0x10: lambda o, a, b: b if o == a else o,
                0x11: lambda o, a, b: o & ~b | a & b,
            }[op](*values)
            shadow[at : at + size] = (new % (1 << 8 * size)).to_bytes(size, "little")
    assert completer.memory.read(0x1000, 256) == shadow


REFUSED_ATOMICS = [
    ("unsupported OpType", 0x1F, 0b00, 0x000, 15, 0xF),
    ("misaligned", 0x00, 0b01, 0x034, 1, 0),
    ("crosses 64 bytes", 0x00, 0b01, 0x038, 3, 0),
    ("double, misaligned", 0x10, 0b00, 0x010, 15, 0),
    ("part of an element", 0x00, 0b00, 0x000, 15, 0x7),
    ("operands enabled unlike", 0x10, 0b00, 0x000, 15, 0xF),
]


@pytest.mark.req("UPLI-251", "UPLI-252", "UPLI-358", "UPLI-359", "UPLI-361", "UPLI-365", "UPLI-368", "UPLI-371")
@pytest.mark.parametrize(("why", "op", "op_size", "addr", "length", "byte_en"), REFUSED_ATOMICS)
def test_refused_atomics(why, op, op_size, addr, length, byte_en):
    for cmd in (ReqCmd.ATOMIC_R, ReqCmd.ATOMIC_NR):
        completer = filled()
        request = Request(cmd=cmd, addr=0x1000 + addr, len=length, attr=attr_of(op, op_size))
        [beat] = completer.execute(request, [OrigDataBeat(data=b"\1" * 64, byte_en=byte_en)])
        assert beat.status is Status.TARGET_ABORT, why
        assert completer.memory.read(0x1000, 256) == PATTERN
        if cmd is ReqCmd.ATOMIC_R:
            assert isinstance(beat, RdRspBeat) and beat.data == b"\xff" * 64 and not beat.data_error
        else:
            assert isinstance(beat, WrRspBeat)


def test_operations_can_be_replaced():
    completer = Completer(operations={0x1F: Operation("NAND", 1, lambda old, op, _, bits: ~(old & op) % (1 << bits))})
    request = Request(cmd=ReqCmd.ATOMIC_R, addr=0, len=0, attr=attr_of(0x1F, 0))
    assert completer.execute(request, [OrigDataBeat(data=bytes(64), byte_en=0xF)])[0].status is Status.OKAY
    assert completer.memory.read(0, 8) == b"\xff\xff\xff\xff\0\0\0\0"


@pytest.mark.req("UPLI-239", "UPLI-248", "UPLI-251", "UPLI-252", "UPLI-279")
def test_decode_error():
    completer = filled(size=0x1100)
    read = Request(cmd=ReqCmd.READ, addr=0x1100, len=63, attr=0xFF)
    beats = completer.execute(read)
    assert [beat.offset for beat in beats] == [0, 1, 2, 3] and [beat.last for beat in beats] == [False] * 3 + [True]
    for beat in beats:
        assert beat.status is Status.DECODE_ERROR and beat.data == b"\xff" * 64 and not beat.data_error
    write = Request(cmd=ReqCmd.WRITE, addr=0x1100, len=15)
    assert completer.execute(write, orig_data(write, PATTERN[:64]))[0].status is Status.DECODE_ERROR
    assert 0x1100 not in completer.memory.lines


def test_enables_outside_the_range_are_ignored():
    completer = filled()
    request = Request(cmd=ReqCmd.WRITE, addr=0x1008, len=1)
    completer.execute(request, [OrigDataBeat(data=bytes(64))])
    assert completer.memory.read(0x1000, 64) == PATTERN[:8] + bytes(8) + PATTERN[16:64]


@pytest.mark.req("UPLI-384")
@pytest.mark.parametrize("enables", [0, 1, 0xFF00, (1 << 64) - 1])
@pytest.mark.parametrize("bad", [0, 1])
def test_corrupt_beats_are_not_written(bad, enables):
    """Whatever the byte enables of a poisoned beat say, all its bytes are corrupt, and the Write fails."""
    completer = filled()
    request = Request(cmd=ReqCmd.WRITE, addr=0x1000, len=31, num_beats=1)
    beats = orig_data(request, bytes(128))
    beats[bad] = replace(beats[bad], byte_en=enables, error=True)
    assert completer.execute(request, beats)[0].status is Status.TARGET_ABORT
    kept = PATTERN[64 * bad : 64 * bad + 64]
    assert completer.memory.read(0x1000, 128) == (kept + bytes(64) if bad == 0 else bytes(64) + kept)


@pytest.mark.req("UPLI-384")
@pytest.mark.parametrize("enables", [0, 0xF, (1 << 64) - 1])
def test_corrupt_operands_change_nothing(enables):
    completer = filled()
    for cmd in (ReqCmd.ATOMIC_R, ReqCmd.ATOMIC_NR):
        request = Request(cmd=cmd, addr=0x1000, len=15, attr=attr_of(0, 0))
        [beat] = completer.execute(request, [OrigDataBeat(data=b"\1" * 64, byte_en=enables, error=True)])
        assert beat.status is Status.TARGET_ABORT
    assert completer.memory.read(0x1000, 256) == PATTERN


@pytest.mark.req("UPLI-204", "UPLI-219", "UPLI-220", "UPLI-221", "UPLI-222")
def test_messages():
    completer = Completer()
    for kind in range(4):
        request = Request(cmd=ReqCmd.UPLI_WRITE_MESSAGE, meta_data=kind, **IDS)
        [beat] = completer.execute(request, [OrigDataBeat(data=bytes(64))])
        assert isinstance(beat, RdRspBeat) == (kind == 2) and beat.status is Status.OKAY
        if kind == 2:
            assert beat.data == bytes(64) and (beat.offset, beat.num_beats, beat.last) == (0, 0, True)
    request = Request(cmd=ReqCmd.UPLI_WRITE_MESSAGE, meta_data=0x55)
    assert completer.execute(request, [OrigDataBeat(data=bytes(64))])[0].status is Status.TARGET_ABORT
    assert not completer.memory.lines


@pytest.mark.req("UPLI-255")
def test_messages_never_answer_as_if_they_had_an_address():
    """Not even where no address exists, or for the types of vendors, nobody of whom says that ReqAddr is one."""
    completer = Completer(size=0)
    for kind in range(256):
        for num_beats in range(4):
            request = Request(cmd=0x2A, meta_data=kind, addr=(1 << 57) - 4, len=63, num_beats=num_beats)
            [beat] = completer.execute(request, [OrigDataBeat(data=bytes(64))] * (num_beats + 1))
            assert beat.status == (0 if kind < 4 and not num_beats else 2), kind


@pytest.mark.req("UPLI-249", "UPLI-281", "UPLI-216", "UPLI-217")
@pytest.mark.parametrize("refusal", [None, 1, 7, 14])
def test_vendor_defined_commands_are_refused_with_a_status_that_their_vendor_chooses(refusal):
    completer = Completer() if refusal is None else Completer(vendor_refusal=refusal)
    for cmd in (*range(0x08, 0x10), *range(0x2C, 0x30), *range(0x3C, 0x40)):
        data = [OrigDataBeat(data=bytes(64))] * 3 if cmd >= 0x20 else []
        [beat] = completer.execute(Request(cmd=cmd, num_beats=2, **IDS), data)
        assert isinstance(beat, RdRspBeat) == (cmd < 0x10) and beat.status == (refusal or 2)
        assert (beat.tag, beat.vc, beat.dst_phys_acc_id) == (0x2A5, 2, 7)
        if isinstance(beat, RdRspBeat):
            assert (beat.offset, beat.num_beats, beat.last, beat.data_error) == (0, 0, True, False)
    assert completer.execute(Request(cmd=0x10))[0].status is Status.TARGET_ABORT, "a Reserved command has no vendor"
    for wrong in (0, 15, -1, 16):
        with pytest.raises(ValueError, match=f"vendor_refusal is {wrong}; .* 1 to 14"):
            Completer(vendor_refusal=wrong)


def test_reserved_commands():
    completer = Completer()
    [beat] = completer.execute(Request(cmd=0x00))
    assert isinstance(beat, RdRspBeat) and beat.status is Status.TARGET_ABORT
    [beat] = completer.execute(Request(cmd=0x33, num_beats=1), [OrigDataBeat(data=bytes(64))] * 2)
    assert isinstance(beat, WrRspBeat) and beat.status is Status.TARGET_ABORT
    with pytest.raises(ValueError, match="0 OrigData beats"):
        completer.execute(Request(cmd=ReqCmd.WRITE))
