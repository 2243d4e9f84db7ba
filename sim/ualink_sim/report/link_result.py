"""What is found of one direction of a link."""

from dataclasses import dataclass, field
from typing import Any

from ..records import Bucket, Replay
from .windows import Window, gigabits

__all__ = ["LinkResult"]

BEAT_BYTES = 64


@dataclass(kw_only=True)
class LinkResult:
    """One direction of a link, named ``acc0.0>sw0.0``, of a station with ``ports`` ports.

    ``buckets`` follow one another in time from reset on. ``control_slots`` are flit slots that were sent without a DL
    flit, ``fault_slots`` those of them that reported a fault, ``markers`` those that began with a Start sequence; all
    from reset on. ``inserted_blocks`` and ``deleted_blocks`` are what rate matching changed at the receiver,
    ``link_downs`` how often its data link went down. ``fault`` says what kept the link down at the end of a failed run,
    empty when nothing did.
    """

    name: str
    ports: int = 1
    crc_errors: int = 0
    lost_flits: int = 0
    control_slots: int = 0
    fault_slots: int = 0
    markers: int = 0
    inserted_blocks: int = 0
    deleted_blocks: int = 0
    link_downs: int = 0
    fault: str = ""
    buckets: list[Bucket] = field(default_factory=list)
    replays: list[Replay] = field(default_factory=list)

    def total(self, count: str, window: Window | None = None) -> float:
        """Sum of one count since reset, or in ``window``; what a bound cuts counts by its share of time."""
        if window is None:
            return sum(getattr(bucket, count) for bucket in self.buckets)
        return sum(getattr(b, count) * window.share(b.start, b.cycles) for b in self.buckets)

    def rates(self, window: Window, clock_mhz: float) -> dict[str, Any]:
        """Throughput in ``window``, all of it over the same denominator: the bytes that the wire can carry in it.

        ``tl_efficiency`` is data over TL flits, ``dl_utilisation`` TL flits over wire, ``wire_efficiency`` data over
        wire and ``gbps`` the latter times the line rate. ``data_bytes`` counts whole 64-byte beats, because that is
        what a link carries of a smaller transfer.
        """
        wire = BEAT_BYTES * window.cycles / self.ports
        data, tl = self.total("data_bytes", window), BEAT_BYTES * self.total("tl_flits", window)
        return {
            "data_bytes": round(data),
            "gbps": round(gigabits(data, window, clock_mhz), 3),
            "tl_efficiency": round(_ratio(data, tl), 6),
            "dl_utilisation": round(_ratio(tl, wire), 6),
            "wire_efficiency": round(_ratio(data, wire), 6),
        }

    def summary(self, run: Window, steady: Window | None, clock_mhz: float) -> dict[str, Any]:
        """The link's entry in summary.json; counts of flits are from reset on, efficiencies those of the whole run."""
        whole = self.rates(run, clock_mhz)
        return {
            "name": self.name,
            "tl_efficiency": whole["tl_efficiency"],
            "dl_utilisation": whole["dl_utilisation"],
            "flits": self.total("flits"),
            "payload_flits": self.total("payload_flits"),
            "replays": len(self.replays),
            "crc_errors": self.crc_errors,
            "lost_flits": self.lost_flits,
            "control_slots": self.control_slots,
            "fault_slots": self.fault_slots,
            "markers": self.markers,
            "inserted_blocks": self.inserted_blocks,
            "deleted_blocks": self.deleted_blocks,
            "link_downs": self.link_downs,
            "fault": self.fault or None,
            "run": whole,
            "steady_state": None if steady is None else self.rates(steady, clock_mhz),
        }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
