"""Isolation Mode of an Accelerator's Originator (UALink_200 §3.1.3, §3.1.4.3).

Written from the tables of states, not from hardware: what happens is said event by event, and time is a number that the
caller gives. ``responses`` are beats of ``transactions``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .transactions import BEAT_BYTES, RdRspBeat, ReqCmd, Request, Status, WrRspBeat, responds_on_rd_rsp

__all__ = ["FILLER", "IsolatingOriginator", "Record"]

FILLER = b"\xff" * BEAT_BYTES
"""Data of a dummy Read Response."""


@dataclass
class Record:
    """A Request that was accepted and not yet answered: when it came, and which beats of its answer have arrived.

    ``beats``: those of the whole answer, 0 for a Write Response. ``burst``: the answer began in Multi-Beat mode.
    """

    request: Request
    since: int
    beats: int
    arrived: set[int] = field(default_factory=set)
    burst: bool = False


class IsolatingOriginator:
    """History, watchdogs and Isolation of one Originator with all its ports.

    ``limit``: cycles that a Request may be outstanding, 0 for ever. ``isolated``: no Request goes out and no Response
    comes in. ``causes``: ``"time_out"``, ``"isolate"``, ``"command"``, what has led there since ``clear``.
    """

    def __init__(self, limit: int = 0):
        self.limit = limit
        self.isolated = False
        self.causes: set[str] = set()
        self._history: dict[tuple[int, int], Record] = {}

    @property
    def outstanding(self) -> dict[tuple[int, int], Record]:
        """Requests without their whole answer, by port and tag."""
        return dict(self._history)

    def accept(self, port: int, request: Request, now: int) -> bool:
        """An Originator Device hands over ``request``; true if it goes out. Its time begins, in Isolation too."""
        key = port, request.tag
        assert key not in self._history, f"tag {request.tag} of port {port} is outstanding"
        beats = _answer_beats(request) if responds_on_rd_rsp(request) else 0
        self._history[key] = Record(request, now, beats)
        return not self.isolated

    def respond(self, port: int, beat: RdRspBeat | WrRspBeat) -> bool:
        """``beat`` arrives from the TL; true if an Originator Device gets it."""
        if isinstance(beat, WrRspBeat) and beat.status == Status.ISOLATE:
            if not self.isolated:
                self._isolate("isolate")
            return False
        record = self._history.get((port, beat.tag))
        if self.isolated or record is None:
            return False
        if isinstance(beat, RdRspBeat):
            record.arrived.add(beat.offset)
            record.burst |= beat.num_beats > 0
        if isinstance(beat, WrRspBeat) or beat.last:
            del self._history[port, beat.tag]
        return True

    def expired(self, now: int) -> list[tuple[int, int]]:
        """Requests whose time is over."""
        return [key for key, record in self._history.items() if self.limit and now - record.since > self.limit]

    def time_out(self) -> None:
        """A watchdog has told that a Request's time is over."""
        self._isolate("time_out")

    def command(self) -> None:
        """Firmware puts the Originator into Isolation."""
        self._isolate("command")

    def clear(self) -> None:
        """Firmware ends Isolation; every Request has its answer by then."""
        assert not self._history, "there are Requests without an answer"
        self.isolated = False
        self.causes.clear()

    def dummies(self, port: int, tag: int) -> Iterator[RdRspBeat | WrRspBeat]:
        """The beats that are still to come of an outstanding Request, with Completion Timeout, which ends it."""
        assert self.isolated
        record = self._history.pop((port, tag))
        request = record.request
        common: dict[str, Any] = {
            "tag": tag,
            "status": Status.CMPTO,
            "src_phys_acc_id": request.dst_phys_acc_id,
            "dst_phys_acc_id": request.src_phys_acc_id,
            "vc": request.vc,
        }
        if not record.beats:
            yield WrRspBeat(**common)
            return
        missing = [offset for offset in range(record.beats) if offset not in record.arrived]
        multi_beat = record.burst or not record.arrived
        for offset in missing:
            num_beats = record.beats - 1 if multi_beat else 0
            yield RdRspBeat(**common, data=FILLER, offset=offset, num_beats=num_beats, last=offset == missing[-1])

    def _isolate(self, cause: str) -> None:
        self.isolated = True
        self.causes.add(cause)


def _answer_beats(request: Request) -> int:
    """Beats of an answer on RdRsp; vendors' own commands have as many as ReqNumBeats says."""
    if request.cmd == ReqCmd.READ:
        first = request.addr % 256 // BEAT_BYTES
        last = (request.addr % 256 + 4 * request.len) // BEAT_BYTES
        return last - first + 1
    return request.num_beats + 1 if request.cmd in _VENDOR_READS else 1


_VENDOR_READS = range(0x08, 0x10)
