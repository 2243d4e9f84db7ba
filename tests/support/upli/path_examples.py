"""Worked examples of UALink_200 §2.8, as literal beats: what crosses each UPLI interface of the way."""

from dataclasses import dataclass, field, replace

from ualink_sim.model.upli.transactions import OrigDataBeat, Request

PATTERN = bytes((7 * n + 1) % 251 for n in range(256))
"""What is in the 256-byte block of an example before it."""

ALL = 0xFFFFFFFFFFFFFFFF
OKAY, TARGET_ABORT, DECODE_ERROR = 0b0000, 0b0010, 0b0011
READ, WRITE, WRITE_FULL, MESSAGE, ATOMIC_R, ATOMIC_NR = 0x03, 0x28, 0x29, 0x2A, 0x30, 0x32
ADD, COMPARE_SWAP, UNKNOWN = 0x00, 0x10, 0x1F
SIZES = {4: 0b00, 8: 0b01, 2: 0b10, 1: 0b11}


@dataclass(frozen=True)
class Example:
    """A Request with its data, the lanes of the Response that matter with their contents, and the memory after it.

    ``masks`` are the lanes of each Read Response beat that hold something, None for a Write Response; ``enables`` the
    OrigDataByteEn of each beat at the destination.
    """

    name: str
    request: Request
    beats: tuple[OrigDataBeat, ...] = ()
    enables: tuple[int, ...] = ()
    masks: tuple[int, ...] | None = None
    contents: tuple[bytes, ...] = ()
    memory: bytes = field(default=PATTERN)
    status: int = OKAY

    @property
    def block(self) -> int:
        """The address of the example's block, where it has one."""
        return self.request.addr & ~0xFF if self.request.addr < 0x10000 else 0

    def check(self, request, data, response):
        """What came to the destination, and what came back."""
        for name, value in vars(self.request).items():
            if name not in ("tag", "src_phys_acc_id", "dst_phys_acc_id", "vc"):
                assert request[name] == value, (self.name, name)
        assert [beat["byte_en"] for beat in data] == list(self.enables), self.name
        assert [beat["offset"] for beat in data] == list(range(len(data))), self.name
        assert [beat["last"] for beat in data] == [0] * (len(data) - 1) + [1] * bool(data), self.name
        assert [beat["data"].to_bytes(64, "little") for beat in data] == [beat.data for beat in self.beats], self.name
        assert len(data) == (request["num_beats"] + 1 if request["cmd"] >> 5 & 1 else 0)
        for beat in response:
            assert (beat["status"], beat["tag"], beat["vc"]) == (self.status, request["tag"], 2), self.name
            assert beat["dst_phys_acc_id"] == 0 and beat["src_phys_acc_id"] in (0, 1), self.name
        if self.masks is None:
            assert len(response) == 1 and "data" not in response[0], self.name
            return
        count = len(self.masks)
        assert [beat["offset"] for beat in response] == list(range(count)), self.name
        assert [beat["num_beats"] for beat in response] == [count - 1] * count, self.name
        assert [beat["last"] for beat in response] == [0] * (count - 1) + [1], self.name
        assert not any(beat["data_error"] for beat in response), self.name
        for beat, mask, content in zip(response, self.masks, self.contents):
            got = beat["data"].to_bytes(64, "little")
            assert all(got[n] == content[n] for n in range(64) if mask >> n & 1), (self.name, beat["offset"])


def _line(n: int) -> bytes:
    return PATTERN[64 * n : 64 * n + 64]


def _read(name, addr, length, attr, *masks):
    request = Request(cmd=READ, addr=0x1000 + addr, len=length, attr=attr)
    contents = tuple(_line(addr // 64 + n) for n in range(len(masks)))
    return Example(name, request, masks=masks, contents=contents)


def _data(n: int) -> bytes:
    return bytes((5 * lane + 64 * n + 3) % 253 for lane in range(64))


def _write(name, cmd, addr, length, *enables):
    request = Request(cmd=cmd, addr=0x1000 + addr, len=length, attr=0x5A, num_beats=len(enables) - 1)
    memory = bytearray(PATTERN)
    for n, mask in enumerate(enables):
        for lane in range(64):
            if mask >> lane & 1:
                memory[addr // 64 * 64 + 64 * n + lane] = _data(n)[lane]
    count = len(enables)
    beats = tuple(
        OrigDataBeat(data=_data(n), byte_en=mask, offset=n, last=n == count - 1) for n, mask in enumerate(enables)
    )
    return Example(name, request, beats, enables, memory=bytes(memory))


def _atomic(name, op, size, addr, length, enables, lanes, *, returns=True):
    """ADD adds its operand; COMPARE_SWAP, whose Op1 is what memory holds, puts Op2 there."""
    attr = op >> 4 | SIZES[size] << 2 | (op & 0xF) << 4
    cmd = ATOMIC_R if returns else ATOMIC_NR
    request = Request(cmd=cmd, addr=0x1000 + addr, len=length, attr=attr)
    block = addr // 64
    operands = bytearray(_data(1))
    memory = bytearray(PATTERN)
    if op == COMPARE_SWAP:
        operands[:32] = PATTERN[addr : addr + 32]
    for lane in range(0, 32 if op == COMPARE_SWAP else 64, size):
        if not enables >> lane & 1:
            continue
        at = (addr if op == COMPARE_SWAP else 64 * block) + lane
        if op == COMPARE_SWAP:
            memory[at : at + size] = operands[32 + lane : 32 + lane + size]
        else:
            old, add = (int.from_bytes(part[i : i + size], "little") for part, i in ((memory, at), (operands, lane)))
            memory[at : at + size] = ((old + add) % (1 << 8 * size)).to_bytes(size, "little")
    result = bytes(byte if lanes >> n & 1 else 0 for n, byte in enumerate(_line(block)))
    beat = OrigDataBeat(data=bytes(operands), byte_en=enables)
    # Lanes without a result are 0, so all of the beat counts.
    masks, contents = ((ALL,), (result,)) if returns else (None, ())
    return Example(name, request, (beat,), (enables,), masks, contents, bytes(memory))


def _refused(name, cmd, status, *, addr=0x1000, length=15, attr=0, beats=(), masks=None, num_beats=0):
    request = Request(cmd=cmd, addr=addr, len=length, attr=attr, num_beats=num_beats)
    contents = tuple(b"\xff" * 64 for _ in masks or ())
    return Example(name, request, beats, tuple(beat.byte_en for beat in beats), masks, contents, status=status)


def _message(kind, masks):
    beat = OrigDataBeat(data=bytes(64))
    request = Request(cmd=MESSAGE, meta_data=kind)
    return Example(f"message {kind}", request, (beat,), (ALL,), masks, (bytes(64),) * bool(masks))


ZERO = OrigDataBeat(data=bytes(64))

_ALL_AT_1000H = [
    _read("Figure 2-12", 0x00, 3, 0xFF, 0xFFFF),
    _read("Figure 2-13", 0x38, 3, 0xFF, 0xFF00000000000000, 0xFF),
    _read("Figure 2-14", 0x34, 0, 0xF4, 0x0040000000000000),
    _read("Figure 2-15", 0x38, 1, 0x7E, 0x7E00000000000000),
    _read("Figure 2-16", 0x3C, 1, 0x3C, 0xC000000000000000, 0x3),
    _read("all of a block", 0x00, 63, 0xFF, ALL, ALL, ALL, ALL),
    _read("three beats", 0x44, 46, 0xFF, ALL & ~0xF, ALL, ALL),
    _read("four beats, masked ends", 0x0C, 60, 0x18, 0xFFFFFFFFFFFF8000, ALL, ALL, 0x1FFFFFFFFFFFFFFF),
    _write("Figure 2-17", WRITE, 0x00, 3, 0xFFFF),
    _write("Figure 2-18", WRITE, 0x00, 15, 0xD00000000000576B),
    _write("Figure 2-19", WRITE, 0x38, 2, 0x7500000000000000, 0xC),
    _write("Figure 2-20", WRITE_FULL, 0x00, 31, ALL, ALL),
    _write("all but the first doubleword", WRITE, 0x04, 62, ALL & ~0xF, ALL, ALL, ALL),
    _write("no byte", WRITE, 0x40, 15, 0),
    _write("three whole beats", WRITE_FULL, 0x40, 47, ALL, ALL, ALL),
    _write("one whole beat", WRITE_FULL, 0xC0, 15, ALL),
    _write("four whole beats", WRITE_FULL, 0x00, 63, ALL, ALL, ALL, ALL),
    _atomic("Figure 2-21", ADD, 8, 0x10, 9, 0x00FF00FF00000000, 0x00FF00FF00000000),
    _atomic("Figure 2-22", ADD, 4, 0x00, 10, 0x000000F0FF0F000F, 0x000000F0FF0F000F),
    _atomic("Figure 2-23", COMPARE_SWAP, 8, 0x20, 15, 0x00FF00FF00FF00FF, 0x00FF00FF00000000),
    _atomic("Figure 2-24", COMPARE_SWAP, 4, 0x00, 15, 0xFF0F000FFF0F000F, 0x00000000FF0F000F),
    _atomic("at the end of a block", COMPARE_SWAP, 8, 0xE0, 15, 0x000000FF000000FF, 0x000000FF00000000),
    _atomic("two bytes", ADD, 2, 0x08, 0, 0x0C00, 0x0C00),
    _atomic("one byte", ADD, 1, 0x3C, 0, 0x8000000000000000, 0x8000000000000000),
    _atomic("no element", ADD, 4, 0x00, 15, 0, 0),
    _atomic("without a result", ADD, 8, 0x10, 9, 0x00FF00FF00000000, 0, returns=False),
    _atomic("two operands, no result", COMPARE_SWAP, 4, 0xA0, 15, 0xFF0F000FFF0F000F, 0, returns=False),
    _refused("no such address", READ, DECODE_ERROR, addr=0x10000, length=63, attr=0xFF, masks=(ALL,) * 4),
    _refused("no such address to write", WRITE, DECODE_ERROR, addr=0x10000, beats=(ZERO,)),
    _refused("unknown AtomicR", ATOMIC_R, TARGET_ABORT, attr=0xF1, beats=(ZERO,), masks=(ALL,)),
    _refused("unknown AtomicNR", ATOMIC_NR, TARGET_ABORT, attr=0xF1, beats=(ZERO,)),
    _refused("vendor's read", 0x0D, TARGET_ABORT, attr=0x93, length=9, num_beats=2, masks=(ALL,)),
    _refused("vendor's write", 0x2E, TARGET_ABORT, attr=0x39, length=50, beats=(ZERO,)),
    *(_message(kind, (ALL,) if kind == 2 else None) for kind in range(4)),
]

EXAMPLES = [
    replace(example, request=replace(example.request, addr=example.request.addr + 256 * n))
    if example.request.addr in range(0x1000, 0x1100)
    else example
    for n, example in enumerate(_ALL_AT_1000H)
]
"""Each in a block of its own from 1000h on."""
