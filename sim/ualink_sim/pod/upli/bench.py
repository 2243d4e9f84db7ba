"""The cocotb side of ``ualink sim`` for pods of this kind: files as of ``ualink_sim.pod.bench``.

Python acts between stretches of ``STRETCH`` cycles alone: it loads requests and reads what became of those before. No
cycle passes meanwhile.
"""

import os
import pickle
import time
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from ...records import FlowCounts, Transaction
from ...report.results import Results
from ...request import Request
from ..job import Job
from .exchange import OUTCOME_BYTES, REQUEST_BYTES, encode, fate, never
from .job import Sabotage, SabotagedJob
from .layouts import ROW, SLOTS
from .top import FLOW

__all__ = ["Host"]

CYCLE_NS = 100
"""Long, as the host takes two picoseconds for each row of requests, all between two edges of the clock."""
STRETCH = 2048
"""Cycles in which an accelerator can issue no more requests than it can hold besides those that are under way."""
PATIENCE_CYCLES = 30_000
"""Cycles without a completion after which the rest is given up; grows with the latency."""
RESET_CYCLES, POLL_CYCLES, SETTLE_CYCLES = 4, 16, 16


class Host:
    """Loads ``job`` into the model ``dut`` and finds out what became of it."""

    def __init__(self, dut, job: Job, stop: Path):
        self.dut, self.job, self._stop = dut, job, stop
        count = job.scenario.pod.accelerators
        self.requests: list[list[Request]] = [[] for _ in range(count)]
        for request in job.requests:
            self.requests[request.src].append(request)
        self._encoded = [encode(own) for own in self.requests]
        self._loaded = [0] * count
        self.fates: list[list[Transaction]] = [[] for _ in range(count)]
        self.cycle = self.started = self._steps = 0

    @property
    def done(self) -> int:
        """Requests whose fate is known."""
        return sum(map(len, self.fates))

    async def cycles(self, count: int) -> None:
        """Let ``count`` cycles pass."""
        await Timer(1000 * CYCLE_NS * count - self._steps, unit="ps")
        self.cycle += count
        self._steps = 0

    async def _step(self) -> None:
        """Let the model follow what was set, between two edges of the clock."""
        await Timer(1, unit="ps")
        self._steps += 1

    async def set_up(self) -> None:
        """Reset, and write the routes."""
        dut, scenario = self.dut, self.job.scenario
        sabotage = self.job.sabotage if isinstance(self.job, SabotagedJob) else Sabotage()
        for name in ("enable", "load", "load_row", "loaded", "shown", "route_write", "flow_port"):
            getattr(dut, name).value = 0
        dut.spoil_read.value = sum(1 << n for n in sabotage.read)
        dut.spoil_write.value = sum(1 << n for n in sabotage.write)
        dut.latency.value = scenario.link.latency_cycles
        dut.rst.value = 1
        Clock(dut.clk, CYCLE_NS, unit="ns").start()
        await FallingEdge(dut.clk)
        await self.cycles(RESET_CYCLES)
        dut.rst.value = 0
        self.cycle = 0
        while not int(dut.ready.value):
            await self.cycles(POLL_CYCLES)
        dut.route_write.value = 1
        for src, dst in ((src, dst) for members in scenario.vpods for src in members for dst in members):
            dut.route_station.value, dut.route_index.value = src, dst
            dut.route_egress.value = sabotage.routes.get((src, dst), dst)
            await self.cycles(1)
        dut.route_write.value = 0
        self.started = self.cycle

    async def run(self, progress: Path) -> str:
        """All requests, or until nothing has moved for long; returns ``Results.ended``."""
        total, last = len(self.job.requests), self.job.scenario.run.max_cycles
        patience = PATIENCE_CYCLES + 100 * self.job.scenario.link.latency_cycles
        moved = self.cycle
        self.dut.enable.value = (1 << len(self.requests)) - 1
        while self.done < total:
            ended = ""
            if self.cycle >= last:
                ended = "max_cycles"
            elif self._stop.exists():
                ended = "interrupted"
            elif self.cycle - moved >= patience:
                ended = "stalled"
            if ended:
                await self._collect(to_the_end=True)
                return ended
            before = self.done
            await self._load()
            await self.cycles(min(STRETCH, last - self.cycle))
            await self._collect()
            progress.write_text(f"{self.done} {total} {self.cycle}")
            if self.done > before:
                moved = self.cycle
        return "complete"

    async def _load(self) -> None:
        """As many requests as there is room for."""
        rows = []
        for own, loaded, known in zip(self.requests, self._loaded, self.fates):
            room = (SLOTS - (loaded - len(known))) // ROW * ROW
            rows.append(-(-min(room, len(own) - loaded) // ROW))
        size = ROW * REQUEST_BYTES
        for row in range(max(rows)):
            parts = []
            for encoded, loaded in zip(self._encoded, self._loaded):
                begin = loaded * REQUEST_BYTES + row * size
                parts.append(encoded[begin : begin + size].ljust(size, b"\0"))
            self.dut.load_requests.value = int.from_bytes(b"".join(parts), "little")
            self.dut.load_row.value = row
            await self._step()
            self.dut.load.value = sum(1 << n for n, own_rows in enumerate(rows) if row < own_rows)
            await self._step()
            self.dut.load.value = 0
        await self._step()
        for n, own_rows in enumerate(rows):
            self._loaded[n] = min(self._loaded[n] + own_rows * ROW, len(self.requests[n]))
        self.dut.loaded.value = _packed(self._loaded)

    async def _collect(self, *, to_the_end: bool = False) -> None:
        """What became of requests, as far as all before them are done; of all that were issued ``to_the_end``."""
        value = int(self.dut.retired.value)
        retired = [value >> 32 * n & (1 << 32) - 1 for n in range(len(self.requests))]
        if to_the_end:
            retired = list(self._loaded)
        starts = [len(known) for known in self.fates]
        size = ROW * OUTCOME_BYTES
        for offset in range(0, max(end - start for start, end in zip(starts, retired)), ROW):
            self.dut.shown.value = _packed([start + offset for start in starts])
            await self._step()
            text = int(self.dut.outcomes.value).to_bytes(size * len(starts), "little")
            for n, (start, end) in enumerate(zip(starts, retired)):
                for place in range(min(ROW, end - start - offset)):
                    begin = n * size + place * OUTCOME_BYTES
                    request = self.requests[n][start + offset + place]
                    self.fates[n].append(fate(request, text[begin : begin + OUTCOME_BYTES]))
        if to_the_end:
            for own, known in zip(self.requests, self.fates):
                known += [never(request, None) for request in own[len(known) :]]

    async def flows(self) -> dict[str | None, FlowCounts]:
        """What the switch counted, by virtual pod."""
        scenario = self.job.scenario
        await self.cycles(SETTLE_CYCLES)
        found: dict[str | None, FlowCounts] = {}
        for port in range(scenario.pod.accelerators):
            self.dut.flow_port.value = port
            await self._step()
            value = int(self.dut.flow.value)
            counts = {name: value >> 32 * n & (1 << 32) - 1 for n, name in enumerate(FLOW)}
            vpod = next((name for name, of in zip(scenario.vpod_names, scenario.vpods) if port in of), None)
            before = found.get(vpod, FlowCounts())
            sums = {
                what: getattr(before, what) + sum(of for name, of in counts.items() if name.endswith(f"_{what}"))
                for what in ("accepted", "denied", "forwarded")
            }
            found[vpod] = FlowCounts(**sums)
        return found


def _packed(numbers: list[int]) -> int:
    return sum(number << 32 * n for n, number in enumerate(numbers))


@cocotb.test()
async def pod(dut):
    """The job of ``UALINK_JOB``."""
    path = Path(os.environ["UALINK_JOB"])
    job: Job = pickle.loads(path.read_bytes())
    started = time.monotonic()
    host = Host(dut, job, path.with_suffix(".stop"))
    await host.set_up()
    ended = await host.run(path.with_suffix(".progress"))
    transactions = sorted((known for of in host.fates for known in of), key=lambda known: known.line)
    cycles = min(host.cycle, job.scenario.run.max_cycles)
    if ended == "complete":
        cycles = 1 + max(known.completed or 0 for known in transactions)
    flows = await host.flows()
    foreign = int(dut.foreign.value)
    results = Results(
        scenario=job.scenario,
        cycles=cycles,
        seconds=time.monotonic() - started,
        transactions=transactions,
        links=[],
        memory={},
        links_up=host.started,
        ended=ended,
        vpod_flows=flows,
        model_faults=[f"{foreign} beats of Responses answer nothing that was asked"] if foreign else [],
    )
    path.with_suffix(".results").write_bytes(pickle.dumps(results))
