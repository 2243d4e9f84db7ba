"""What surrounds a ``RateChange``: clock generator, Basic messages, partners."""

import random
from collections import deque

from amaranth.sim import Simulator

from ualink.dl.rate.change import RateChange
from ualink.dl.rate.pacer import REFERENCE_RATE
from ualink.dl.registers.firmware import FULL_RATE
from ualink_sim.model.dl.messages import TLRateNotification
from ualink_sim.model.dl.pacing import Device


class Bench:
    """Plays clock generator, Basic messages and partners around one ``RateChange``, each as slow as it likes.

    ``trace`` holds what happened in the words of the model; ``silent`` ports never answer, ``frozen`` keeps the clock
    generator from acknowledging.
    """

    def __init__(self, ctx, dut, *, ports=1, seed=0, patience=6):
        self.ctx, self.dut, self.ports = ctx, dut, ports
        self.rng = random.Random(seed)
        self.patience = patience
        self.trace: list[tuple] = []
        self.silent: set[int] = set()
        self.frozen = False
        self.partners = [Device() for _ in range(ports)]
        self.wires: list[deque] = [deque() for _ in range(ports)]
        self.announced_before = 0
        self.low = [4] * ports
        self.answered = 0
        self.links = (1 << ports) - 1
        self.clock = FULL_RATE
        self.pace = FULL_RATE
        self.sent = [0] * ports
        ctx.set(dut.link_up, self.links)
        ctx.set(dut.may_change, 1)

    def read(self, name):
        return self.ctx.get(getattr(self.dut, name))

    def sometimes(self):
        return not self.rng.randrange(self.patience)

    async def cycle(self):
        self._messages()
        self._clocks()
        if self.read("pace") != self.pace:
            self.pace = self.read("pace")
            self.trace.append(("pace", self.pace))
        # The rule behind all of it: no partner may send faster than the TL takes flits.
        for port, partner in enumerate(self.partners):
            if self.links >> port & 1 and self.ctx.get(self.dut.partner_told[port]):
                assert partner.pace <= self.clock, f"port {port}"
        await self.ctx.tick()

    async def cycles(self, count):
        for _ in range(count):
            await self.cycle()

    async def until_idle(self, limit=600):
        await self.cycle()
        for _ in range(limit):
            if not self.read("busy"):
                return
            await self.cycle()
        raise AssertionError("the change does not end")

    async def start(self, target):
        self.ctx.set(self.dut.target_rate, target)
        self.ctx.set(self.dut.change, 0)
        await self.cycle()
        self.ctx.set(self.dut.change, 1)
        await self.cycle()
        self.ctx.set(self.dut.target_rate, 0)

    async def abort(self):
        self.ctx.set(self.dut.abort, 1)
        await self.cycle()
        self.ctx.set(self.dut.abort, 0)

    def set_link(self, port, up):
        self.links = self.links & ~(1 << port) | up << port
        self.ctx.set(self.dut.link_up, self.links)
        if not up:
            # Both ends start anew: nothing is on its way, the partner has forgotten.
            self.wires[port].clear()
            self.partners[port] = Device()
            self.answered &= ~(1 << port)
            self.announced_before &= ~(1 << port)

    def _messages(self):
        announce = self.read("announce")
        for port, wire in enumerate(self.wires):
            bit = 1 << port
            if announce & ~self.announced_before & bit:
                assert self.links & bit, "a Request on a link that is down"
                assert self.low[port] >= 4, "a port with every fourth cycle cannot see that"
                wire.append(["queued", TLRateNotification(rate=self.read("announced_rate"))])
            if not wire or not self.sometimes():
                continue
            where, message = wire[0]
            if where == "queued":
                # The Request starts only now: until then the Ack before still shows.
                self.answered &= ~bit
                self.sent[port] += 1
                if port == 0:
                    self.trace.append(("send", message))
                wire[0][0] = "sent"
            elif port not in self.silent:
                assert self.partners[port].receive(message) == TLRateNotification(ack=1)
                wire.popleft()
                self.answered |= bit
                if port == 0:
                    self.trace.append(("ack",))
        self.low = [0 if announce >> port & 1 else low + 1 for port, low in enumerate(self.low)]
        self.announced_before = announce
        self.ctx.set(self.dut.answered, self.answered)

    def _clocks(self):
        if self.frozen or not self.sometimes():
            return
        use, on = self.read("use_reference"), self.read("on_reference")
        program, ready = self.read("pll_program"), self.read("pll_ready")
        if use != on:
            self.ctx.set(self.dut.on_reference, use)
            self.clock = REFERENCE_RATE if use else self.read("pll_rate")
            self.trace.append(("reference",) if use else ("pll",))
        if program != ready:
            self.ctx.set(self.dut.pll_ready, program)
            if program:
                assert on, "the PLL is programmed while it clocks the UPLI"
                self.trace.append(("program", self.read("pll_rate")))


def run(story, *, ports=1, seed=0, patience=6):
    dut = RateChange(ports)

    async def bench(ctx):
        await story(Bench(ctx, dut, ports=ports, seed=seed, patience=patience))

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
