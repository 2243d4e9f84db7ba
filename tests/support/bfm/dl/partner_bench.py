"""What the scenarios of ``link_partner_bench`` share: the data link, its partner, and ways to spoil what they send."""

import random
from collections import Counter

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from dl_link_partner.device import Device

from support.bfm.dl.fake_link import header_of, rewrite
from ualink_sim.bfm.dl.beats import DLBus
from ualink_sim.bfm.dl.checker import LinkChecker
from ualink_sim.bfm.dl.coverage import LinkCoverage
from ualink_sim.bfm.dl.link import BeatLink
from ualink_sim.bfm.dl.options import CheckerOptions
from ualink_sim.bfm.dl.partner import LinkPartner
from ualink_sim.model.dl.endpoint import LOST, DLEndpoint, SlotKind
from ualink_sim.model.dl.header import CommandHeader
from ualink_sim.model.dl.messages import DeviceId, PortNumber
from ualink_sim.model.dl.replay import ReplayReceiver

CYCLES_PER_FLIT = 10
LIMIT = 40
HITS: Counter = Counter()
"""Coverage of all scenarios that ran in this simulator."""


class Bench:
    """The device under test ``device`` against ``partner``; ``load`` TL flits per flit time go each way."""

    def __init__(self, dut, seed=0):
        self.dut = dut
        self.rng = random.Random(seed)
        self.device = Device(dut)
        bus = DLBus.from_prefix(dut)
        options = CheckerOptions(rx_replay_limit=LIMIT, uart_reset_answer=200)
        self.checker = LinkChecker(options)
        self.coverage = LinkCoverage(self.checker, replay_depth=255)
        self.coverage.hits = HITS
        self.partner = LinkPartner(DLEndpoint(receiver=ReplayReceiver(LIMIT), idle_flit_times=8), self.coverage)
        self.end = self.partner.endpoint
        self.end.basic.device = DeviceId(id=9, type=0, valid=1)
        self.end.basic.port = PortNumber(port_number=2, valid=1)
        self.link = BeatLink(bus, self.partner)
        self.load_device = self.load_partner = 0.0
        self.sent_device, self.sent_partner = [], []

    async def start(self, **config):
        """Out of reset, until the link is up."""
        cocotb.start_soon(Clock(self.dut.clk, 2, unit="ns").start())
        for model in (self.device, self.link):
            cocotb.start_soon(model.start(self.dut.clk, self.dut.rst))
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 4)
        self.dut.rst.value = 0
        self.device.set(**{"enable": 1, "codeword_group": 4, **config})
        await self.online()

    async def online(self):
        """Until TL flits can go both ways."""
        await self.until(lambda: self.end.online and self.device.status("online"), 300)

    async def flits(self, count=1):
        """Flit times."""
        for _ in range(count):
            for load, send, sent in (
                (self.load_device, self.device.send, self.sent_device),
                (self.load_partner, self.end.send, self.sent_partner),
            ):
                for _ in range(int(load + self.rng.random())):
                    flit = self.rng.randbytes(64), self.rng.randrange(4)
                    send(*flit)
                    sent.append(flit)
            await ClockCycles(self.dut.clk, CYCLES_PER_FLIT)

    async def until(self, condition, limit=1000):
        """Flit times until ``condition()``."""
        for _ in range(limit):
            if condition():
                return
            await self.flits()
        raise AssertionError(f"nothing came of it in {limit} flit times")

    async def quiet(self):
        """No more load; until all has arrived, once and in order."""
        self.load_device = self.load_partner = 0.0
        await self.until(self.arrived)
        assert self.device.received == self.sent_partner
        assert self.end.delivered == self.sent_device
        for store in (self.device.received, self.end.delivered, self.sent_device, self.sent_partner):
            store.clear()

    def arrived(self):
        """Nothing is on its way."""
        counts = len(self.device.received) >= len(self.sent_partner), len(self.end.delivered) >= len(self.sent_device)
        return all(counts) and self.end.idle and not self.device.status("held")

    # Spoiling what is sent.

    def lose(self, count, *, to_device=True, matching=lambda slot: isinstance(slot, bytes)):
        """The next ``count`` slots that match are lost."""
        left = [count]

        def fault(number, slot):
            if left[0] and matching(slot):
                left[0] -= 1
                return LOST
            return slot

        if to_device:
            self.partner.to_device = fault
        else:
            self.partner.from_device = fault
        return left

    def spoil(self, change, count=1):
        """``change(header)`` takes the place of the header of the next ``count`` flits for which it gives one."""
        left = [count]

        def fault(number, slot):
            other = change(header_of(slot)) if left[0] and not isinstance(slot, SlotKind) else None
            if other is None:
                return slot
            left[0] -= 1
            return rewrite(slot, header=other)

        self.partner.to_device = fault
        return left


def is_request(slot):
    """The flit carries a Replay Request."""
    header = header_of(slot)
    return isinstance(header, CommandHeader) and header.replay_request
