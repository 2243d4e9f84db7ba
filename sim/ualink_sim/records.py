"""What a simulation notes: requests and their fate, counts of a link's directions, replays."""

from dataclasses import dataclass

__all__ = ["COUNTS", "WITHDRAWN", "Bucket", "FlowCounts", "Replay", "Transaction", "VPodEvent"]

WITHDRAWN = "WITHDRAWN"
"""Status of a request that was not issued, because its virtual pod had gone or its source or destination had left."""


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """One request and its fate; ``completed`` is None while it has none.

    ``data`` are the ``len`` bytes that came back (reads and returning atomics), with 00 where a read's byte enables
    leave a byte out; ``mismatch`` says what differed from the reference memory, empty when nothing did; ``workload`` is
    the place of its workload in the scenario, from 0.
    """

    line: int
    src: int
    dst: int
    op: str
    addr: int
    len: int
    status: str
    data: bytes | None
    issued: int | None
    completed: int | None
    mismatch: str = ""
    workload: int = 0

    @property
    def kind(self) -> str:
        """``read``, ``write`` or ``atomic``."""
        return self.op.split("_")[0]

    @property
    def withdrawn(self) -> bool:
        """It was not issued, because its source and destination were in no virtual pod together any more."""
        return self.status == WITHDRAWN

    @property
    def latency(self) -> int | None:
        """Cycles from issue to completion."""
        return None if self.issued is None or self.completed is None else self.completed - self.issued


COUNTS = ("flits", "payload_flits", "replayed", "tl_flits", "data_bytes")
"""What a ``Bucket`` counts."""


@dataclass(kw_only=True)
class Bucket:
    """Counts of one direction of a link over ``cycles`` cycles from ``start``.

    ``flits`` are the DL flits on the wire, ``payload_flits`` those with payload, first transmission or replay,
    ``replayed`` the replays; ``tl_flits`` the TL flits that the data link took, ``data_bytes`` the bytes of data
    half-flits in them (without byte enables).
    """

    start: int
    cycles: int = 0
    flits: int = 0
    payload_flits: int = 0
    replayed: int = 0
    tl_flits: int = 0
    data_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Replay:
    """The receiver of a link asked at ``cycle`` for the flits from ``seq`` on; in order again ``cycles`` later."""

    cycle: int
    seq: int
    cycles: int | None = None


@dataclass(frozen=True)
class FlowCounts:
    """Items, Requests and Responses together: that entered the core of a switch, that Deny dropped of them, that left
    it, and that its agents dropped, in Drop Mode or for a broken rule."""

    accepted: int = 0
    denied: int = 0
    forwarded: int = 0
    dropped: int = 0


@dataclass(frozen=True, kw_only=True)
class VPodEvent:
    """What was done to the virtual pod ``vpod``, which has ``members`` since; asked for at cycle ``at``, it began in
    ``begun`` and was done in ``done``. ``drain`` is that of the scenario's change."""

    action: str
    vpod: str
    members: tuple[int, ...]
    drain: bool
    at: int
    begun: int
    done: int
