"""Scenarios of test_partner.py: the transaction layer against legal traffic, and against every illegal flit."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from tl_link_partner.device import Device, options_of

from ualink.tl.receive.error import ReceiveError
from ualink_sim.bfm.tl.bus import TLBus
from ualink_sim.bfm.tl.checker import LinkChecker
from ualink_sim.bfm.tl.coverage import LinkCoverage
from ualink_sim.bfm.tl.endpoint import TLEndpoint
from ualink_sim.bfm.tl.illegal import ILLEGAL, IllegalTraffic
from ualink_sim.bfm.tl.legal import LegalTraffic, Weights
from ualink_sim.bfm.tl.link_checker import FlitWatch
from ualink_sim.bfm.tl.partner import FlitPartner
from ualink_sim.bfm.tl.random_items import RandomItems
from ualink_sim.model.tl.reassembly import ReceivedReadResponse, ReceivedRequest, ReceivedWriteResponse

AUTHENTICATION = bool(int(os.environ.get("AUTHENTICATION", "0")))

NEVER = 1 << 60

NAMES = {
    "ftype": "FTYPE",
    "footprint": "FOOTPRINT",
    "compressed_cmd": "COMPRESSED_CMD",
    "block_crossing": "BLOCK_CROSSING",
    "mandatory_nop": "MANDATORY_NOP",
    "poison_slot": "POISON_SLOT",
    "poison_byte_enables": "POISON_SLOT",
    "request_rate": "REQUEST_RATE",
    "response_rate": "RESPONSE_RATE",
    "credit_req_cmd": "REQ_CMD_CREDIT",
    "credit_rsp_cmd": "RSP_CMD_CREDIT",
    "credit_req_data": "REQ_DATA_CREDIT",
    "credit_rsp_data": "RSP_DATA_CREDIT",
    "never_loaded": "ADDRESS_CACHE",
    "tags_message": "AUTH_TAG_MESSAGE",
    "tag_count": "AUTH_TAG_COUNT",
    "swap_tagged": "AUTH_TAG_SWAP",
}
"""What the receiver calls it when a rule is broken towards it."""


class Bench:
    """The device, its link partner, and a passive watcher with a checker for each direction."""

    def __init__(self, dut, seed, **options):
        self.dut = dut
        self.rng = random.Random(seed)
        self.options = options_of(authentication=AUTHENTICATION, **options)
        self.ready = 0.8
        self.coverage = LinkCoverage(LinkChecker(self.options))
        self.to_device = []
        bus = TLBus.from_prefix(dut)
        self.device = Device(dut, lambda: self.rng.random() < self.ready)
        self.end = LegalTraffic(self.options.partner(), seed)
        self.partner = FlitPartner(
            bus,
            self.end,
            gap=lambda: self.rng.choice((0, 0, 0, 2)),
            stall=lambda: self.rng.random() < 0.1,
        )
        self.watch = FlitWatch(
            bus, self.coverage, partner_watchers=(LinkChecker(self.options.partner(), self.to_device.append),)
        )

    async def start(self):
        """Out of reset, with the link down; nothing has been decided for the link before."""
        self.partner.online = False
        self.running = [cocotb.start_soon(Clock(self.dut.clk, 2, unit="ns").start())]
        for model in (self.device, self.partner, self.watch):
            self.running.append(cocotb.start_soon(model.start(self.dut.clk, self.dut.rst)))
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 4)
        self.dut.rst.value = 0
        await self.link_up(self.end)

    def stop(self):
        """Leave the device alone."""
        for task in self.running:
            task.cancel()

    async def link_up(self, end):
        """With ``end`` at the other end; a link down has put the device into Drop Mode, which management clears."""
        self.partner.endpoint = self.end = end
        self.device.set(authentication=int(AUTHENTICATION), encryption=int(self.options.encryption), clear_drop=1)
        await ClockCycles(self.dut.clk, 2)
        self.device.set(clear_drop=0)
        await ClockCycles(self.dut.clk, 2)
        self.partner.online = True
        await self.until(lambda: self.device.status("credits_ready"), "credits")

    async def link_down(self):
        """Until the device has nothing left of the link."""
        self.partner.online = False
        self.ready = 1.0
        await ClockCycles(self.dut.clk, 100)
        self.device.restart()
        self.device.received.clear()

    async def until(self, condition, what, limit=400):
        """Steps of ten cycles until ``condition()``."""
        for _ in range(limit):
            if condition():
                return
            await ClockCycles(self.dut.clk, 10)
        raise AssertionError(f"{what}: not in {10 * limit} cycles")

    async def exchange(self, count, alone=0):
        """Random items both ways, which all arrive: Requests in order, Responses in order of each kind. At the end of
        them stand ``alone`` Requests that no Response comes with."""
        items = RandomItems(self.rng, self.options)
        sent = [self.rng.choice((items.request, items.response))() for _ in range(count)]
        sent += [items.request() for _ in range(alone)]
        for item in sent:
            self.device.send(item)
        self.end.quiet = False
        await self.until(lambda: len(self.end.received) >= len(sent) and len(self.device.received) >= count, "traffic")
        self.end.quiet, self.end.hold = True, False
        await self.until(lambda: self.end.idle and len(self.device.received) >= len(self.end.issued), "the rest")
        assert by_kind(self.end.received) == by_kind(sent)
        assert by_kind(self.device.received) == by_kind(self.end.issued)
        assert not self.end.errors and not self.device.status("receive_error_valid")
        assert not self.device.status("transmit_error") and not self.to_device

    async def restart(self):
        """The link goes down when nothing is under way, and comes back with the same partner."""
        await self.link_down()
        self.end.received.clear()
        self.end.issued.clear()
        await self.link_up(self.end)


def by_kind(items):
    """Requests, Read Responses, Write Responses, each in order."""
    kinds = {True: [], False: [], None: []}
    for item in items:
        kinds[
            True if isinstance(item, ReceivedRequest) else None if isinstance(item, ReceivedReadResponse) else False
        ].append(item)
    return kinds


@cocotb.test()
async def everything_arrives(dut):
    bench = Bench(dut, 1)
    await bench.start()
    await bench.exchange(150, alone=40)
    hits = bench.coverage.hits
    assert hits["§5.1.1 places of fields", "Compressed Request in 0"]
    assert hits["§5.1.1 upper half", "AuthTags"] if AUTHENTICATION else hits["§5.1.1 swap flits", "fields with data"]
    await bench.link_down()
    await bench.link_up(LegalTraffic(bench.options.partner(), 2))
    await bench.exchange(50)


@cocotb.test()
async def caches_outlive_the_link(dut):
    """A partner that keeps its Tx Address Cache over a link down is understood, and so is one that does not; neither
    ever meets an entry of before that it did not load. Nothing else makes the partner forget an entry."""
    for keep in (True, False):
        bench = Bench(dut, 20 + keep)
        await bench.start()
        await bench.link_down()
        partner = bench.options.partner(keep_tx_cache=keep)
        await bench.link_up(LegalTraffic(partner, 9, Weights(forget=0)))
        for _ in range(3):
            await bench.exchange(40)
            entries = dict(bench.end.tx_cache.entries)
            assert entries
            await bench.restart()
            assert bench.end.tx_cache.entries == (entries if keep else {})
            bench.end.quiet = False
        await bench.exchange(40)
        bench.stop()


@cocotb.test()
async def a_literal_partner_gets_everything(dut):
    """It says nothing of itself, and its catch buffers move with the flits of the device only."""
    bench = Bench(dut, 30)
    await bench.start()
    await bench.link_down()
    await bench.link_up(TLEndpoint(bench.options.partner(literal_catch_buffers=True)))
    items = RandomItems(bench.rng, bench.options)
    for count in (1, 1, 1, 1, 4, 9):
        sent = [bench.rng.choice((items.request, items.write_response, items.read_response))() for _ in range(count)]
        before = len(bench.end.received)
        for item in sent:
            bench.device.send(item)
        await bench.until(lambda want=before + count: len(bench.end.received) >= want, "the last of them", 40)
        assert by_kind(bench.end.received[before:]) == by_kind(sent)
        await ClockCycles(dut.clk, 60)
    quiet = bench.partner.taken
    await ClockCycles(dut.clk, 100)
    assert bench.partner.taken == quiet and not bench.end.errors


@cocotb.test()
async def responses_keep_their_source_with_encryption(dut):
    bench = Bench(dut, 40, encryption=True)
    await bench.start()
    await bench.exchange(80)
    sources = {item.beat.src_phys_acc_id for item in bench.end.received if isinstance(item, ReceivedWriteResponse)}
    assert len(sources) > 3


def is_tried(name, case):
    """A rule that a receiver enforces in this mode; of the buckets of credits the Pool is enough."""
    return case.rule in NAMES and case.needs_authentication <= AUTHENTICATION and " VC " not in name


@cocotb.test()
async def illegal_flits_are_named(dut):
    """An illegal flit gives its error and ends the traffic; the next link is as good as new."""
    bench = Bench(dut, 3)
    await bench.start()
    seen = set()
    for name, case in ILLEGAL.items():
        if not is_tried(name, case):
            continue
        await bench.link_down()
        await bench.link_up(IllegalTraffic(name, bench.options.partner(), 5, start=NEVER))
        bench.end.start = bench.end.view.flits + 30
        # Credits run out where few beats are taken.
        bench.ready = 0.05 if case.rule.startswith("credit") else 1.0
        bench.to_device.clear()
        # Until the partner's patience ends, which tells by itself what it could not break.
        await bench.until(lambda: bench.device.status("receive_error_valid"), name, limit=2000)
        found = [error.rule for error in bench.to_device]
        assert bench.end.broken is not None and found[0] == case.rule, f"{name}: {found}"
        # A credit that is on its way back counts for the device, not yet on the wire: a later one is then the first
        # that it misses.
        error = ReceiveError(bench.device.status("receive_error"))
        assert error.name in {NAMES[rule] for rule in (found if case.rule.startswith("credit") else found[:1])}, name
        seen.add(case.rule)
    assert seen == {rule for rule in NAMES if AUTHENTICATION or not rule.startswith(("tag", "swap"))}
    await bench.link_down()
    await bench.link_up(LegalTraffic(bench.options.partner(), 4))
    bench.to_device.clear()
    bench.ready = 0.8
    await bench.exchange(30)
