"""A capture of the wires between two boards, decoded and judged flit by flit."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from support.capture_checks import DirectionCheck
from ualink_sim.capture.decode_cli import interface_decoder
from ualink_sim.capture.pcapng import read_capture
from ualink_sim.capture.transactions import CapturedTransaction, TransactionTracker
from ualink_sim.model.decode import Decoder, FlitState

__all__ = ["Judged", "judge"]


SILENCE_PS = 100_000_000
"""Without a flit; a slot takes a fiftieth of it."""


class Done(NamedTuple):
    """A transaction with its Response: when it was asked for, Status, bytes of data each way, and nothing poisoned."""

    requested_ps: int
    status: int | None
    sent: int
    received: int
    clean: bool


@dataclass
class Judged:
    """By direction, as ``acc1.0>acc2.0``: what the checks of every capture found, transactions with a Response, times
    of Requests that have none, of damaged flits and of replays."""

    directions: dict[str, DirectionCheck] = field(default_factory=dict)
    done: dict[str, list[Done]] = field(default_factory=dict)
    unanswered: dict[str, list[int]] = field(default_factory=dict)
    damaged: dict[str, list[int]] = field(default_factory=dict)
    replays: dict[str, list[int]] = field(default_factory=dict)

    def note(self, transaction: CapturedTransaction) -> None:
        """A transaction that has ended."""
        direction = transaction.interface.partition("/")[0]
        if transaction.status is None:
            self.unanswered[direction].append(transaction.requested_ps)
            return
        sizes = len(transaction.sent), len(transaction.received)
        found = Done(transaction.requested_ps, transaction.status, *sizes, not transaction.poisoned)
        self.done[direction].append(found)


def judge(path: Path) -> Judged:
    """Decode the capture at ``path``; AssertionError: a check of every capture fails."""
    judged, tracker = Judged(), TransactionTracker()
    decoders: dict[str, Decoder] = {}
    last: dict[str, int] = {}
    for packet in read_capture(path):
        name = packet.interface
        direction, _, tap = name.partition("/")
        if name not in decoders:
            decoders[name] = interface_decoder(packet)
            for found in (judged.done, judged.unanswered, judged.damaged, judged.replays):
                found.setdefault(direction, [])
        flit = decoders[name].feed(packet.flit, packet.lost)
        check = judged.directions.setdefault(direction, DirectionCheck())
        if tap == "tx":
            if packet.time_ps - last.get(name, packet.time_ps) > SILENCE_PS:
                check.transmitter.pause()
            last[name] = packet.time_ps
            replays = check.transmitter.replays
            check.send(flit)
            if check.transmitter.replays > replays:
                judged.replays[direction].append(packet.time_ps)
        else:
            check.receive(flit)
            if flit.state is FlitState.BAD_CRC:
                judged.damaged[direction].append(packet.time_ps)
        for transaction in tracker.see(packet, flit):
            judged.note(transaction)
    for transaction in tracker.unanswered():
        judged.note(transaction)
    return judged
