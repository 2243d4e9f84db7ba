"""What a simulation hands over, and the files made of it: summary.json, responses.jsonl and memory.json."""

import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .scenario import Scenario

__all__ = ["Bucket", "LinkResult", "Replay", "Results", "Transaction", "write_atomically", "write_results"]


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """One request and its fate; ``completed`` is None while it has none.

    ``data`` are the ``len`` bytes that came back (reads and returning atomics), with 00 where a read's byte enables
    leave a byte out; ``mismatch`` says what differed from the reference memory, empty when nothing did.
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

    @property
    def latency(self) -> int | None:
        """Cycles from issue to completion."""
        return None if self.issued is None or self.completed is None else self.completed - self.issued


@dataclass(kw_only=True)
class Bucket:
    """Counts of one direction of a link over ``cycles`` cycles from ``start``.

    ``slots`` are flit slots on the wire, ``flits`` the DL flits in them, ``payload_flits`` those with payload, first
    transmission or replay, ``replayed`` the replays; ``tl_flits`` the TL flits that the data link took, ``data_bytes``
    the bytes of data half-flits in them (without byte enables).
    """

    start: int
    cycles: int = 0
    slots: int = 0
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


@dataclass(kw_only=True)
class LinkResult:
    """One direction of a link, named ``acc0.0>sw0.0``; ``buckets`` follow one another in time."""

    name: str
    crc_errors: int = 0
    lost_flits: int = 0
    buckets: list[Bucket] = field(default_factory=list)
    replays: list[Replay] = field(default_factory=list)

    def total(self, count: str) -> int:
        """Sum of one count over all buckets."""
        return sum(getattr(bucket, count) for bucket in self.buckets)

    @property
    def tl_efficiency(self) -> float:
        """Data bytes over bytes of the TL flits that carried them."""
        return _ratio(self.total("data_bytes"), 64 * self.total("tl_flits"))

    @property
    def dl_utilisation(self) -> float:
        """Bytes of TL flits taken over bytes of flit slots on the wire."""
        return _ratio(64 * self.total("tl_flits"), 640 * self.total("slots"))

    def summary(self) -> dict[str, Any]:
        """The link's entry in summary.json."""
        return {
            "name": self.name,
            "tl_efficiency": round(self.tl_efficiency, 6),
            "dl_utilisation": round(self.dl_utilisation, 6),
            "flits": self.total("flits"),
            "payload_flits": self.total("payload_flits"),
            "replays": len(self.replays),
            "crc_errors": self.crc_errors,
            "lost_flits": self.lost_flits,
        }


@dataclass(kw_only=True)
class Results:
    """Everything a simulation found; ``memory`` is the final 64-byte line at each touched address, per accelerator."""

    scenario: Scenario
    cycles: int
    seconds: float
    transactions: list[Transaction]
    links: list[LinkResult]
    memory: Mapping[int, Mapping[int, bytes]]

    @property
    def mismatches(self) -> int:
        """Transactions whose bytes differed from the reference."""
        return sum(bool(t.mismatch) for t in self.transactions)

    @property
    def incomplete(self) -> int:
        """Transactions without a response."""
        return sum(t.completed is None for t in self.transactions)

    @property
    def passed(self) -> bool:
        """Every transaction completed and every byte matched."""
        return not self.mismatches and not self.incomplete

    def latencies(self, kind: str) -> list[int]:
        """Sorted latencies of ``read``, ``write`` or ``atomic`` transactions."""
        return sorted(t.latency for t in self.transactions if t.op.split("_")[0] == kind and t.latency is not None)

    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        return {
            "transactions": len(self.transactions),
            "mismatches": self.mismatches,
            "incomplete": self.incomplete,
            "cycles": self.cycles,
            "clock_mhz": self.scenario.pod.clock_mhz,
            "seconds": round(self.seconds, 3),
            "links": [link.summary() for link in self.links],
            "latency_cycles": {kind: _percentiles(self.latencies(kind)) for kind in ("read", "write", "atomic")},
            "config": _plain(asdict(self.scenario)),
        }

    def responses(self) -> Iterable[dict[str, Any]]:
        """The lines of responses.jsonl."""
        for t in sorted(self.transactions, key=lambda t: t.line):
            row = {"line": t.line, "src": t.src, "dst": t.dst, "op": t.op, "status": t.status}
            if t.data is not None:
                row["data"] = t.data.hex()
            yield {**row, "issued": t.issued, "completed": t.completed}

    def memory_image(self) -> dict[str, dict[str, str]]:
        """The content of memory.json."""
        return {
            str(accelerator): {f"{address:#x}": lines[address].hex() for address in sorted(lines)}
            for accelerator, lines in sorted(self.memory.items())
        }


def write_results(results: Results, folder: str | Path) -> None:
    """Write summary.json, responses.jsonl and memory.json into ``folder``, each whole or not at all."""
    folder = Path(folder)
    write_atomically(folder / "summary.json", json.dumps(results.summary(), indent=2) + "\n")
    write_atomically(folder / "responses.jsonl", "".join(json.dumps(row) + "\n" for row in results.responses()))
    write_atomically(folder / "memory.json", json.dumps(results.memory_image(), indent=1) + "\n")


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` beside ``path`` and rename it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _percentiles(latencies: list[int]) -> dict[str, int | None]:
    """Nearest-rank percentiles; None where there are no transactions."""

    def rank(fraction: float) -> int | None:
        return latencies[max(0, math.ceil(fraction * len(latencies)) - 1)] if latencies else None

    return {"p50": rank(0.5), "p99": rank(0.99), "max": rank(1)}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
