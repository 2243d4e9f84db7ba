"""The report: self-contained, complete, and drawn from the numbers it was given."""

import itertools
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ualink_sim.pod.topology import Topology
from ualink_sim.report.charts import histogram, link_chart, timeline, topology
from ualink_sim.report.measure import KINDS
from ualink_sim.report.measure import latencies as latencies_of
from ualink_sim.report.page import render_report, write_report


class Page(HTMLParser):
    VOID = {"meta", "rect", "line", "path", "br", "link", "img"}

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.sources = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.sources += [value for key, value in attrs if key in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_it_needs_nothing_from_outside(results, tmp_path):
    write_report(results, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert Page(text).sources == []
    assert not re.search(r"https?://|@import|url\(", text)


def test_it_shows_every_link_and_the_verdict(results, failed_results):
    good, bad = " ".join(Page(render_report(results)).text), " ".join(Page(render_report(failed_results)).text)
    for link in results.links:
        assert link.name.replace(">", " → ") in good
    assert "every byte matched" in good
    assert f"{failed_results.mismatches} mismatched, {failed_results.incomplete} incomplete" in bad
    assert "byte 3 is 00, not 7f" in bad


def test_texts_from_the_run_are_escaped(results):
    first = results.transactions[0]
    results.transactions[0] = type(first)(**{**vars(first), "mismatch": "<script>alert(1)</script>"})
    assert "<script>alert" not in render_report(results)


@pytest.mark.parametrize("missing", ["transactions", "links"])
def test_an_empty_run_still_has_a_report(results, missing):
    setattr(results, missing, [])
    Page(render_report(results))


def test_a_run_without_cycles_still_has_a_report(results):
    results.transactions, results.cycles = [], 0
    for link in results.links:
        link.buckets, link.replays = [], []
    Page(render_report(results))


def test_histogram_counts_every_transaction(results):
    latencies = {kind: latencies_of(results.transactions, kind) for kind in KINDS}
    chart = histogram(latencies)
    assert sum(sum(bar["counts"].values()) for bar in chart["bars"]) == len(results.transactions)
    assert len(chart["bars"]) <= 49
    assert histogram({"read": [7]})["bars"] == [{"from": 7, "counts": {"read": 1}}]


def test_link_chart_keeps_the_amounts_when_it_merges(results):
    link = results.links[0]
    rows = link_chart(link, results.cycles, 1.0, 64.0, 10)["rows"]
    assert len(rows) == 10
    assert sum(rate for _, rate, _ in rows) / 10 * results.cycles == pytest.approx(link.total("data_bytes"), rel=0.01)


def test_timeline_lanes_do_not_overlap(results):
    chart = timeline(results, 160)
    assert len(chart["rows"]) == 160
    until = {}
    for _, src, _, _, _, _, _, issued, completed, lane in chart["rows"]:
        assert until.get((src, lane), 0) <= issued
        until[src, lane] = completed


@pytest.mark.parametrize("count", [2, 3, 4])
def test_topology_adds_up_each_direction(results, count):
    results.scenario = replace(results.scenario, pod=replace(results.scenario.pod, accelerators=count))
    rows = results.summary()["links"]
    nodes = topology(results, rows)["nodes"]
    assert len({(node["x"], node["y"]) for node in nodes}) == count
    up = [row["steady_state"]["gbps"] for row in rows if re.match(rf"acc[0-{count - 1}]", row["name"])]
    assert sum(node["up"] for node in nodes) == pytest.approx(sum(up))


@pytest.mark.parametrize(("bifurcation", "ports"), [("x4", 1), ("2x2", 2), ("4x1", 4)])
def test_every_link_has_a_line_of_its_own(results, bifurcation, ports):
    results.scenario = replace(results.scenario, pod=replace(results.scenario.pod, bifurcation=bifurcation))
    topology_of = Topology(4, ports)
    names = [name for a, b in topology_of.links() for name in (f"{a}>{b}", f"{b}>{a}")]
    results.links = [replace(results.links[0], name=name, ports=ports) for name in names]
    page = render_report(results)
    lines = re.findall(r'<line class="wire \w+" data-tip="([^&]+)&#10;[^"]+" (x1="[^>]+) stroke-width="([\d.]+)"', page)
    assert sorted(name.replace(" → ", ">") for name, _, _ in lines) == sorted(names)
    assert len(lines) == len({place for _, place, _ in lines}) == 8 * ports
    for node in topology(results, results.summary()["links"])["nodes"]:
        places = sorted(math.copysign(math.hypot(line["dx"], line["dy"]), line["dx"]) for line in node["lines"])
        widest = max(line["width"] for line in node["lines"])
        assert all(after - before > widest for before, after in itertools.pairwise(places)), "lines touch"


def test_tables_can_be_read_on_a_telephone(failed_results):
    """Where the page is narrow each row becomes a list: no table scrolls or is cut, and every cell has a name."""
    page = render_report(failed_results)
    assert page.count("<table") == page.count('<table class="stack">') == 4
    assert ".stack thead { display: none; }" in page and "content: attr(data-label)" in page
    for table in re.findall(r"<table.*?</table>", page, re.DOTALL):
        headings = re.findall(r"<th[^>]*>(.*?)</th>", table)[1:]
        for row in table.split("<tr>")[2:]:
            assert re.findall(r'<td data-label="([^"]+)"', row) == headings


def test_throughput_is_told_by_pair_workload_and_virtual_pod(results):
    vpods = ((0, 1), (2, 3))
    workloads = (results.scenario.workloads[0], replace(results.scenario.workloads[0], kind="alltoall"))
    results.scenario = replace(results.scenario, vpods=vpods, vpod_names=("0", "1"), workloads=workloads)
    results.transactions = [replace(t, workload=int(t.line > 1200)) for t in results.transactions]
    text = " ".join(Page(render_report(results)).text)
    assert all(f"acc {src} → acc {dst}" in text for src in range(4) for dst in range(4) if src != dst)
    for name in ("workload 0, uniform", "workload 1, alltoall", "virtual pod 0", "virtual pod 1"):
        assert name in text
    assert f"{results.summary()['steady_state']['gbps']:.1f}" in text


def test_links_that_stay_down_are_named(failed_results):
    failed_results.links[0].fault = "never came up in 8,432 cycles: 837 of 840 flit slots were lost (drop_rate 0.5)"
    assert "acc0.0>sw0.0 never came up in 8,432 cycles" in " ".join(Page(render_report(failed_results)).text)
