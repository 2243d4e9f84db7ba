"""What ``ualink sim`` prints keeps every column where a terminal is narrow."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from sim.conftest import make_results
from ualink_sim.report.summary import show_summary

HEADINGS = {
    "link, steady state": ("Gb/s", "data/wire", "TL eff.", "DL util.", "run Gb/s"),
    "link, since reset": ("flits", "payload", "replays", "CRC", "lost"),
    "latency, cycles": ("p50", "p90", "p99", "p99.9", "max"),
}


def printed(results, width=80):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    show_summary(results, Path("out"), console)
    return console.file.getvalue()


@pytest.fixture
def large():
    """A run of so many flits that columns get wide."""
    results = make_results(transactions=400)
    for link in results.links:
        for bucket in link.buckets:
            bucket.flits, bucket.payload_flits = 123_456_789, 98_765_432
        link.crc_errors, link.lost_flits = 1_234_567, 7_654_321
    return results


@pytest.mark.parametrize("width", [80, 60])
def test_no_column_is_lost(large, width):
    lines = printed(large, width).splitlines()
    assert not any("…" in line for line in lines)
    assert all(len(line.rstrip()) <= width for line in lines if ">" in line and ":" not in line)
    if width == 80:
        for first, others in HEADINGS.items():
            line = next(line for line in lines if line.strip().startswith(first))
            assert all(heading in line for heading in others)
        flits = str(large.links[0].total("flits"))
        row = next(line for line in lines if line.strip().startswith("acc0.0>sw0.0") and flits in line)
        payload, replays = large.links[0].total("payload_flits"), len(large.links[0].replays)
        assert row.split()[1:] == [flits, str(payload), str(replays), "1234567", "7654321"]


def test_control_flits_are_told_where_there_are_any(large):
    headings = ("control", "faults", "markers", "inserted", "deleted", "downs")
    assert not any("markers" in line for line in printed(large).splitlines())
    large.links[3].link_downs = 1
    assert "markers" in printed(large)
    for link in large.links:
        link.control_slots, link.fault_slots, link.markers = 87_654_321, 12_345_678, 1_234_567
        link.inserted_blocks, link.deleted_blocks, link.link_downs = 7_654_321, 7_654_322, 99_999
    lines = printed(large).splitlines()
    line = next(number for number, line in enumerate(lines) if "markers" in line)
    assert lines[line].split()[3:] == list(headings)
    assert lines[line + 2].split() == [
        *("acc0.0>sw0.0", "87654321", "12345678", "1234567", "7654321", "7654322", "99999"),
    ]


def test_both_windows_are_stated(results):
    steady, run = results.steady_state, results.run
    text = printed(results)
    assert f"cycles {steady.start} to {steady.end} ({steady.basis})" in text
    assert f"cycles {run.start} to {run.end} ({run.basis})" in text


def test_links_that_stay_down_are_named_first(results):
    for link in results.links:
        link.fault = "never came up in 8,432 cycles: 837 of 840 flit slots were lost (drop_rate 0.5)"
    lines = printed(results).splitlines()
    assert lines[1].startswith("acc0.0>sw0.0 never came up in 8,432 cycles: 837 of 840")
    assert lines[5] == "and 4 more directions of links"
    assert "failed" in lines[0]
