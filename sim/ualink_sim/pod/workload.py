"""Workloads to requests: generated ones are the same for the same seed on every machine."""

import random
from dataclasses import replace

from ..request import Request, read_attr
from .allreduce import ring_allreduce
from .scenario import Scenario, ScenarioError
from .trace import load_trace
from .workload_table import Workload, groups_of

__all__ = ["build_requests"]

ADD_32 = 0x00
"""ReqAttr of generated atomics: OpType ADD, elements of 32 bits."""


def build_requests(scenario: Scenario) -> list[Request]:
    """All requests of ``scenario`` in order; ``line`` counts on from one workload to the next."""
    requests: list[Request] = []
    for number, workload in enumerate(scenario.workloads):
        first_line = requests[-1].line + 1 if requests else 1
        if workload.trace is not None:
            made = load_trace(
                workload.trace,
                scenario.pod.accelerators,
                first_line=first_line,
                window=workload.outstanding,
                max_cycles=scenario.run.max_cycles,
            )
        elif workload.kind == "allreduce":
            made = ring_allreduce(groups_of(scenario.memberships, workload.kind, workload.vpod), workload, first_line)
            if not made:
                raise _nobody(scenario, workload)
        else:
            made = _generate(scenario, workload, first_line)
        requests += [replace(request, workload=number, vpod=workload.vpod) for request in made]
    return requests


def _generate(scenario: Scenario, workload: Workload, first_line: int) -> list[Request]:
    pairs = _pairs(scenario, workload)
    rng = random.Random(f"{workload.seed}/{workload.kind}")
    ops = [op for op in vars(workload.mix) if getattr(workload.mix, op)]
    weights = [getattr(workload.mix, op) for op in ops]
    to_target = [pair for pair in pairs if pair[1] == workload.target]
    others = [pair for pair in pairs if pair[1] != workload.target]
    requests = []
    for n in range(workload.transactions):
        if workload.kind == "uniform":
            src, dst = rng.choice(pairs)
        elif workload.kind == "hotspot":
            src, dst = rng.choice(to_target if rng.random() < workload.share else others)
        else:
            src, dst = pairs[n % len(pairs)]
        (op,) = rng.choices(ops, weights)
        requests.append(_request(workload, rng, first_line + n, src, dst, op))
    return requests


def _pairs(scenario: Scenario, workload: Workload) -> list[tuple[int, int]]:
    """Sources and destinations: ``neighbour`` sends to the next member of the virtual pod, the others to every other
    member; the order of ``alltoall`` lets every member send to a different one at a time. Where members change, all
    pairs that are members at the same time."""
    pairs: list[tuple[int, int]] = []
    for members in groups_of(scenario.memberships, workload.kind, workload.vpod):
        shifts = range(1, 2 if workload.kind == "neighbour" else len(members))
        if len(members) > 1:
            pairs += [(src, members[(n + shift) % len(members)]) for shift in shifts for n, src in enumerate(members)]
    if not pairs:
        raise _nobody(scenario, workload)
    return list(dict.fromkeys(pairs))


def _nobody(scenario: Scenario, workload: Workload) -> ScenarioError:
    reason = f"{workload.kind} needs a virtual pod of two or more members"
    return ScenarioError(f"{scenario.path}:{workload.line}: workload.kind: {reason}")


def _request(workload: Workload, rng: random.Random, line: int, src: int, dst: int, op: str) -> Request:
    atomic = op.startswith("atomic")
    if atomic:
        length = rng.choice((4, 8, 16, 32))
    else:
        length = rng.choice([size for size in workload.sizes if op != "write_full" or size % 64 == 0])
    block = rng.randrange(workload.footprint // 256) * 256
    step = length if atomic else 64 if length % 64 == 0 else 4
    offset = rng.randrange((256 - length) // step + 1) * step
    byte_en = (1 << length) - 1
    return Request(
        line=line,
        src=src,
        dst=dst,
        op=op,
        addr=workload.base + block + offset,
        len=length,
        data=b"" if op == "read" else rng.randbytes(length),
        byte_en=byte_en,
        attr=read_attr(byte_en, length) if op == "read" else ADD_32 if atomic else 0,
        window=workload.outstanding,
    )
