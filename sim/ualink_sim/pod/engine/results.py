"""What the engine has found, as it writes it."""

import struct
from dataclasses import dataclass
from pathlib import Path

from ...model.upli.transactions import Status
from ...records import Bucket, Replay

__all__ = ["Direction", "Fate", "Found", "read_found"]

WIRE = ("slots", "data_flits", "lost_slots", "lost_flits", "errored_flits", "flipped_bits")
BUCKET = ("start", "cycles", "flits", "payload_flits", "replayed", "tl_flits", "data_bytes")
NOT_ANSWERED = (1 << 64) - 1


@dataclass(frozen=True)
class Direction:
    """Of one direction of a link: counts of its wire by the names of ``Wire``, and what ``LinkResult`` has."""

    wire: dict[str, int]
    control_slots: int
    fault_slots: int
    markers: int
    buckets: list[Bucket]
    replays: list[Replay]


@dataclass(frozen=True)
class Fate:
    """Of a request: cycles, None until then; status, bytes that came back and what is wrong with a completed one."""

    issued: int | None
    completed: int | None
    status: str
    data: bytes
    mismatch: str


@dataclass(frozen=True)
class Found:
    """All of it; ``capture_error`` is the errno with which a capture was not written, 0: it was. ``broken`` are
    channel, rule and detail of the rule of UPLI that was broken; the detail alone tells of what else went wrong."""

    cycle: int
    capture_error: int
    broken: tuple[str, str, str]
    directions: list[Direction]
    memory: dict[int, dict[int, bytes]]
    fates: list[Fate]


class _Reader:
    def __init__(self, data: bytes):
        self._data, self._at = data, 0

    def numbers(self, count: int) -> tuple[int, ...]:
        values = struct.unpack_from(f"<{count}Q", self._data, self._at)
        self._at += 8 * count
        return values

    def number(self) -> int:
        return self.numbers(1)[0]

    def bytes(self) -> bytes:
        size = self.number()
        self._at += size
        return self._data[self._at - size : self._at]


def read_found(path: Path, accelerators: int, ports: int, requests: int) -> Found:
    """What is in ``path``, of a pod of so many ``accelerators`` of so many ``ports`` that had ``requests`` to issue."""
    reader = _Reader(path.read_bytes())
    cycle, capture_error = reader.numbers(2)
    channel, rule, detail = (reader.bytes().decode() for _ in range(3))
    return Found(
        cycle=cycle,
        capture_error=capture_error,
        broken=(channel, rule, detail),
        directions=[_direction(reader) for _ in range(2 * accelerators * ports)],
        memory={number: _lines(reader) for number in range(accelerators)},
        fates=[_fate(reader) for _ in range(requests)],
    )


def _direction(reader: _Reader) -> Direction:
    wire = dict(zip(WIRE, reader.numbers(len(WIRE))))
    control_slots, fault_slots, markers = reader.numbers(3)
    buckets = [Bucket(**dict(zip(BUCKET, reader.numbers(len(BUCKET))))) for _ in range(reader.number())]
    replays = []
    for _ in range(reader.number()):
        cycle, seq, cycles = reader.numbers(3)
        replays.append(Replay(cycle=cycle, seq=seq, cycles=None if cycles == NOT_ANSWERED else cycles))
    return Direction(wire, control_slots, fault_slots, markers, buckets, replays)


def _lines(reader: _Reader) -> dict[int, bytes]:
    lines = {}
    for _ in range(reader.number()):
        address = reader.number()
        lines[address] = reader.bytes()
    return lines


def _fate(reader: _Reader) -> Fate:
    issued, completed, status = reader.numbers(3)
    data, mismatch = reader.bytes(), reader.bytes().decode()
    name = Status(status).name if completed else "NONE"
    return Fate(issued or None, completed or None, name, data, mismatch)
