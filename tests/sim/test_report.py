"""The report: self-contained, complete, and drawn from the numbers it was given."""

import re
from html.parser import HTMLParser

import pytest

from ualink_sim.report import render_report, write_report
from ualink_sim.report_charts import histogram, link_chart, timeline, topology


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
    latencies = {kind: results.latencies(kind) for kind in ("read", "write", "atomic")}
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
    results.scenario = results.scenario.__class__(
        **{**vars(results.scenario), "pod": results.scenario.pod.__class__(accelerators=count)}
    )
    nodes = topology(results, 1.0)["nodes"]
    assert len({(node["x"], node["y"]) for node in nodes}) == count
    up = sum(link.total("data_bytes") for link in results.links if re.match(rf"acc[0-{count - 1}]", link.name))
    assert sum(node["up"] for node in nodes) == pytest.approx(up / results.cycles)
