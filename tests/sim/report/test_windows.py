"""The steady state: what bounds it, when it is refused, and what is measured in it."""

import pytest

from ualink_sim.records import Bucket, Transaction
from ualink_sim.report.measure import throughput
from ualink_sim.report.results import LinkResult
from ualink_sim.report.windows import ALL_BUSY, TRAFFIC, WHOLE_RUN, Window, gigabits, steady_state

RUN = Window(start=1000, end=9000, basis=WHOLE_RUN)


def stream(src, first, last, every, latency=200, **changes):
    """Writes of 256 bytes that ``src`` issues every ``every`` cycles."""
    values = {"dst": 3, "op": "write_full", "addr": 0, "len": 256, "status": "OKAY", "data": None}
    return [
        Transaction(**{**values, "line": n, "src": src, "issued": t, "completed": t + latency, **changes})
        for n, t in enumerate(range(first, last, every), 1)
    ]


def test_it_lasts_while_every_source_has_something_to_send():
    """Three sources share a destination of 64 bytes a cycle; start and drain do not dilute what is told."""
    records = [t for src in range(3) for t in stream(src, 1041 + src, 6000 + 500 * src, 12)]
    window = steady_state(records)
    burst = max(t.completed for t in records if t.src == 2 and t.issued < 1043 + 200)
    assert (window.start, window.basis) == (burst, ALL_BUSY) and burst == 1435
    assert window.end == max(t.issued for t in records if t.src == 0)
    told = throughput(records, RUN, 1562.5)
    assert told["steady_state"]["gbps"] == pytest.approx(800, rel=0.01)
    assert told["run"]["gbps"] == pytest.approx(sum(t.len for t in records) / 8000 * 12.5, rel=1e-4)
    assert told["run"]["gbps"] < 600


def test_where_one_source_has_little_to_send_it_is_all_the_traffic():
    records = stream(0, 5000, 5030, 10) + stream(1, 5010, 9000, 4)
    window = steady_state(records)
    assert (window.start, window.end, window.basis) == (5000, 9198, TRAFFIC)
    assert throughput(records, RUN, 1000)["steady_state"]["bytes"] == 256 * len(records)


def test_a_short_run_is_measured_over_its_traffic():
    window = steady_state(stream(0, 1041, 1941, 4) + stream(1, 1041, 1941, 4))
    assert (window.start, window.end, window.basis) == (1041, 2137, TRAFFIC)


def test_a_source_that_got_no_response_is_in_no_steady_state():
    records = stream(0, 1000, 9000, 4) + stream(1, 1000, 9000, 4, completed=None)
    assert steady_state(records).basis == TRAFFIC
    assert steady_state([t for t in records if t.src]) is None
    assert steady_state([]) is None
    assert throughput([], RUN, 1000)["steady_state"] is None


def test_a_bucket_that_a_bound_cuts_counts_by_its_share():
    buckets = [Bucket(start=256 * n, cycles=256, data_bytes=6400, tl_flits=128) for n in range(8)]
    link = LinkResult(name="acc0.0>sw0.0", buckets=buckets)
    window = Window(start=256 + 64, end=1024 - 128, basis=ALL_BUSY)
    assert link.total("data_bytes", window) == 6400 * (0.75 + 1 + 0.5)
    told = link.rates(window, 1000)
    assert told["dl_utilisation"] == 0.5 and told["gbps"] == 200
    assert told["tl_efficiency"] == pytest.approx(6400 / 8192, abs=1e-6)


def test_around_traffic_every_bucket_that_it_touches_counts_whole():
    buckets = [Bucket(start=0, cycles=1000, tl_flits=9), Bucket(start=1000, cycles=256, data_bytes=640, tl_flits=20)]
    link = LinkResult(name="acc0.0>sw0.0", buckets=buckets)
    window = Window(start=1240, end=1250, basis=TRAFFIC)
    assert (link.total("data_bytes", window), link.total("tl_flits", window)) == (640, 20)
    assert gigabits(640, window, 1000) == 512


def test_a_window_without_cycles_has_no_rate():
    window = Window(start=7, end=7, basis=WHOLE_RUN)
    assert gigabits(640, window, 1000) == 0
    assert set(LinkResult(name="idle").rates(window, 1000).values()) == {0}
