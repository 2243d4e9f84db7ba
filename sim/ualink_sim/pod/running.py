"""From reset to the end of a job: what every bench of a pod goes through in cocotb.

The job comes in a pickle named by ``UALINK_JOB``, the findings go beside it as ``<job>.results``; progress is one line,
``completed total cycle``, in ``<job>.progress``. A file ``<job>.stop`` ends the run early, with what was found by then;
``<job>.unwritten`` says why a capture could not be written. A bench is a ``PodBench``.
"""

import gc
import os
import pickle
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from ..capture.pcapng import CaptureWriter
from .job import Job

__all__ = ["End", "bring_up", "meanwhile", "run", "run_job"]

RESET_CYCLES = 16
LINK_UP_CYCLES = 8_000
"""Cycles per port of a station after which a link that is not online is given up; grows with the links' latency, and
with the time from one alignment marker to the next."""
ROUTE_CYCLES = 100
"""As many more for each entry of the switch's route tables, which firmware writes one after the other."""
PATIENCE_CYCLES = 30_000
"""Cycles without a completion, an issue or a cut cable after which the rest is given up; grows in the same way."""
SETTLE_CYCLES = 500
"""Cycles from the last completion until a wait is skipped, in which Acks and credits come home; grows as well."""


class End(Exception):
    """The run ends before its work is done; the argument is ``Results.ended``."""


async def meanwhile(bench: Any, fall, work: Coroutine[Any, Any, Any]) -> Any:
    """Go on with the pod until ``work``, something that firmware does, is done; what it gives."""
    task = cocotb.start_soon(work)
    while not task.done():
        await fall
        bench.tick()
    return task.result()


async def bring_up(bench: Any, fall) -> None:
    """Wait until every link is online, or long enough to know that one will not be."""
    topology = bench.topology
    patience = LINK_UP_CYCLES * topology.ports + ROUTE_CYCLES * topology.stations * topology.accelerators
    patience += 10 * bench.job.scenario.link.latency_cycles + bench.marker_cycles
    task = cocotb.start_soon(bench.firmware.bring_up())
    for _ in range(patience):
        if task.done():
            task.result()
            bench.links_up = bench.cycle
            return
        await fall
        bench.tick()


async def run(bench: Any, fall, progress: Path) -> str:
    """Run until every request has completed or is withdrawn, or nothing has moved for long; waits in which nothing is
    in flight are skipped. Returns ``Results.ended``."""
    total = len(bench.job.requests)
    latency = bench.job.scenario.link.latency_cycles
    patience, settle = PATIENCE_CYCLES + 100 * latency + bench.marker_cycles, SETTLE_CYCLES + 4 * latency
    last_move, last_count = bench.cycle, -1
    bench.begin()
    while bench.left:
        if bench.cuts.in_force or bench.changes.busy:
            last_move = bench.cycle
        stalled = bench.cycle - last_move >= patience
        if bench.cycle - last_move >= settle:
            wake = bench.idle_until(stalled)
            if wake is not None:
                bench.skip_to(wake)
                last_move = bench.cycle
            elif stalled:
                return "stalled"
        await bench.advance(fall)
        if bench.ended != last_count:
            last_move, last_count = bench.cycle, bench.ended
            progress.write_text(f"{last_count} {total} {bench.cycle}")
    return "complete"


async def run_job(dut, make_bench: Callable[[Job, CaptureWriter | None, Path], Any]) -> None:
    """The job of ``UALINK_JOB`` by the bench that is made of it, of a capture and of the file that ends it."""
    path = Path(os.environ["UALINK_JOB"])
    job: Job = pickle.loads(path.read_bytes())
    started = time.monotonic()
    topology = job.scenario.pod.topology
    names = [
        f"{a}>{b}/{tap}" for acc, sw in topology.links() for a, b in ((acc, sw), (sw, acc)) for tap in ("tx", "rx")
    ]
    try:
        with ExitStack() as stack:
            capture = None
            if job.capture is not None:
                stream = stack.enter_context(open(job.capture, "wb"))
                capture = CaptureWriter(stream, names, job.scenario.pod.clock_mhz, job.scenario.authentication)
                stream.flush()
            dut.rst.value = 1
            bench = make_bench(job, capture, path.with_suffix(".stop"))
            gc.freeze()  # Requests and what belongs to them stay until the end: nobody need look for garbage there.
            ended = await _run_whole(dut, bench, path.with_suffix(".progress"))
            results = bench.results(time.monotonic() - started, ended)
    except OSError as error:
        path.with_suffix(".unwritten").write_text(error.strerror or str(error))
        return
    path.with_suffix(".results").write_bytes(pickle.dumps(results))


async def _run_whole(dut, bench: Any, progress: Path) -> str:
    """From reset to the end; returns ``Results.ended``."""
    Clock(dut.clk, 2, unit="ns").start()
    fall = FallingEdge(dut.clk)
    for _ in range(RESET_CYCLES):
        await fall
    dut.rst.value = 0
    bench.start()
    try:
        await bring_up(bench, fall)
        if bench.links_up is None:
            return "links_down"
        return await run(bench, fall, progress)
    except End as end:
        return str(end)
    finally:
        await bench.take_stock()
