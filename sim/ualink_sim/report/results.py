"""What a simulation hands over, and the files made of it: summary.json, responses.jsonl and memory.json."""

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..pod.scenario import Scenario
from ..records import Bucket, FlowCounts, Replay, Transaction, VPodEvent
from .accelerators import accelerator_rows
from .collective import collectives
from .link_result import LinkResult
from .measure import bounds, grouped, moved, throughput
from .virtual_pods import event_rows, vpod_rows
from .windows import ROUTES_WRITTEN, WHOLE_RUN, Window, steady_state

__all__ = [
    "WITHOUT_LINKS",
    "Bucket",
    "LinkResult",
    "Replay",
    "Results",
    "Transaction",
    "write_atomically",
    "write_results",
]


ENDS = {
    "complete": "",
    "stalled": "given up at cycle {cycle}: nothing moved any more, {left} transactions are incomplete",
    "links_down": "given up at cycle {cycle}: not every link came online, {left} transactions are incomplete",
    "max_cycles": "ended at run.max_cycles = {cycle}: {left} transactions are incomplete",
    "interrupted": "interrupted at cycle {cycle}: {left} transactions are incomplete",
}
"""Why a run ends, and what a user is told of it."""

WITHOUT_LINKS = "UPLI-level accelerators around a switch; no links"
"""What users are told of a pod with ``pod.fidelity`` "upli"."""


@dataclass(kw_only=True)
class Results:
    """Everything a simulation found; ``memory`` is the final 64-byte line at each touched address, per accelerator.

    ``links_up`` is the cycle in which the last link came online and requests may go, None when not all links did.
    ``ended`` is a key of ``ENDS``: why the run ended. ``skipped_cycles`` are those among ``cycles`` in which the pod
    only waited for the ``at`` of a request, and was not simulated. ``vpod_events`` were done to virtual pods, and
    ``vpod_flows`` is what went through the switch by virtual pod; None: of accelerators that were in none.
    ``model_faults`` are errors that belong to no transaction. A pod without links has no ``links`` and no ``memory``.
    """

    scenario: Scenario
    cycles: int
    seconds: float
    transactions: list[Transaction]
    links: list[LinkResult]
    memory: Mapping[int, Mapping[int, bytes]]
    links_up: int | None = 0
    ended: str = "complete"
    skipped_cycles: int = 0
    vpod_events: list[VPodEvent] = field(default_factory=list)
    vpod_flows: dict[str | None, FlowCounts] = field(default_factory=dict)
    model_faults: list[str] = field(default_factory=list)

    @property
    def remark(self) -> str:
        """Why the run ended before its work was done, as one sentence; empty when it was done."""
        return ENDS[self.ended].format(cycle=self.cycles, left=self.incomplete)

    @property
    def mismatches(self) -> int:
        """Transactions whose bytes differed from the reference."""
        return sum(bool(t.mismatch) for t in self.transactions)

    @property
    def incomplete(self) -> int:
        """Transactions without a response, but for those that were withdrawn."""
        return sum(t.completed is None and not t.withdrawn for t in self.transactions)

    @property
    def withdrawn(self) -> int:
        """Transactions that were not issued, because their virtual pod had gone."""
        return sum(t.withdrawn for t in self.transactions)

    @property
    def faults(self) -> list[str]:
        """What kept links from carrying anything, ``acc0.0>sw0.0 never came up: …``, and ``model_faults``."""
        return [f"{link.name} {link.fault}" for link in self.links if link.fault] + self.model_faults

    @property
    def has_links(self) -> bool:
        """Links were simulated, so that there are links, captures and memories to tell of."""
        return self.scenario.pod.fidelity == "links"

    @property
    def passed(self) -> bool:
        """Every transaction that was not withdrawn completed, and every byte matched."""
        return not self.mismatches and not self.incomplete and not self.faults

    @property
    def run(self) -> Window:
        """The whole run."""
        basis = WHOLE_RUN if self.has_links else ROUTES_WRITTEN
        return Window(start=self.links_up or 0, end=self.cycles, basis=basis)

    @property
    def steady_state(self) -> Window | None:
        """Where the pod is in steady state; None when nothing completed."""
        return steady_state(self.transactions)

    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        run, steady, clock = self.run, self.steady_state, self.scenario.pod.clock_mhz
        whole = throughput(self.transactions, run, clock)
        links = [link.summary(run, steady, clock) for link in self.links] if self.has_links else None
        return {
            "fidelity": self.scenario.pod.fidelity,
            "transactions": len(self.transactions),
            "mismatches": self.mismatches,
            "incomplete": self.incomplete,
            "withdrawn": self.withdrawn,
            "faults": self.faults,
            "ended": self.ended,
            "cycles": self.cycles,
            "skipped_cycles": self.skipped_cycles,
            "clock_mhz": clock,
            "seconds": round(self.seconds, 3),
            "run": bounds(run) | whole["run"],
            "steady_state": whole["steady_state"],
            "links": links,
            "accelerators": accelerator_rows(self.transactions, run, steady, self.scenario.pod),
            "pairs": self._pairs(),
            "workloads": self._workloads(),
            "vpods": vpod_rows(self.scenario, self.transactions, run, self.vpod_events, self.vpod_flows),
            "vpod_changes": event_rows(self.vpod_events),
            "latency_cycles": whole["latency_cycles"],
            "config": _plain(asdict(self.scenario)),
        }

    def _pairs(self) -> list[dict[str, Any]]:
        run, steady, clock = self.run, self.steady_state, self.scenario.pod.clock_mhz
        return [
            {"src": src, "dst": dst, "run": moved(group, run, clock), "steady_state": moved(group, steady, clock)}
            for (src, dst), group in grouped(self.transactions, lambda t: (t.src, t.dst)).items()
        ]

    def _workloads(self) -> list[dict[str, Any]]:
        workloads, clock = self.scenario.workloads, self.scenario.pod.clock_mhz
        changed = {change.vpod for change in self.scenario.vpod_changes}
        vpods = {
            number: members
            for number, (name, members) in enumerate(zip(self.scenario.vpod_names, self.scenario.vpods))
            if name not in changed
        }
        return [
            {
                "workload": number,
                "kind": workloads[number].kind,
                **throughput(group, self.run, clock),
                "collectives": collectives(workloads[number], group, vpods, clock),
            }
            for number, group in grouped(self.transactions, lambda t: t.workload).items()
        ]

    def responses(self) -> Iterable[dict[str, Any]]:
        """The lines of responses.jsonl."""
        for t in sorted(self.transactions, key=lambda t: t.line):
            row = {"line": t.line, "src": t.src, "dst": t.dst, "op": t.op, "addr": f"{t.addr:#x}", "len": t.len}
            row |= {"workload": t.workload, "status": t.status}
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
    """Write summary.json, responses.jsonl and, with links, memory.json into ``folder``, each whole or not at all."""
    folder = Path(folder)
    write_atomically(folder / "summary.json", json.dumps(results.summary(), indent=2) + "\n")
    write_atomically(folder / "responses.jsonl", "".join(json.dumps(row) + "\n" for row in results.responses()))
    if results.has_links:
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


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
