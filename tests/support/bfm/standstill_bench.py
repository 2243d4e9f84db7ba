"""cocotb side of test_standstill.py: models that nobody starts, whose clock stands, or that wait in vain."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer

from support.bfm.fake_interface import Wires
from ualink_sim.bfm.common.agent import ModelTimeoutError
from ualink_sim.bfm.upli.bus import UPLIBus
from ualink_sim.bfm.upli.memory_access import MemoryAccess
from ualink_sim.bfm.upli.originator import UPLIOriginator


async def _message(awaitable):
    try:
        await awaitable
    except ModelTimeoutError as error:
        return str(error)
    raise AssertionError("it did not end in a time-out")


def _originator():
    return UPLIOriginator(UPLIBus.from_prefix(Wires(), "upli"))


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def nobody_starts_it(dut):
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    originator = _originator()
    message = await _message(MemoryAccess(originator).read(1, 0x40, 4))
    assert "start(clock, reset) was not started" in message and "1 not issued" in message
    assert "not started" in await _message(originator.until(lambda: False, "anything"))


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def its_clock_stands_still(dut):
    dut.clk.value = 0
    originator = _originator()
    cocotb.start_soon(originator.start(dut.clk))
    await Timer(1, unit="ns")
    assert "its clock stands still" in await _message(MemoryAccess(originator).read(1, 0x40, 4))
    assert "its clock stands still" in await _message(originator.until(lambda: False, "anything"))


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_condition_that_never_holds(dut):
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    originator = _originator()
    cocotb.start_soon(originator.start(dut.clk))
    seen = await _message(originator.until(lambda: False, "the end", cycles=30))
    assert seen.startswith("UPLIOriginator: the end did not come in 30 cycles; 0 without a Response; 0 not issued")
    await originator.until(lambda: originator.cycle > 40, "cycle 40", cycles=20)
