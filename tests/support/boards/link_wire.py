"""What was recorded of the wires between two boards, read with the executable model of the physical layer."""

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ualink.config import PhyConfig
from ualink_boards.link_pair import ENDS
from ualink_sim.capture.pcapng import CapturedFlit, CaptureWriter, read_capture
from ualink_sim.model.phy.rs_receive import Heard
from ualink_sim.model.phy.wire import WireReader

__all__ = ["INTERFACES", "RECORD", "TAPS", "Slot", "Tap", "Wires", "read_wires", "write_excerpt"]

RECORD = struct.Struct("<BQ")
"""Of a record: place of the tap in ``TAPS``, time in ps of its last bit; the bits follow, the first one lowest."""
TAPS = ("sent_a", "heard_a", "sent_b", "heard_b")
INTERFACES = {
    "sent_a": "acc1.0>acc2.0/tx",
    "heard_b": "acc1.0>acc2.0/rx",
    "sent_b": "acc2.0>acc1.0/tx",
    "heard_a": "acc2.0>acc1.0/rx",
}
"""Of a capture: the boards are accelerators 1 and 2."""
INTERFACE_NUMBERS = {tap: number for number, tap in enumerate(INTERFACES)}
SLOT_BITS = 80 * 66
PICOSECONDS = 1_000_000
"""MHz of a clock that counts ps."""


class Slot(NamedTuple):
    """A flit slot that somebody at the tap could make out: when it began, and what it was."""

    time_ps: int
    heard: Heard


@dataclass
class Tap:
    """What a reader of one tap has seen: slots, and after each record its time and how many bad sync headers there were
    until then."""

    reader: WireReader
    slots: list[Slot] = field(default_factory=list)
    bad_headers: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Wires:
    """``taps`` by name; ``flipped`` has time and number of the bits of a record that arrived at a board otherwise than
    they had been sent."""

    taps: dict[str, Tap]
    flipped: dict[str, list[tuple[int, int]]]


def _records(path: Path) -> Iterator[tuple[str, int, int]]:
    with path.open("rb") as stream:
        while head := stream.read(RECORD.size):
            number, time_ps = RECORD.unpack(head)
            yield TAPS[number], time_ps, int.from_bytes(stream.read(SLOT_BITS // 8), "little")


def read_wires(path: Path, capture: Path, phy: PhyConfig) -> Wires:
    """What each tap has seen; all data flits go to a new ``capture``, with the number of slots before each of which
    nothing could be made out."""
    taps = {tap: Tap(WireReader(phy.marker_blocks, phy.marker_slots, phy.idle_interval)) for tap in TAPS}
    wires = Wires(taps, {end: [] for end in ENDS})
    lost = dict.fromkeys(TAPS, 0)
    before: dict[str, tuple[int, int]] = {tap: (0, 0) for tap in TAPS}
    bits: dict[str, int] = {}
    with capture.open("wb") as stream:
        writer = CaptureWriter(stream, list(INTERFACES.values()), PICOSECONDS)
        for name, time_ps, record in _records(path):
            tap, (last_ps, last_bit) = taps[name], before[name]
            bit_ps = (time_ps - last_ps) / SLOT_BITS
            before[name] = time_ps, last_bit + SLOT_BITS
            for end, received in tap.reader.feed(record, SLOT_BITS):
                began = time_ps - int((last_bit + 2 * SLOT_BITS - end) * bit_ps)
                tap.slots.append(Slot(began, received.heard))
                if received.heard is Heard.GOOD:
                    writer.write(INTERFACE_NUMBERS[name], began, received.flit, lost[name])
                    lost[name] = 0
                lost[name] += received.heard is Heard.BAD
            tap.bad_headers.append((time_ps, tap.reader.bad_headers))
            bits[name] = record
            for sender, receiver in (ENDS, ENDS[::-1]):
                if name == f"heard_{receiver}":
                    flips = (bits[f"sent_{sender}"] ^ record).bit_count()
                    wires.flipped[receiver].append((time_ps, flips))
    return wires


def write_excerpt(capture: Path, excerpt: Path, time_ps: float, before: int, after: int) -> None:
    """A new capture ``excerpt`` with the last ``before`` flits of ``capture`` until a time and the first ``after``
    later."""
    kept: deque[CapturedFlit] = deque(maxlen=before + after)
    late = 0
    for packet in read_capture(capture):
        late += packet.time_ps > time_ps
        if late > after:
            break
        kept.append(packet)
    names = list(INTERFACES.values())
    with excerpt.open("wb") as stream:
        writer = CaptureWriter(stream, names, PICOSECONDS)
        for packet in kept:
            writer.write(names.index(packet.interface), packet.time_ps, packet.flit, packet.lost)
