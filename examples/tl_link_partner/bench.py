"""A transaction layer against the link partner: random legal traffic both ways, checked and covered."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from tl_link_partner.device import Device, options_of

from ualink_sim.bfm.tl.bus import TLBus
from ualink_sim.bfm.tl.checker import LinkChecker
from ualink_sim.bfm.tl.coverage import LinkCoverage
from ualink_sim.bfm.tl.legal import LegalTraffic
from ualink_sim.bfm.tl.partner import FlitPartner
from ualink_sim.bfm.tl.random_items import RandomItems


@cocotb.test()
async def random_traffic_both_ways(dut):
    rng = random.Random(1)
    options = options_of()
    coverage = LinkCoverage(LinkChecker(options))
    end = LegalTraffic(options.partner(), seed=1)
    partner = FlitPartner(TLBus.from_prefix(dut), end, coverage, stall=lambda: rng.random() < 0.1)
    device = Device(dut)
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    for model in (device, partner):
        cocotb.start_soon(model.start(dut.clk, dut.rst))
    dut.rst.value = 1
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0

    items = RandomItems(rng, options)
    requests = [items.request() for _ in range(150)]
    responses = [items.response() for _ in range(150)]
    for item in (*requests, *responses):
        device.send(item)
    await partner.until(lambda: len(end.received) >= len(requests) + len(responses), "the device's items")

    assert not end.errors and not device.status("receive_error_valid")
    assert [item for item in end.received if item in requests] == requests
    assert sorted(map(repr, responses)) == sorted(repr(item) for item in end.received if item not in requests)
    end.quiet = True
    await partner.until(lambda: end.idle and len(device.received) >= len(end.issued), "the partner's items")
    assert sorted(map(repr, device.received)) == sorted(map(repr, end.issued))
    dut._log.info("functional coverage\n%s", coverage.text())
