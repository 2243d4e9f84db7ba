"""Monitor, coverage and raw interface of the link partner, without a simulator."""

import asyncio
from collections import deque

import pytest

from support.bfm.dl.fake_link import FakeLink, endpoint, losing
from ualink_sim.bfm.dl.bins import BINS
from ualink_sim.bfm.dl.checker import LinkChecker
from ualink_sim.bfm.dl.coverage import LinkCoverage
from ualink_sim.bfm.dl.monitor import LinkMonitor
from ualink_sim.bfm.dl.options import CheckerOptions
from ualink_sim.bfm.dl.partner import LinkPartner
from ualink_sim.model.dl.endpoint import LOST
from ualink_sim.model.dl.messages import ChannelNegotiation, DeviceId
from ualink_sim.model.dl.replay import Verdict

OPTIONS = CheckerOptions(rx_replay_limit=40, codeword_group=2, request_spacing=1)


def test_monitor_rebuilds_what_the_receiver_gets():
    monitor = LinkMonitor()
    link = FakeLink(seed=3, partner_hand=losing(0.1))
    link.ear = lambda link, slot: slot if slot is None else (monitor.slot(slot), slot)[1]
    link.device.channels.want[4] = link.partner.channels.want[4] = True
    link.load = 3
    link.step(80)
    link.partner.ask_device_id()
    for number in range(50):
        link.partner.uart.write(number)
    link.step(400)
    assert link.device.counters["lost_flits"] > 20
    assert len(monitor.tl_flits) > 300 and monitor.tl_flits[: len(link.device.delivered)] == link.device.delivered
    assert monitor.uart == list(range(50))
    assert {type(message) for message in monitor.messages} > {ChannelNegotiation, DeviceId}
    assert not monitor.unknown and not monitor.format_errors


def test_monitor_tells_of_every_slot():
    seen = []
    monitor = LinkMonitor(on_slot=seen.append)
    for slot in (LOST, bytes(640)):
        monitor.slot(slot)
    assert [(one.number, one.verdict) for one in seen] == [(1, Verdict.BAD), (2, Verdict.BAD)]
    assert seen[0].flit is None and not seen[1].flit.good


def test_monitor_begins_anew_after_a_link_down():
    link = FakeLink()
    monitor = LinkMonitor()
    link.ear = lambda link, slot: slot if slot is None else (monitor.slot(slot), slot)[1]
    for _ in range(2):
        link.load = 1
        link.step(100)
        link.load = 0
        link.step(20)
        assert monitor.tl_flits == link.device.delivered
        link.partner.local_fault = True
        link.step(10)
        link.partner.local_fault = False
        link.step(60)


def _covered():
    link = FakeLink(seed=4, partner_hand=losing(0.05))
    coverage = LinkCoverage(LinkChecker(OPTIONS))
    link.checker = coverage
    link.load = 2
    link.step(600)
    return coverage


def test_coverage_counts_what_was_shown():
    coverage = _covered()
    report = coverage.report()
    assert list(report) == list(BINS) and all(tuple(report[group]) == BINS[group] for group in BINS)
    assert report["§6.6.6.4 Rx enqueue"]["command in order"] > 100
    assert report["§6.6.6.4 Rx enqueue"]["command out of order"] >= 1
    assert report["§6.7.1 link states"]["NOP to Up"] == 1
    assert report["§6.7.1 link states"]["Up to Fault, local"] == 0
    assert report["§6.4.4 UART"] == dict.fromkeys(BINS["§6.4.4 UART"], 0)
    missed = coverage.missed()
    assert "§6.7.1 link states: Up to Fault, local" in missed
    assert len(missed) == sum(not hits for bins in report.values() for hits in bins.values())
    assert coverage.missed("§6.4.4") == [f"§6.4.4 UART: {name}" for name in BINS["§6.4.4 UART"]]


def test_coverage_as_text():
    coverage = _covered()
    lines = coverage.text().splitlines()
    assert len(lines) == len(BINS) + len(coverage.missed())
    assert f"    missed: {BINS['§6.4.4 UART'][0]}" in lines


def test_only_bins_of_the_table_exist():
    coverage = LinkCoverage(LinkChecker())
    with pytest.raises(KeyError, match="no bin is called 'sunshine'"):
        coverage.hit("§6.7.1 link states", "sunshine")


def test_raw_interface_of_whole_flits():
    """A device that takes and gives 640-byte flits: here another endpoint of the model."""
    device = endpoint()
    coverage = LinkCoverage(LinkChecker(OPTIONS))
    partner = LinkPartner(endpoint(), coverage)
    answers = deque()

    async def send_flit(slot):
        answers.append(device.slot(slot))
        await asyncio.sleep(0)

    async def recv_flit():
        return answers.popleft()

    async def bench():
        task = asyncio.ensure_future(partner.run(send_flit, recv_flit))
        while not (device.online and partner.endpoint.online):
            await asyncio.sleep(0)
        partner.to_device = lambda number, slot: LOST if number % 9 == 0 else slot
        for number in range(100):
            partner.endpoint.send(bytes([number]) * 64)
        while len(device.delivered) < 100:
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(asyncio.wait_for(bench(), 20))
    assert [flit for flit, _ in device.delivered] == [bytes([number]) * 64 for number in range(100)]
    assert coverage.hits["§6.6.6.7 Tx scheduling", "Replay Request, third copy"]
    assert partner.slots_given - partner.slots_taken in (0, 1)
