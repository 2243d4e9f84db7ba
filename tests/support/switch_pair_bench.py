"""cocotb side of test_switch_pair.py: firmware of a switch, and of the accelerators at it."""

import os

import cocotb
from cocotb.triggers import ClockCycles

from support.controller_pair_side import begin, both, recover, together, traffic, wait_irq
from ualink_sim.bfm.common.identity import FirmwareError
from ualink_sim.bfm.common.register_bus import APBBus, DesignTable, RegisterError
from ualink_sim.bfm.common.switch_firmware import Denied, Route, SwitchFirmware
from ualink_sim.model.upli.transactions import Status

ROUTES = {1: Route(0, 0), 2: Route(1, 0)}
"""Side "a" is accelerator 1, at station 0; side "b" is accelerator 2, at station 1."""


class SwitchSide:
    """The switch as ``wait_irq`` sees it, and its firmware."""

    name = "switch"

    def __init__(self, dut):
        self.dut, self.irq = dut, dut.switch_irq
        table = DesignTable.load(os.environ["SWITCH_TABLE"])
        self.bus = APBBus.from_prefix(dut, "switch_bus", dut.clk, table["description"])
        self.firmware = SwitchFirmware(self.bus, table, patience=400)


async def start(dut):
    """The switch and both sides after reset, up, interrupts enabled."""
    switch = SwitchSide(dut)
    sides = await begin(dut)
    identity = await switch.firmware.identify()
    assert (identity.name, len(switch.firmware.stations)) == ("switch", 2)
    replay = {"replay_control": {"rx_replay_limit": 60}}
    await switch.firmware.configure({"dl": replay, "tl": {"control": {"is_switch": 1}}})
    await switch.firmware.set_routes(ROUTES)
    for side in sides:
        await side.firmware.configure({"dl": replay})
    await together(switch.firmware.bring_up(), *(side.firmware.bring_up() for side in sides))
    for device in (switch, *sides):
        await device.firmware.enable_interrupts()
    return switch, sides


async def answer_what_was_lost(side):
    """The accelerator's own firmware answers Requests that the switch has dropped."""
    await side.firmware.enter_isolation()
    await side.idle()
    await side.firmware.leave_isolation()


@cocotb.test()
async def routes_and_denies(dut):
    """Firmware routes, denies, hears of what was denied, and lets it through again."""
    switch, sides = await start(dut)
    firmware = switch.firmware
    await traffic(sides)
    assert not int(switch.irq.value) and await firmware.causes() == {} and await firmware.denied() == {}
    for links in (await firmware.counters()).values():
        counts = links["dl_0"]
        assert counts["payload_flits_sent"] and counts["payload_flits_received"] and not counts["link_downs"]

    await firmware.set_route(0, 2, Route(1, 0, frozenset({0})))
    assert await firmware.route(0, 2) == Route(1, 0, frozenset({0}))
    assert await firmware.route(1, 2) == ROUTES[2]
    assert await firmware.route(1, 7) == Route(deny=frozenset(range(4))), "as after reset"
    a, b = sides
    came = len(b.came)
    lost = [a.devices[0].ask(0x1000 * n) for n in range(3)]
    await wait_irq(switch)
    assert await firmware.causes() == {0: {"core": {"denied_port_0"}}}
    await ClockCycles(dut.clk, 100)
    assert await firmware.denied() == {(0, 0): Denied(3, 1, 2, "request")}
    assert [ask.status for ask in lost] == [None] * 3 and len(b.came) == came
    # Responses that enter by the port are denied alike.
    asked = b.devices[0].ask(0)
    await ClockCycles(dut.clk, 200)
    assert asked.status is None
    assert await firmware.denied() == {(0, 0): Denied(4, 1, 2, "read_response")}
    await firmware.clear_denied()
    await wait_irq(switch, 0, 20)
    assert await firmware.denied() == {}
    await firmware.set_route(0, 2, ROUTES[2])
    await both(sides, answer_what_was_lost)
    await traffic(sides)
    assert await firmware.denied() == {} and not int(switch.irq.value)


@cocotb.test()
async def cable_is_pulled(dut):
    """The link of one accelerator goes down: its port alone is dropped, and firmware of both ends recovers."""
    switch, sides = await start(dut)
    firmware = switch.firmware
    await traffic(sides, count=2)
    a, b = sides
    dut.cut.value = 0b01
    await wait_irq(switch)
    await firmware.stations[0].wait_for_link_down()
    assert await firmware.drop_causes() == {(0, 0): {"link_down"}}
    assert set(await firmware.causes()) == {0}
    assert await firmware.core_drops() == {}
    counts = await firmware.counters()
    assert [counts[station]["dl_0"]["link_downs"] for station in range(2)] == [1, 0]
    lost = b.devices[0].ask(0)
    await ClockCycles(dut.clk, 200)
    assert lost.status is None, "it went into a port that drops, and held up nobody"
    dut.cut.value = 0
    await together(firmware.leave_drop_mode(), recover(a))
    await answer_what_was_lost(b)
    await firmware.clear(await firmware.causes())
    await wait_irq(switch, 0, 20)
    assert await firmware.drop_causes() == {}
    await traffic(sides)
    assert lost.status == Status.CMPTO


@cocotb.test()
async def mistakes(dut):
    """What cannot be is refused, by the registers or by firmware."""
    switch = SwitchSide(dut)
    await begin(dut)
    firmware = switch.firmware
    await firmware.stations[0].set_accelerator(0, 1)
    assert await firmware.stations[0].windows["core"].read_fields("accelerator_0") == {"id": 1, "valid": 1}
    for refused in (
        firmware.set_route(2, 0, Route()),
        firmware.set_route(0, 8, Route()),
        firmware.set_route(0, 0, Route(0, 1)),
        switch.bus.read_word((1 << len(dut.switch_bus__paddr)) - 4),
    ):
        try:
            await refused
            raise AssertionError("it was taken")
        except RegisterError:
            pass
    firmware.table.map_hash ^= 1
    try:
        await firmware.identify()
        raise AssertionError("registers of another design were taken")
    except FirmwareError as error:
        assert "the table is of" in str(error)
