"""What is told of accelerators, and the report of a pod without links."""

from dataclasses import replace

import pytest
from rich.console import Console

from ualink_sim.report.accelerators import crossings
from ualink_sim.report.page import render_report
from ualink_sim.report.results import WITHOUT_LINKS
from ualink_sim.report.summary import show_summary


def without_links(results, accelerators):
    pod = replace(results.scenario.pod, fidelity="upli", accelerators=accelerators)
    results.scenario = replace(results.scenario, pod=pod)
    return results


def test_what_is_asked_and_served_adds_up_to_the_whole(results):
    summary = results.summary()
    rows = summary["accelerators"]
    assert [row["accelerator"] for row in rows] == [0, 1, 2, 3]
    assert sum(row["transactions"] for row in rows) == summary["transactions"]
    for kind in ("asked", "served"):
        for span in ("run", "steady_state"):
            assert sum(row[kind][span]["bytes"] for row in rows) == summary[span]["bytes"]
    served = sum(t.len for t in results.transactions if t.dst == 2 and t.completed is not None)
    assert rows[2]["served"]["run"]["bytes"] == served


def test_what_went_wrong_is_told_of_who_asked(failed_results):
    rows = failed_results.summary()["accelerators"]
    assert sum(row["mismatches"] for row in rows) == failed_results.mismatches > 0
    assert sum(row["incomplete"] for row in rows) == failed_results.incomplete > 0


def test_data_of_reads_cross_the_port_of_who_serves_first(results):
    rows = crossings(results.transactions, results.run, None, results.scenario.pod)
    found = {row["name"]: row["run"]["bytes"] for row in rows}
    done = [t for t in results.transactions if t.completed is not None]
    up = sum(t.len for t in done if (t.dst if t.kind == "read" else t.src) == 1)
    down = sum(t.len for t in done if (t.src if t.kind == "read" else t.dst) == 1)
    assert (found["acc1.0>sw1.0"], found["sw1.0>acc1.0"]) == (up, down)


@pytest.mark.parametrize(("accelerators", "drawn"), [(4, True), (16, False)])
def test_a_pod_without_links_is_told_without_them(results, tmp_path, accelerators, drawn):
    without_links(results, accelerators)
    summary = results.summary()
    assert summary["links"] is None
    assert summary["run"]["window"] == "routes are written to the end of the simulation"
    page = render_report(results)
    assert WITHOUT_LINKS in page
    assert "Replays and errors" not in page
    assert ("Accelerators around the switch" in page) == drawn
    console = Console(record=True, width=80, highlight=False)
    show_summary(results, tmp_path, console)
    text = console.export_text()
    assert WITHOUT_LINKS in text
    assert f"accelerator {accelerators - 1}" in text
    assert "replays" not in text
    assert "capture" not in text
