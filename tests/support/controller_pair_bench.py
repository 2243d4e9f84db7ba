"""cocotb side of test_controller_pair.py: firmware of two controllers that face each other."""

import random
from functools import partial

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge

from support.controller_pair_side import (
    BUS,
    LAST,
    LAWFUL,
    PORTS,
    WATCHDOG,
    begin,
    both,
    recover,
    start,
    traffic,
    wait_irq,
)
from ualink_sim.bfm.common.controller_firmware import ControllerFirmware, FirmwareError
from ualink_sim.bfm.common.firmware import FirmwareTimeout
from ualink_sim.bfm.common.register_bus import RegisterError
from ualink_sim.bfm.upli.channel import parity_of
from ualink_sim.model.upli.transactions import Status


@cocotb.test()
async def cable_is_pulled(dut):
    """From reset to traffic, a cable is pulled, and back to traffic; all by registers."""
    sides = await start(dut)
    assert [int(side.irq.value) for side in sides] == [0, 0]
    await traffic(sides)
    assert await both(sides, lambda side: side.firmware.causes()) == [{}, {}]

    for side in sides:
        for port in range(PORTS):
            side.ask(port, 3)
    await ClockCycles(dut.clk, 30)
    dut.cut.value = 1 << LAST
    await both(sides, wait_irq)
    for side in sides:
        firmware = side.firmware
        await firmware.wait_for_link_down([LAST])
        causes = await firmware.causes()
        assert {f"tl_{port}": {"drop_mode"} for port in range(PORTS)}.items() <= causes.items()
        assert await firmware.drop_causes() == {port: {"link_down"} for port in range(PORTS)}
        # What was outstanding and what comes now is answered by a dummy.
        late = side.devices[0].ask(0)
        await side.idle()
        assert late.status == Status.CMPTO
        assert await firmware.isolation_causes() == {"isolate"}
        assert int(side.isolation_pending.value)
        await firmware.mask_interrupts()
        await wait_irq(side, 0, 20)
        await firmware.enable_interrupts()
        await wait_irq(side, 1, 20)
        await firmware.clear(causes)
        await wait_irq(side, 0, 20)
        counts = await firmware.counters()
        assert [counts[f"dl_{port}"]["link_downs"] for port in range(PORTS)][LAST] == 1

    # With the cable whole again nothing recovers by itself.
    dut.cut.value = 0
    came = [len(side.came) for side in sides]
    for side in sides:
        assert side.devices[LAST].ask(0) is not None
    await both(sides, lambda side: side.idle())
    await ClockCycles(dut.clk, 600)
    for side in sides:
        assert len(await side.firmware.drop_causes()) == PORTS
        assert await side.firmware.isolation_causes() == {"isolate"}
        assert (await side.firmware.errors())["upli"]["completer_status.connected"] == 1
    assert [len(side.came) for side in sides] == came
    await both(sides, recover)
    await traffic(sides)
    assert [int(side.irq.value) for side in sides] == [0, 0]


@cocotb.test()
async def watchdog_isolates(dut):
    """A Request that nobody answers in time isolates its Originator, and no other; firmware finds out and clears it."""
    sides = await start(dut, isolation={"watchdog": {"limit": WATCHDOG}})
    a, b = sides
    await traffic(sides)
    b.latency = 3 * WATCHDOG
    lost = [device.ask(0) for device in a.devices]
    for _ in range(2 * WATCHDOG):
        if int(a.isolation_pending.value):
            break
        await FallingEdge(dut.clk)
    await a.idle()
    assert [ask.status for ask in lost] == [Status.CMPTO] * PORTS
    status = await a.firmware.isolation.read_fields("status")
    assert await a.firmware.isolation_causes() == {"time_out"}
    assert (status["tag"], status["port"]) == (lost[status["port"]].request.tag, status["port"])
    assert await b.firmware.isolation_causes() == set() and not int(b.isolation_pending.value)
    # The other direction goes on, and neither TL is in Drop Mode.
    written = b.ask(LAST, 4)
    await b.idle()
    assert [ask.status for ask in written] == [Status.OKAY] * 4
    assert await both(sides, lambda side: side.firmware.drop_causes()) == [{}, {}]
    b.latency = 1
    # The Responses come when nobody wants them any more.
    await ClockCycles(dut.clk, 3 * WATCHDOG)
    await a.firmware.leave_isolation()
    assert not int(a.isolation_pending.value)
    await traffic(sides)
    await a.firmware.enter_isolation()
    assert await a.firmware.isolation_causes() == {"command"}
    dummy = a.devices[LAST].ask(0)
    await a.idle()
    assert dummy.status == Status.CMPTO
    await a.firmware.leave_isolation()
    await traffic(sides, count=2)


@cocotb.test()
async def other_ports_go_on(dut):
    """Of a station of a switch only ports whose link is down are dropped: others carry traffic through down and up."""
    sides = await start(dut, tl={"control": {"is_switch": 1}})
    down = list(range(PORTS))[1:3]
    kept = [port for port in range(PORTS) if port not in down]
    await traffic(sides)
    for _ in range(3):
        for side in sides:
            for port in down:
                side.ask(port, 4)
        await ClockCycles(dut.clk, 40)
        dut.cut.value = sum(1 << port for port in down)
        going = cocotb.start_soon(traffic(sides, kept, 12))
        for side in sides:
            await side.firmware.wait_for_link_down(down)
            assert await side.firmware.drop_causes() == {port: {"link_down"} for port in down}
            assert {name for name in await side.firmware.causes() if name[:3] == "tl_"} == {f"tl_{n}" for n in down}
            assert await side.firmware.isolation_causes() == set()
            logs = await side.firmware.errors()
            assert logs["upli"]["completer_status.connected"] == logs["upli"]["originator_status.connected"] == 1
        await going
        dut.cut.value = 0
        going = cocotb.start_soon(traffic(sides, kept, 12))
        await both(sides, lambda side: side.firmware.leave_drop_mode())
        await going
        # What was dropped has no Response: the Originator's own firmware answers that.
        for side in sides:
            await side.firmware.enter_isolation()
            await side.idle()
            await side.firmware.leave_isolation()
            await side.firmware.clear(await side.firmware.causes())
    await traffic(sides)


@cocotb.test()
async def blocked_responses(dut):
    """The link goes down before the Responses are sent: before a Switch's TL nobody tells the Originator, whose own
    watchdog isolates it."""
    sides = await start(dut, tl={"control": {"is_switch": 1}}, isolation={"watchdog": {"limit": WATCHDOG}})
    await traffic(sides, count=2)
    came = [len(side.came) for side in sides]
    for side in sides:
        side.latency = WATCHDOG // 2
    lost = [side.devices[LAST].ask(0) for side in sides]
    for _ in range(WATCHDOG // 4):
        if all(len(side.came) > before for side, before in zip(sides, came)):
            break
        await FallingEdge(dut.clk)
    dut.cut.value = 1 << LAST
    assert [len(side.came) - before for side, before in zip(sides, came)] == [1, 1], "their Requests are through"
    await ClockCycles(dut.clk, WATCHDOG // 4)
    assert [ask.status for ask in lost] == [None, None]
    assert await both(sides, lambda side: side.firmware.isolation_causes()) == [set(), set()]
    await both(sides, lambda side: side.idle())
    assert [ask.status for ask in lost] == [Status.CMPTO] * 2
    assert await both(sides, lambda side: side.firmware.isolation_causes()) == [{"time_out"}] * 2
    for side in sides:
        assert await side.firmware.drop_causes() == {LAST: {"link_down"}}
        side.latency = 1
    dut.cut.value = 0
    await both(sides, recover)
    await traffic(sides, count=2)


@cocotb.test()
async def fewer_links(dut):
    """A link that stays down is taken out of use; the others carry traffic again."""
    sides = await start(dut)
    left = list(range(LAST))
    dut.cut.value = 1 << LAST
    await both(sides, wait_irq)
    for side in sides:
        await side.firmware.wait_for_link_down([LAST])
        await side.firmware.take_down([LAST])
    dut.cut.value = 0
    await both(sides, recover)
    await traffic(sides, left)
    for side in sides:
        assert await side.firmware.dl[LAST].link_state() != "up"
    await both(sides, lambda side: side.firmware.bring_up())
    await traffic(sides)


@cocotb.test()
async def drop_mode_on_command(dut):
    """Firmware puts ports into Drop Mode without an error: nothing passes, Requests time out, and it recovers."""
    sides = await start(dut, isolation={"watchdog": {"limit": WATCHDOG}})
    a, b = sides
    await traffic(sides, count=2)
    await b.firmware.enter_drop_mode([0])
    assert (await b.firmware.drop_causes())[0] == {"command"}
    came = len(b.came)
    lost = a.devices[0].ask(0)
    await a.idle()
    assert lost.status == Status.CMPTO and len(b.came) == came
    assert await a.firmware.drop_causes() == {}, "nothing of this is seen at the other end"
    # The session that dropped something ends, which is a Link Down to the other end.
    recovering = cocotb.start_soon(recover(b))
    await wait_irq(a)
    assert {"link_down"} == (await a.firmware.drop_causes())[0]
    await recover(a)
    await recovering
    while any(await both(sides, lambda side: side.firmware.drop_causes())):
        await both(sides, recover)
    await traffic(sides, count=2)


@cocotb.test()
async def data_error_is_told(dut):
    """A UPLI Data Error: the beat arrives as poisoned, the others as they are, and firmware hears of it."""
    sides = await start(dut)
    a, b = sides
    await traffic(sides, count=1)
    (written,) = a.ask(0, 1)
    await a.idle()
    sender = b.completer.rd_rsp
    sender.drive = partial(_spoil, sender.bus, sender.drive)
    read = a.devices[0].ask(written.addr)
    await a.idle()
    assert {beat["offset"]: beat["data_error"] for beat in read.beats} == {0: 0, 1: 0, 2: 1, 3: 0}
    assert read.status == Status.OKAY
    await wait_irq(b)
    assert await b.firmware.causes() == {"upli": {"originator_data_error"}}
    assert (await b.firmware.errors())["upli"]["originator_status.data_error"] == 1
    assert await b.firmware.drop_causes() == {}
    await b.firmware.clear(await b.firmware.causes())
    await wait_irq(b, 0, 20)
    sender.drive = sender.drive.args[1]
    await traffic(sides, count=1, broken=(LAWFUL, (set(), {"rd_rsp_data_parity"})))


def _spoil(bus, drive, beat):
    drive(beat)
    if beat["offset"] == 2:
        bus.parities["data_parity"].value = parity_of("rd_rsp", {"pool": 0, **beat})["data_parity"] ^ 0x10


@cocotb.test()
async def every_access_is_answered(dut):
    """Also where nothing is: with an error, and the next access is answered as if nothing had been."""
    sides = await begin(dut)
    for side in sides:
        size = 1 << len(getattr(dut, f"{side.name}_bus__{'araddr' if BUS == 'axi4-lite' else 'paddr'}"))
        bases = [base for base, _ in side.table.windows.values()]
        known = {base + word.offset for base, table in side.table.windows.values() for word in table.registers.values()}
        window = bases[1] - bases[0]
        places = [base + offset for base in bases for offset in range(0, window, 4) if base + offset not in known]
        unknown = random.Random(1).sample(places, min(60, len(places)))
        beyond = [window * len(bases), size - 4] if size > window * len(bases) else []
        for address in (*unknown, *(base + window - 4 for base in bases if base + window - 4 not in known), *beyond):
            for access in (side.bus.read_word(address), side.bus.write_word(address, 0xFFFFFFFF)):
                try:
                    await access
                    raise AssertionError(f"{address:#x} was answered as if there were a register")
                except RegisterError:
                    pass
        identity = await side.firmware.identify()
        assert identity.name == "controller" and identity.windows == len(bases)


@cocotb.test()
async def mistakes(dut):
    """Firmware says what it waited for, and what does not fit."""
    a, b = await begin(dut)
    a.firmware.patience = 20
    try:
        await a.firmware.bring_up()
        raise AssertionError("the partner is not enabled")
    except FirmwareTimeout as error:
        assert str(error).startswith("dl_0.link_status reads 0x") and "after 20 reads, not online 1" in str(error)
    a.firmware.patience = 400
    await both((a, b), lambda side: side.firmware.bring_up())
    try:
        await a.firmware.configure({"dl": {"pacing": {"pace": 5}}})
        raise AssertionError("a pace that is not allowed was taken")
    except RegisterError:
        pass
    try:
        await a.firmware.configure({"dl": {"link_status": {"online": 0}}})
        raise AssertionError("what only hardware sets was set")
    except (FirmwareError, RegisterError):
        pass
    for settings in ({"nowhere": {}}, {"dl_9": {}}):
        try:
            await a.firmware.configure(settings)
            raise AssertionError("a window that is not there was taken")
        except KeyError:
            pass
    try:
        await a.firmware.enable_interrupts({"tl_0": ["colour"]})
        raise AssertionError("an event that is not there was taken")
    except KeyError as error:
        assert "colour" in str(error)
    await a.firmware.enable_interrupts({"dl_0": ["config_error"]})
    await wait_irq(a, 1, 20)
    assert await a.firmware.causes() == {"dl_0": {"config_error"}}
    a.table.map_hash ^= 1
    try:
        await a.firmware.identify()
        raise AssertionError("registers of another design were taken")
    except FirmwareError as error:
        assert "the table is of" in str(error)
    other = ControllerFirmware(a.bus, b.table)
    try:
        await other.enter_isolation()
        raise AssertionError("there is no Isolation")
    except TypeError:
        pass
    try:
        await a.firmware.take_down([PORTS])
        raise AssertionError("there is no such port")
    except ValueError as error:
        assert f"there is no port {PORTS}" in str(error)
