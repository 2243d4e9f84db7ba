"""cocotb side of a fault campaign: one fault after the other, under traffic, each with its recovery."""

import json
import os
import random
from dataclasses import asdict
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly, RisingEdge

from support.controller_pair_side import PORTS, both
from support.faults.end import SLOT, WATCHDOG, End
from support.faults.kinds import KINDS
from support.faults.outcome import RESET, Kind, Report
from support.faults.sight import counts, shown, word_of_port
from support.faults.strikes import HERE, THERE, TIME_OUT
from support.faults.striking import strike
from support.stream_device import WHOLE
from ualink_sim.bfm.common.controller_firmware import FirmwareError
from ualink_sim.bfm.common.firmware import FirmwareTimeout
from ualink_sim.bfm.common.register_bus import RegisterBusTimeout

MEASURED = 12
"""Writes and as many Reads of each port in which bandwidth is measured."""
ROUNDS = 4
"""Times that firmware of both ends clears what it finds, at most."""


class Hang(Exception):
    """What must end does not."""


class Campaign:
    """Two ends on one cable, and what is done with them."""

    def __init__(self, dut, *, switch: bool):
        self.dut, self.switch = dut, switch
        self.ends = [End(dut, number) for number in range(2)]
        for end, partner in zip(self.ends, reversed(self.ends)):
            end.partner = partner
            # A partner that never shows control flits is waited for 1,024 flit times (ruling A-23 of the data link).
            end.firmware.patience = 3_000 * PORTS
        self.before = 0.0
        self.cycle = 0
        self._seen: list[dict] = [{}, {}]
        self._leaving: set[int] = set()
        self.silent = False
        self._released = 0

    async def each(self, work):
        """``work(end)`` of both ends at the same time; what is raised, once both have ended."""
        self._leaving.clear()

        async def attempt(end):
            try:
                return await work(end), None
            except (FirmwareTimeout, FirmwareError, RegisterBusTimeout) as error:
                self._leaving.discard(end.number)
                return None, error

        results = await both(self.ends, attempt)
        for _, error in results:
            if error:
                raise error
        return [result for result, _ in results]

    async def live(self):
        """All models, for ever."""
        fall, settled, rise = FallingEdge(self.dut.clk), ReadOnly(), RisingEdge(self.dut.clk)
        while True:
            await fall
            self.cycle += 1
            moving = [end for end in self.ends if not end.held]
            devices = [device for end in moving for device in end.devices]
            for end in moving:
                end.tick()
            for device in devices:
                device.offer()
            await settled
            for device in devices:
                device.take()
            await rise
            for device in devices:
                device.withdraw()

    async def reset(self):
        """From reset to traffic, and the bandwidth there is."""
        await self.each(lambda end: self.hold(end, 8))
        await self.each(self.set_up)
        await self._prepare()
        bandwidth = await self.measure()
        self.before = self.before or bandwidth
        return bandwidth

    async def hold(self, end, cycles):
        """All of an end in reset, and out of it; it must be set up then."""
        partner_runs = not end.partner.held
        end.held = end.fresh = True
        end.reset.value = 1
        await ClockCycles(self.dut.clk, cycles)
        end.restart()
        self._seen[end.number] = {}
        # Ports have their turns on the cable.
        while (self.cycle - self._released) % PORTS and partner_runs:
            await FallingEdge(self.dut.clk)
        self._released = self.cycle
        end.reset.value = 0
        end.held = False

    async def set_up(self, end):
        """What firmware of an end does after its reset."""
        limit = 0 if self.switch else WATCHDOG
        await end.firmware.configure(
            {
                "dl": {"replay_control": {"rx_replay_limit": 60}, "tx_ack_time_out": {"flit_times": TIME_OUT}},
                "tl": {"control": {"is_switch": int(self.switch)}},
                "isolation": {"watchdog": {"limit": limit}},
            }
        )
        await end.firmware.bring_up()
        await end.firmware.enable_interrupts()
        end.fresh = False

    async def _prepare(self):
        """Something that can be read."""
        for end in self.ends:
            for port in range(PORTS):
                end.write(port), end.write(port)
        await self.idle(10 * WATCHDOG)
        self.check()
        self._seen = await self.each(counts)

    def check(self) -> list[str]:
        """What is wrong with all that was asked since the last time."""
        return [text for end in self.ends for text in end.settled()[1]]

    async def idle(self, limit, ports=range(PORTS)):
        """Until everything is answered; Hang."""
        for _ in range(limit):
            if all(end.devices[port].idle for end in self.ends for port in ports):
                return
            await FallingEdge(self.dut.clk)
        lost = {end.name: [device.outstanding for device in end.devices] for end in self.ends}
        raise Hang(f"no Responses for {limit} cycles; outstanding {lost}")

    async def measure(self) -> float:
        """Bytes of data per cycle of traffic that is correct to the last byte, else 0."""
        for end in self.ends:
            for port in range(PORTS):
                for _ in range(MEASURED):
                    end.write(port), end.read(port)
        began = self.cycle
        await self.idle(10 * WATCHDOG)
        took = self.cycle - began
        ended = [end.settled() for end in self.ends]
        if any(wrong or any(ports.values()) for ports, wrong in ended):
            raise Hang(f"traffic is not what it was: {ended}")
        return len(self.ends) * PORTS * 2 * MEASURED * WHOLE / took

    async def fault(self, kind: Kind, seed: int) -> Report:
        """Strike once, look, recover."""
        rng = random.Random(f"{kind.name}/{seed}/{PORTS}")
        report = Report(kind.name, seed, PORTS, port=rng.randrange(PORTS))
        here, there = rng.sample(self.ends, 2)
        report.before = self.before
        try:
            self.silent = False
            asking = cocotb.start_soon(self._keep_asking())
            await ClockCycles(self.dut.clk, 20 + rng.randrange(40 * PORTS))
            story = await strike(kind.strike, self, here, there, report.port, rng)
            report.struck, report.story = story is not None, story or ""
            await ClockCycles(self.dut.clk, 4 * SLOT)
            asking.cancel()
            await self._settle(report)
            await self._look(report, here, there)
            await self._recover(report, kind)
        except (Hang, FirmwareTimeout, FirmwareError, RegisterBusTimeout) as error:
            report.wrong.append(f"{type(error).__name__}: {error}")
            asking.cancel()
            self._let_go()
            await self.reset()
        return report

    async def _keep_asking(self):
        while True:
            for end in self.ends:
                if not (end.fresh or self.silent):
                    end.keep_asking(4)
            await ClockCycles(self.dut.clk, 16)

    async def fall_silent(self):
        """Nobody asks for anything more, and what is asked has no Response yet."""
        self.silent = True
        for end in self.ends:
            end.latency = 3 * WATCHDOG // 4
        for end in self.ends:
            end.keep_asking(4)
        await ClockCycles(self.dut.clk, 30 * SLOT)
        for end in self.ends:
            end.latency = 1

    async def _settle(self, report: Report):
        """Until all is answered: at a switch by firmware, which isolates, where a link is down."""
        if self.switch:
            await self.idle(2 * WATCHDOG, [port for port in range(PORTS) if port != report.port])
            await ClockCycles(self.dut.clk, 20 * SLOT)
            for end in self.ends:
                if not end.devices[report.port].idle:
                    await end.firmware.enter_isolation()
        await self.idle(4 * WATCHDOG)
        for _ in range(4 * WATCHDOG):
            if all(end.completer.idle or end.broken for end in self.ends):
                break
            await FallingEdge(self.dut.clk)
        await ClockCycles(self.dut.clk, 8 * SLOT)

    async def _look(self, report: Report, here: End, there: End):
        """What either end shows."""
        for role, end in ((HERE, here), (THERE, there)):
            words = await shown(end, report.port, self._seen[end.number])
            ended, wrong = end.settled()
            for port, ends in ended.items():
                words |= {word_of_port(f"ask.{word}", port == report.port) for word in ends}
            report.shown[role] = sorted(words)
            report.wrong += wrong

    async def _recover(self, report: Report, kind: Kind):
        """What firmware of both ends does, and a reset where nothing less helps."""
        self._let_go()
        for end in self.ends:
            getattr(self.dut, f"{end.name}_clear_drop").value = 1
        await ClockCycles(self.dut.clk, 2)
        for end in self.ends:
            getattr(self.dut, f"{end.name}_clear_drop").value = 0
        # Who leaves Drop Mode takes the link down once, and so the partner into it.
        for _ in range(ROUNDS):
            await self.each(self._clear)
            if not any([await end.firmware.drop_causes() for end in self.ends]):
                break
        report.cleared = report.after = await self.measure()
        if kind.recovery == RESET:
            report.after = await self.reset()
        self._seen = await self.each(counts)

    async def _clear(self, end: End):
        if end.fresh:
            await self.set_up(end)
        self._leaving.add(end.number)
        await end.firmware.leave_drop_mode()
        self._leaving.discard(end.number)
        while self._leaving:
            if await end.firmware.drop_causes():
                await end.firmware.leave_drop_mode()
        if await end.firmware.isolation_causes():
            await end.firmware.leave_isolation()
        await end.firmware.clear(await end.firmware.causes())

    def _let_go(self):
        """Nothing is struck any more."""
        self.dut.cut.value = 0
        for end in self.ends:
            for name in ("deaf", "lose", "turn"):
                getattr(self.dut, f"{end.name}_{name}").value = 0
            for name in ("to_completer", "to_originator", "to_tl_originator", "wire", "tail"):
                getattr(self.dut, f"{end.name}_{name}__armed").value = 0


@cocotb.test()
async def campaign(dut):
    """The faults of ``FAULTS``; a line for each into ``REPORTS``."""
    faults = json.loads(os.environ["FAULTS"])
    made = Campaign(dut, switch=os.environ["SWITCH"] == "1")
    dut.rst.value = 1
    made._let_go()
    for end in made.ends:
        end.held = True
        getattr(dut, f"{end.name}_clear_drop").value = 0
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    cocotb.start_soon(made.live())
    await made.reset()
    with Path(os.environ["REPORTS"]).open("w") as reports:
        for name, seed in faults:
            report = await made.fault(KINDS[name], seed)
            print(json.dumps(asdict(report)), file=reports, flush=True)
