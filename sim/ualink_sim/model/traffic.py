"""What a traffic engine asks for, and the data that every line of memory has (docs/traffic-engine.md).

Lines are 64 bytes, blocks 256 bytes; addresses here are numbers of lines, ReqAddr[56:6].
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from .upli.memory import LINE_BYTES, Memory

__all__ = [
    "BINS",
    "Command",
    "Destinations",
    "Pattern",
    "Plan",
    "Settings",
    "WrappedMemory",
    "bin_of",
    "least_of_bin",
    "line_data",
    "line_state",
    "plans",
    "verdict",
    "write_lanes",
    "xorshift64",
]

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E37_79B9_7F4A_7C15
BLOCK_LINES = 4
BINS = 92
"""Latency classes in use; see ``bin_of``."""


class Pattern(IntEnum):
    """How addresses follow one another."""

    STREAM = 0
    STRIDE = 1
    RANDOM = 2
    HOT_SPOT = 3


class Destinations(IntEnum):
    """How destinations follow one another."""

    ONE = 0
    ROUND_ROBIN = 1
    RANDOM = 2


class Command(IntEnum):
    """What a planned Request does: Read, Write, AtomicR with SWAP, WriteFull."""

    READ = 0
    WRITE = 1
    ATOMIC = 2
    WRITE_FULL = 3


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The registers that decide what is asked for; fields and reset values are theirs."""

    pattern: int = Pattern.STREAM
    destinations: int = Destinations.ONE
    skip_own: bool = False
    verify: bool = False
    sparse: bool = False
    random_size: bool = False
    size: int = 3
    own: int = 0
    first: int = 0
    count: int = 1
    read: int = 128
    write: int = 0
    atomic: int = 0
    base: int = 0
    region: int = 0
    hot_region: int = 0
    hot_share: int = 128
    stride: int = 4
    seed: int = _GOLDEN


@dataclass(frozen=True)
class Plan:
    """One Request: ``beats`` lines from ``line`` on of accelerator ``dst``.

    ``strict`` asks of a Read that the bytes ``masked`` (those of a sparse Write, otherwise all) are the new ones.
    """

    command: Command
    line: int
    beats: int
    dst: int
    strict: bool = False
    masked: bool = False


def xorshift64(x: int) -> int:
    """Marsaglia's generator of period 2**64 - 1; a linear map."""
    x ^= x << 13 & _WORD
    x ^= x >> 7
    return x ^ x << 17 & _WORD


def plans(settings: Settings) -> Iterator[Plan]:
    """The Requests of a run, without end; they do not depend on when they are issued."""
    s = settings
    mask = (BLOCK_LINES << s.region) - 1
    hot = mask & (BLOCK_LINES << s.hot_region) - 1
    state, pointer, turn = s.seed, 0, 0
    while True:
        chance = state >> 41 & 0xFF
        if chance < s.read:
            command = Command.READ
        elif chance < s.read + s.write:
            command = Command.WRITE
        elif chance < s.read + s.write + s.atomic:
            command = Command.ATOMIC
        else:
            command = Command.WRITE_FULL
        beats = (state >> 49 & 3 if s.random_size else s.size) + 1
        if command == Command.ATOMIC:
            beats = 1

        place = pointer if s.pattern in (Pattern.STREAM, Pattern.STRIDE) else state & (1 << 33) - 1
        place &= hot if s.pattern == Pattern.HOT_SPOT and state >> 33 & 0xFF < s.hot_share else mask
        offset = place - place % BLOCK_LINES + min(place % BLOCK_LINES, BLOCK_LINES - beats)
        if s.pattern == Pattern.STREAM:
            pointer = offset + beats
        elif s.pattern == Pattern.STRIDE:
            pointer = pointer + s.stride & (1 << 33) - 1

        index = {
            Destinations.ONE: 0,
            Destinations.ROUND_ROBIN: turn,
            Destinations.RANDOM: (state >> 51 & 0x3FF) * s.count >> 10,
        }[Destinations(s.destinations)]
        turn = 0 if turn + 1 >= s.count else turn + 1
        dst = s.first + index & 0x3FF
        if s.skip_own and dst >= s.own:
            dst = dst + 1 & 0x3FF

        strict = s.verify and command != Command.READ
        masked = s.sparse and command == Command.WRITE
        line = s.base & ~mask | offset
        yield Plan(Command.READ if strict else command, line, beats, dst, strict, masked)
        state = xorshift64(state)


def line_state(line: int, dst: int, seed: int) -> int:
    """The 64 bits from which the data of a line are made."""
    return xorshift64(xorshift64(line ^ dst << 51 ^ (seed << 32 | seed)))


def line_data(line: int, dst: int, seed: int) -> bytes:
    """The 64 bytes of a line: eight words, each the state XOR a constant."""
    state = line_state(line, dst, seed)
    return b"".join((state ^ (n + 1) * _GOLDEN & _WORD).to_bytes(8, "little") for n in range(8))


def write_lanes(line: int, dst: int, seed: int) -> int:
    """The byte enables of a sparse Write of a line."""
    return _rotated(line_state(line, dst, seed), 29)


def verdict(plan: Plan, beat: int, found: bytes, new: int, old: int) -> int:
    """Lanes of a beat read for ``plan`` that are wrong, written with seed ``new`` over memory filled with ``old``."""
    line = plan.line + beat
    lanes = write_lanes(line, plan.dst, new) if plan.masked else _WORD
    wanted, before = line_data(line, plan.dst, new), line_data(line, plan.dst, old)
    wrong = 0
    for lane in range(LINE_BYTES):
        may_be_old = not (plan.strict and lanes >> lane & 1)
        if found[lane] != wanted[lane] and not (may_be_old and found[lane] == before[lane]):
            wrong |= 1 << lane
    return wrong


def bin_of(cycles: int) -> int:
    """The latency class of ``cycles``: four to each power of two, 0 to 3 of their own."""
    if cycles < 4:
        return cycles
    exponent = cycles.bit_length() - 1
    return 4 * (exponent - 1) + (cycles >> exponent - 2 & 3)


def least_of_bin(number: int) -> int:
    """The least latency of class ``number``."""
    if number < 4:
        return number
    return (4 + number % 4) << number // 4 - 1


def _rotated(x: int, by: int) -> int:
    by %= 64
    return (x << by | x >> 64 - by) & _WORD


class WrappedMemory(Memory):
    """A memory of ``lines`` lines, whose addresses wrap around."""

    def __init__(self, lines: int):
        super().__init__()
        self._size = lines * LINE_BYTES

    def _key(self, address: int) -> int:
        return super()._key(address) % self._size
