"""The way of a Request through an idle switch, as ``ualink bench hop`` tells it."""

import pytest

from support.sim.pod_fixtures import POD
from ualink_sim.bench import hop
from ualink_sim.bench.rows import Options
from ualink_sim.capture.pcapng import CaptureWriter

pytestmark = POD


def test_a_hop_takes_less_than_the_goal():
    (bench,) = hop.benches(Options())
    values = bench.measure()
    cycles, nanoseconds = (values[row.name].value for row in bench.rows)
    # Two data links and two transaction layers cannot be faster, and one slot more or less is no hop.
    assert 20 < cycles < 80
    assert nanoseconds == pytest.approx(cycles * hop.PERIOD_NS)
    assert nanoseconds < hop.GOAL_NS


def test_flits_without_a_request_are_no_crossing(tmp_path):
    taps = ["acc0.0>sw0.0/rx", "sw1.0>acc1.0/tx"]
    with open(tmp_path / "capture", "wb") as stream:
        writer = CaptureWriter(stream, taps, hop.CLOCK_MHZ)
        for number in range(2):
            writer.write(number, 10 * number, bytes(640))
    assert hop.crossings(tmp_path / "capture", *taps) == []
