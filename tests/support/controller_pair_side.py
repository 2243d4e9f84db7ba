"""The sides of test_controller_pair.py: devices, firmware and memory of each, and what they do together."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from support.controller_pair_top import SIDES, TAGS
from support.stream_device import WHOLE, StreamDevice
from ualink.upli.checker.rules import RULES
from ualink_sim.bfm.common.controller_firmware import ControllerFirmware
from ualink_sim.bfm.common.register_bus import (
    APBBus,
    AXI4LiteBus,
    DesignTable,
    RegisterBus,
    RegisterTable,
)
from ualink_sim.bfm.upli.bus import UPLIBus
from ualink_sim.bfm.upli.completer import UPLICompleter
from ualink_sim.bfm.upli.memory_handler import MemoryHandler
from ualink_sim.bfm.upli.options import CompleterOptions
from ualink_sim.model.upli.transactions import Status

PORTS, BUS = int(os.environ.get("PORTS", "1")), os.environ.get("BUS", "axi4-lite")
BUSES = {"axi4-lite": AXI4LiteBus, "apb": APBBus}
LAST = PORTS - 1
BLOCK = 0x1000
PORT_SHIFT = 40
"""Each port has a part of the memory of the other side for itself."""
WATCHDOG = 600 * PORTS
"""Cycles; Requests of the traffic here are answered in less."""


class Side:
    """A controller with its firmware, the devices before it and the memory behind it."""

    device_type = StreamDevice

    def __init__(self, dut, number: int):
        self.dut, self.name, self.number = dut, SIDES[number], number
        table = DesignTable.load(os.environ["TABLE"])
        isolation = RegisterTable.load(os.environ["ISOLATION"])
        bus = BUSES[BUS].from_prefix(dut, f"{self.name}_bus", dut.clk, table["description"])
        self.bus, self.table = bus, table
        self.firmware = ControllerFirmware(
            bus,
            table,
            isolation=RegisterBus.from_prefix(dut, f"{self.name}_isolation", dut.clk, isolation),
            patience=400,
        )
        self.irq = getattr(dut, f"{self.name}_irq")
        self.isolation_pending = getattr(dut, f"{self.name}_isolation_pending")
        self.devices = [
            self.device_type(dut, f"{self.name}_device__{port}", dut.clk, src=number + 1, dst=2 - number, tags=TAGS)
            for port in range(PORTS)
        ]
        self.latency = 1
        self.memory = MemoryHandler()
        self.came: list[dict] = []
        options = CompleterOptions(ports=PORTS, latency=lambda: self.latency)
        self.completer = UPLICompleter(UPLIBus.from_prefix(dut, f"{self.name}_upli_originator"), self._answer, options)
        self._random = random.Random(number)
        self._blocks = [0] * PORTS
        self._written: list[tuple[int, bytes]] = []

    def _answer(self, request, data):
        self.came.append(request)
        return self.memory(request, data)

    def broken_rules(self) -> tuple[set[str], set[str]]:
        """Rules of UPLI broken since reset: before the accelerator's Originator, and before its Completer."""
        requester, responder = (
            int(getattr(self.dut, f"{self.name}_{role}_broken").value) for role in ("requester", "responder")
        )
        return _names(requester), _names(responder)

    def ask(self, port: int, count: int):
        """``count`` WriteFulls to new places from ``port``, and the number of each."""
        asked = []
        for _ in range(count):
            addr = (port << PORT_SHIFT) + self._blocks[port] * BLOCK
            self._blocks[port] += 1
            asked.append(self.devices[port].ask(addr, self._random.randbytes(WHOLE)))
        return asked

    async def idle(self, ports=range(PORTS), limit=4_000):
        """Wait until everything asked by ``ports`` is answered."""
        for _ in range(limit):
            if all(self.devices[port].idle for port in ports):
                return
            await FallingEdge(self.dut.clk)
        lost = {port: self.devices[port].outstanding for port in ports}
        raise AssertionError(f"{self.name}: no Responses; outstanding {lost}")


def _names(bits: int) -> set[str]:
    return {rule.name for number, rule in enumerate(RULES) if bits >> number & 1}


async def begin(dut) -> list[Side]:
    """Both sides after reset, models running."""
    sides = [Side(dut, number) for number in range(2)]
    dut.cut.value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    for side in sides:
        cocotb.start_soon(side.completer.start(dut.clk, dut.rst))
    await ClockCycles(dut.clk, 8)
    dut.rst.value = 0
    for side in sides:
        for device in side.devices:
            cocotb.start_soon(device.run())
    return sides


async def together(*coroutines):
    """At the same time; the results in their order."""
    return [await task for task in [cocotb.start_soon(coroutine) for coroutine in coroutines]]


async def both(sides, work):
    """``work(side)`` of both sides at the same time."""
    return await together(*(work(side) for side in sides))


async def start(dut, **settings):
    """Both sides up, interrupts enabled."""
    sides = await begin(dut)
    for side in sides:
        await side.firmware.identify()
        await side.firmware.configure({"dl": {"replay_control": {"rx_replay_limit": 60}}, **settings})
    await both(sides, lambda side: side.firmware.bring_up())
    for side in sides:
        await side.firmware.enable_interrupts()
    return sides


LAWFUL: tuple[set[str], set[str]] = (set(), set())
"""What ``Side.broken_rules`` says where none is broken."""


async def traffic(sides, ports=range(PORTS), count=6, broken=(LAWFUL, LAWFUL)):
    """Writes and Reads in both directions on all ``ports`` at once; every byte is compared, at both ends.

    Since reset no rule of UPLI was broken but those of ``broken``, by side.
    """
    for side in sides:
        side.written = [ask for port in ports for ask in side.ask(port, count)]
    await both(sides, lambda side: side.idle(ports))
    for side in sides:
        other = sides[1 - side.number]
        for ask in side.written:
            assert ask.status == Status.OKAY
            assert other.memory.memory.read(ask.addr, WHOLE) == ask.data
        side.reads = [(ask, side.devices[ask.addr >> PORT_SHIFT].ask(ask.addr)) for ask in side.written]
    await both(sides, lambda side: side.idle(ports))
    for side in sides:
        for ask, read in side.reads:
            assert read.status == Status.OKAY and read.read == ask.data
            assert not any(beat["data_error"] for beat in read.beats)
    assert tuple(side.broken_rules() for side in sides) == broken


async def wait_irq(side, level=1, limit=4_000):
    """Until the interrupt line is at ``level``."""
    for _ in range(limit):
        if int(side.irq.value) == level:
            return
        await FallingEdge(side.dut.clk)
    raise AssertionError(f"{side.name}: the interrupt line never was {level}")


async def recover(side):
    """What firmware does after a Link Down: clear Drop Mode, then Isolation, then the events."""
    await side.firmware.leave_drop_mode()
    if await side.firmware.isolation_causes():
        await side.firmware.leave_isolation()
    await side.firmware.clear(await side.firmware.causes())
    await wait_irq(side, 0, 20)
