"""A device that passes UPLI Requests on, between the bus models of an Originator and a Completer, and watched."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from ualink_sim.bfm.upli.bus import UPLIBus
from ualink_sim.bfm.upli.completer import UPLICompleter
from ualink_sim.bfm.upli.memory_access import MemoryAccess
from ualink_sim.bfm.upli.memory_handler import MemoryHandler
from ualink_sim.bfm.upli.monitor import UPLIMonitor
from ualink_sim.bfm.upli.options import CompleterOptions, OriginatorOptions
from ualink_sim.bfm.upli.originator import UPLIOriginator


@cocotb.test()
async def what_is_written_is_read(dut):
    near, far = UPLIBus.from_prefix(dut, "completer"), UPLIBus.from_prefix(dut, "originator")
    originator = UPLIOriginator(near, OriginatorOptions(hold=lambda: random.choice((0, 0, 5))))
    completer = UPLICompleter(far, MemoryHandler(), CompleterOptions(latency=lambda: random.randrange(20)))
    monitor = UPLIMonitor(near)
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    for model in (originator, completer, monitor):
        cocotb.start_soon(model.start(dut.clk, dut.rst))
    dut.rst.value = 1
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0

    memory = MemoryAccess(originator, source=0)
    await memory.write(dst=1, addr=0x1004, data=b"UALink at work!!")
    assert await memory.read(dst=1, addr=0x1004, length=16) == b"UALink at work!!"
    await monitor.until(lambda: len(monitor.completed) == 2, "the second transaction", cycles=10)
    assert [transaction.request["cmd"] for transaction in monitor.completed] == [0x28, 0x03]
