"""The cocotb side of ``ualink sim`` where the engine inside of the model does the work: files as of ``pod.bench``.

Python brings the links up, and looks at the engine every ``LOOK_CYCLES`` cycles from then on.
"""

import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer, ValueChange

from ...bfm.upli.bus import reader
from ...bfm.upli.rules import ProtocolError
from ...records import Transaction
from ...request import Request
from ..bench import PodBench
from ..job import Job
from ..running import End, run_job
from ..top import make_controller, make_switch
from .job import encode
from .ports import devices_of, engine_ports
from .results import Fate, read_found

__all__ = ["EngineBench"]


class EngineBench(PodBench):
    """Lets the engine of the pod ``dut`` do ``job``, which it finds in ``file``."""

    def __init__(self, dut: Any, job: Job, stop: Path, file: Path):
        super().__init__(dut, job, None, stop)
        dut.engine__go.value = dut.engine__traffic.value = 0
        config, accelerators = job.scenario.switch, job.scenario.pod.accelerators
        devices = devices_of(make_controller(config).signature, accelerators, make_switch(config).signature)
        ports = engine_ports(devices)
        assert ports is not None, "the pod has no engine"
        self._file = file.with_suffix(".found")
        file.write_bytes(encode(job, ports, self._file))
        self._wakes = ValueChange(dut.engine__wake)
        self._cycle, self._done, self._failed = (
            reader(getattr(dut, f"engine__{name}"), name) for name in ("cycle", "done", "failed")
        )
        self._fates: dict[int, Fate] = {}
        self._memory: dict[int, dict[int, bytes]] = {}

    def start(self) -> None:
        self.dut.engine__go.value = 1

    def tick(self) -> None:
        """One cycle in which the engine moves."""
        self._check()
        self.cycle += 1

    def begin(self) -> None:
        self.dut.engine__traffic.value = 1

    async def advance(self, fall: Any) -> None:
        self._check()
        await self._wakes
        self.cycle = self._cycle()

    @property
    def ended(self) -> int:
        return self._done()

    def _check(self) -> None:
        """Raise ``End`` if no other cycle may begin, or if the engine stands still because something went wrong."""
        if self._failed():
            raise End("failed")
        self.check_end()

    async def take_stock(self) -> None:
        """End the engine, take what it has found, and have firmware read the rest. Raises ``OSError`` when it could not
        write the capture, and ``ProtocolError`` or ``AssertionError`` for what went wrong."""
        self.dut.engine__go.value = 0
        await Timer(1, unit="step")
        topology = self.topology
        found = read_found(self._file, topology.accelerators, topology.ports, len(self.job.requests))
        if found.capture_error:
            raise OSError(found.capture_error, os.strerror(found.capture_error))
        channel, rule, detail = found.broken
        if rule:
            raise ProtocolError(channel, rule, detail)
        if detail:
            raise AssertionError(detail)
        for direction, counts in zip(self.directions, found.directions):
            direction.adopt(counts)
        self._memory = found.memory
        self._fates = {request.line: fate for request, fate in zip(self.job.requests, found.fates)}
        await super().take_stock()

    def memory(self) -> dict[int, dict[int, bytes]]:
        return self._memory

    def fate(self, request: Request) -> Transaction:
        fate = self._fates[request.line]
        common = {name: getattr(request, name) for name in ("line", "src", "dst", "op", "addr", "len", "workload")}
        return Transaction(
            **common,
            status=fate.status,
            data=fate.data if fate.completed and request.returns_data else None,
            issued=fate.issued,
            completed=fate.completed,
            mismatch=fate.mismatch,
        )


@cocotb.test()
async def by_engine(dut):
    """The job of ``UALINK_JOB``, handed on in the file ``UALINK_ENGINE``."""
    file = Path(os.environ["UALINK_ENGINE"])
    await run_job(dut, lambda job, capture, stop: EngineBench(dut, job, stop, file))
