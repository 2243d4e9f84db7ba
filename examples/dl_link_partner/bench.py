"""A data link against the link partner: traffic both ways over a wire that loses flits, checked and covered."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from dl_link_partner.device import Device

from ualink_sim.bfm.dl.beats import DLBus
from ualink_sim.bfm.dl.checker import LinkChecker
from ualink_sim.bfm.dl.coverage import LinkCoverage
from ualink_sim.bfm.dl.link import BeatLink, BeatWatch
from ualink_sim.bfm.dl.options import CheckerOptions
from ualink_sim.bfm.dl.partner import LinkPartner
from ualink_sim.model.dl.endpoint import LOST, DLEndpoint


@cocotb.test()
async def traffic_over_a_wire_that_loses_flits(dut):
    rng = random.Random(1)
    device = Device(dut)
    bus = DLBus.from_prefix(dut)
    coverage = LinkCoverage(LinkChecker(CheckerOptions(rx_replay_limit=40)), replay_depth=255)
    partner = LinkPartner(DLEndpoint(), coverage)
    watch = BeatWatch(bus)
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    link = BeatLink(bus, partner)
    for model in (device, link, watch):
        cocotb.start_soon(model.start(dut.clk, dut.rst))
    dut.rst.value = 1
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0

    device.set(enable=1)
    await link.until(lambda: partner.endpoint.online and device.status("online"), "channel 0 of both ends")

    partner.to_device = partner.from_device = lambda number, slot: LOST if rng.random() < 0.05 else slot
    flits = [(rng.randbytes(64), rng.randrange(4)) for _ in range(2000)]
    for data, message in flits:
        partner.endpoint.send(data, message)
        device.send(data, message)
    partner.endpoint.ask_device_id()
    arrived = device.received, partner.endpoint.delivered
    await link.until(lambda: min(map(len, arrived)) >= len(flits), "the last flit")

    assert device.received == partner.endpoint.delivered == watch.received.tl_flits == flits
    assert coverage.hits["§6.6.6.7 Tx scheduling", "first of a replay"]
    dut._log.info("functional coverage\n%s", coverage.text())
