"""A pod whose switch denies accelerator 0 the way to accelerator 2, drops what it sends, and then opens the way.

The first ``UALINK_DENIED`` requests of the job go from 0 to 2 and are denied; the others follow once the way is open.
"""

import json
import os
import pickle
from dataclasses import astuple
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from ualink_sim.capture.pcapng import CaptureWriter
from ualink_sim.pod.bench import PodBench
from ualink_sim.pod.running import bring_up, meanwhile
from ualink_sim.pod.topology import Topology

PATIENCE = 8_000


@cocotb.test()
async def denied_then_open(dut):
    path = Path(os.environ["UALINK_JOB"])
    job, denied = pickle.loads(path.read_bytes()), int(os.environ["UALINK_DENIED"])
    dut.rst.value = 1
    ends = Topology(job.scenario.pod.accelerators, job.scenario.pod.ports).links()
    links = [f"{a}>{b}/{tap}" for acc, sw in ends for a, b in ((acc, sw), (sw, acc)) for tap in ("tx", "rx")]
    with open(job.capture, "wb") as stream:
        capture = CaptureWriter(stream, links, job.scenario.pod.clock_mhz, job.scenario.authentication)
        bench = PodBench(dut, job, capture, path.with_suffix(".stop"))
        controller = bench.firmware.pod_controller
        Clock(dut.clk, 2, unit="ns").start()
        fall = FallingEdge(dut.clk)
        for _ in range(16):
            await fall
        dut.rst.value = 0
        await bring_up(bench, fall)
        await meanwhile(bench, fall, controller.resize("0", [0, 1, 3]))
        for direction in bench.directions:
            direction.begin(bench.cycle)

        async def until(condition):
            for _ in range(PATIENCE):
                if condition():
                    return
                await fall
                bench.tick()

        async def denied_all():
            """The log of where the items entered, once it has counted all of them."""
            log = {}
            for _ in range(PATIENCE):
                log = await bench.firmware.switch.denied()
                if [entry.count for entry in log.values()] == [denied]:
                    break
            return log

        bench.accelerators[0].give(job.requests[:denied])
        log = await meanwhile(bench, fall, denied_all())
        counted = [(*place, *astuple(entry)) for place, entry in log.items()]
        answered = len(bench.completed)
        await meanwhile(bench, fall, controller.resize("0", range(4)))
        for accelerator in bench.accelerators:
            accelerator.give(r for r in job.requests[denied:] if r.src == accelerator.number)
        await until(lambda: len(bench.completed) == len(job.requests) - denied)
    findings = {
        "counted": counted,
        "answered_while_denied": answered,
        "completed": sorted(bench.completed),
        "mismatches": [f"{line}: {journey.mismatch}" for line, journey in bench.finished.items() if journey.mismatch],
        "online": bench.up(),
        "replays": sum(len(result.result.replays) for result in bench.directions),
    }
    path.with_suffix(".found").write_text(json.dumps(findings))
