"""Bandwidth of collective operations, by hand."""

from dataclasses import replace

import pytest

from sim.conftest import make_results
from ualink_sim.pod.workload_table import Workload
from ualink_sim.records import Transaction
from ualink_sim.report.collective import collectives
from ualink_sim.report.page import render_report


def write(src, dst, length, issued, completed):
    fate = {"status": "OKAY", "data": None, "issued": issued, "completed": completed}
    return Transaction(line=1, src=src, dst=dst, op="write_full", addr=0, len=length, **fate)


def ring(length, last=1100):
    """Four members, each of which sends ``length`` bytes to the next, from cycle 100 to cycle ``last``."""
    return [write(n, (n + 1) % 4, length, 100 + n, last - (3 - n)) for n in range(4)]


@pytest.mark.parametrize(
    ("kind", "size", "algbw"),
    # 9,600 bytes in 1,000 cycles of 1 ns are 9.6 GB/s: 2 * 3/4 of a buffer of 6,400 bytes, 3/4 of one of 12,800.
    [("allreduce", 6400, 6.4), ("alltoall", 12800, 12.8)],
)
def test_bus_bandwidth_is_what_a_member_sends(kind, size, algbw):
    (row,) = collectives(Workload(kind=kind, line=1), ring(9600), {0: (0, 1, 2, 3)}, 1000)
    assert row == {"vpod": 0, "members": 4, "bytes": size, "cycles": 1000, "algbw": algbw, "busbw": 9.6}


def test_an_operation_that_did_not_end_has_no_bandwidth():
    group = [*ring(9600)[:3], replace(ring(9600)[3], completed=None)]
    (row,) = collectives(Workload(kind="allreduce", line=1), group, {0: (0, 1, 2, 3)}, 1000)
    assert (row["bytes"], row["cycles"], row["algbw"], row["busbw"]) == (6400, None, None, None)


def test_each_virtual_pod_is_an_operation_of_its_own():
    group = [
        write(0, 3, 1000, 0, 100),
        write(3, 0, 1000, 10, 200),
        write(1, 2, 500, 50, 100),
        write(2, 1, 500, 50, 150),
    ]
    rows = collectives(Workload(kind="allreduce", line=1), group, {0: (0, 3), 1: (1, 2)}, 2000)
    assert [(row["vpod"], row["members"], row["cycles"], row["busbw"]) for row in rows] == [
        (0, 2, 200, 10.0),
        (1, 2, 100, 10.0),
    ]


def test_other_kinds_are_no_collectives():
    assert collectives(Workload(kind="hotspot", line=1), ring(64), {0: (0, 1, 2, 3)}, 1000) == []


def test_the_report_has_a_table_where_there_are_any():
    results = make_results()
    assert "busbw" not in render_report(results)
    workload = replace(results.scenario.workloads[0], kind="alltoall")
    results.scenario = replace(results.scenario, workloads=(workload,))
    (row,) = results.summary()["workloads"][0]["collectives"]
    page = render_report(results)
    assert "workload 0, alltoall" in page and f"{row['busbw']:.2f}" in page and f"{row['algbw']:.2f}" in page
