"""cocotb side of test_bifurcation.py: firmware chooses the number of ports through registers alone."""

import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from ualink_sim.bfm.common.controller_firmware import ControllerFirmware
from ualink_sim.bfm.common.firmware import FirmwareTimeout
from ualink_sim.bfm.common.register_bus import DesignTable, RegisterBus, RegisterError

ONE_X4, TWO_X2, FOUR_X1 = range(3)


async def begin(dut):
    table = DesignTable.load(os.environ["TABLE"])
    bus = RegisterBus.from_prefix(dut, "bus", dut.clk, table["description"])
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    dut.upli_moves.value = 0
    dut.rst.value = 1
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    return ControllerFirmware(bus, table, patience=80)


async def slots(dut):
    """The ports of eight cycles."""
    seen = []
    for _ in range(8):
        await FallingEdge(dut.clk)
        seen.append(int(dut.slot.value))
    return seen


async def choice(firmware):
    return await firmware.windows["station"].read_fields("bifurcation")


@cocotb.test()
async def one_two_and_four(dut):
    """Each in force by ``bifurcate`` alone, with links down then; what firmware has set before stays."""
    firmware = await begin(dut)
    await firmware.identify()
    assert firmware.ports == range(4)
    await firmware.configure({"dl": {"replay_control": {"rx_replay_limit": 120}}})
    await firmware.enable_interrupts({"station": ["changed"]})
    for ports, number in ((1, ONE_X4), (2, TWO_X2), (4, FOUR_X1)):
        for link in firmware.dl:
            await link.bus.write("link_control", enable=1)
        await ClockCycles(dut.clk, 12)
        assert [await link.bus.read("link_status", "online") for link in firmware.dl] == [1] * len(firmware.dl)
        await firmware.bifurcate(ports)
        assert firmware.ports == range(ports) and len(firmware.dl) == ports
        assert int(dut.used.value) == ports
        first, *others = await slots(dut)
        assert others == [(first + n) % ports for n in range(1, 8)]
        shown = await choice(firmware)
        assert shown == {"wanted": number, "in_force": number, "pending": 0, "links_down": 1}
        assert await firmware.windows["dl_3"].read("replay_control", "rx_replay_limit") == 120
        assert int(dut.irq.value) and await firmware.causes() == {"station": {"changed"}}
        await firmware.clear({"station": ["changed"]})


@cocotb.test()
async def not_while_a_link_is_up(dut):
    """That of port 2 alone holds it up, though it is not to come up again; it is in force by itself once it is down."""
    firmware = await begin(dut)
    await firmware.dl[2].bus.write("link_control", enable=1)
    await firmware.windows["station"].write("bifurcation", wanted=ONE_X4)
    await ClockCycles(dut.clk, 300)
    assert await choice(firmware) == {"wanted": ONE_X4, "in_force": FOUR_X1, "pending": 1, "links_down": 0}
    await firmware.take_down()
    await ClockCycles(dut.clk, 300)
    assert (await choice(firmware))["pending"]
    await firmware.enter_drop_mode([2])
    await firmware.windows["tl_2"].write("clear_drop", start=1)
    await ClockCycles(dut.clk, 120)
    assert await choice(firmware) == {"wanted": ONE_X4, "in_force": ONE_X4, "pending": 0, "links_down": 1}


@cocotb.test()
async def not_while_something_moves(dut):
    firmware = await begin(dut)
    dut.upli_moves.value = 1
    try:
        await firmware.bifurcate(2)
    except FirmwareTimeout as error:
        assert "station.bifurcation" in str(error)
    else:
        raise AssertionError("in force with a beat on its way")
    assert firmware.ports == range(4) and int(dut.used.value) == 4
    dut.upli_moves.value = 0
    await firmware.bifurcate(2)
    assert int(dut.used.value) == 2


@cocotb.test()
async def what_is_not_there(dut):
    """A number that is none is refused, with an event; queues of ports that are not used answer at once."""
    firmware = await begin(dut)
    await firmware.enable_interrupts({"station": ["config_error"]})
    await firmware.bifurcate(1)
    try:
        await firmware.windows["station"].write("bifurcation", wanted=3)
    except RegisterError:
        pass
    else:
        raise AssertionError("3 is no number")
    assert (await choice(firmware))["wanted"] == ONE_X4
    assert await firmware.causes() == {"station": {"config_error"}}
    for port in (1, 2, 3):
        try:
            await firmware.windows[f"dl_{port}"].read("uart_rx")
        except RegisterError:
            pass
        else:
            raise AssertionError("there is a dword")
