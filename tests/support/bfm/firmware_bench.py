"""cocotb side of test_firmware.py: firmware of both ends of a link that carries messages."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from ualink_sim.bfm.common.firmware import DLFirmware, FirmwareTimeout, Packet
from ualink_sim.bfm.common.register_bus import RegisterBus, RegisterError, RegisterTable

DEVICE_ID, PORT_NUMBER = 0b101, 0b110


async def listen(dut, requests):
    """Note each Device ID and Port Number Request on the wire: who sent it, and its mtype."""
    fall = FallingEdge(dut.clk)
    while True:
        await fall
        for end in (0, 1):
            if int(getattr(dut, f"sent_valid__{end}").value):
                message = int(getattr(dut, f"sent__{end}").value)
                if message & 0x103D == 0 and message >> 6 & 7 in (DEVICE_ID, PORT_NUMBER):
                    requests.append((end, message >> 6 & 7))


def config(dut, end, name):
    """What firmware has set."""
    return int(getattr(dut, f"config__{end}__{name}").value)


def silence(dut):
    """Nothing is lost, nothing happens that the bench does not do."""
    for handle in dut:
        if handle._name.startswith("status__"):
            handle.value = 0
    dut.deaf.value = 0


async def documented(dut, example):
    """An example that does not know what else the device has."""
    silence(dut)
    await example(dut)


async def begin(dut, patience=200):
    table = RegisterTable.load(os.environ["TABLE"])
    silence(dut)
    bus = RegisterBus.from_prefix(dut, "bus", dut.clk, table)
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    dut.rst.value = 1
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    return [DLFirmware(bus.window(end * table.size), patience=patience) for end in (0, 1)]


async def both(*coroutines):
    """At the same time, on the one bus."""
    return [await task for task in [cocotb.start_soon(coroutine) for coroutine in coroutines]]


@cocotb.test()
async def bring_up(dut):
    a, b = await begin(dut)
    assert await a.link_state() == "idle"
    await both(a.bring_up(rx_replay_limit=120, codeword_group=2), b.bring_up())
    assert await a.link_state() == await b.link_state() == "up"
    assert [config(dut, end, "rx_replay_limit") for end in (0, 1)] == [120, 50]
    assert [config(dut, end, "codeword_group") for end in (0, 1)] == [2, 4]
    for channel in (4, 0):
        await both(*(end.set_channel(channel, channel == 4) for end in (a, b)))
    assert await a.bus.read_fields("link_status") == await b.bus.read_fields("link_status")
    assert (await a.bus.read_fields("link_status"))["online_4"] and not await a.bus.read("link_status", "online")
    await both(*(end.set_channel(0, True) for end in (a, b)))
    await a.take_down()
    assert await b.link_state() == "idle"
    try:
        await a.bring_up(colour=3)
        raise AssertionError("a setting that does not exist was taken")
    except TypeError as error:
        assert "colour" in str(error)
    await a.bring_up()
    await b.set_channel(4, False)
    while await a.bus.read("link_status", "online_4"):
        pass  # a has not heard of it yet
    a.patience = 20
    try:
        await a.set_channel(4, True)
        raise AssertionError("the partner did not want channel 4")
    except FirmwareTimeout as error:
        assert "channel 4 to be online" in str(error)


@cocotb.test()
async def identities(dut):
    a, b = await begin(dut)
    await both(a.bring_up(), b.bring_up())
    assert (await a.ask_device_id(), await a.ask_port_number()) == ((None, "switch"), None)
    await a.set_identity(id=0x155, port=0x2A)
    await b.set_identity(id=7, type="switch", port=0x3FF)
    told = await both(a.ask_device_id(), b.ask_device_id(), a.ask_port_number(), b.ask_port_number())
    assert told == [(7, "switch"), (0x155, "accelerator"), 0x3FF, 0x2A]
    # The first Request is lost: firmware asks again, and the device sends another one.
    requests: list[tuple[int, int]] = []
    cocotb.start_soon(listen(dut, requests))
    await b.set_identity(id=8, type="switch")
    a.patience = 60
    dut.deaf.value = 0b01

    async def hear():
        while not requests:
            await ClockCycles(dut.clk, 1)
        await ClockCycles(dut.clk, 30)
        dut.deaf.value = 0

    assert (await both(a.ask_device_id(), hear()))[0] == (8, "switch")
    assert requests == [(0, DEVICE_ID)] * 2
    dut.deaf.value = 0b01
    try:
        await a.ask_port_number()
        raise AssertionError("nobody answered")
    except FirmwareTimeout as error:
        assert "ask_port" in str(error)
    await ClockCycles(dut.clk, 8)
    assert not config(dut, 0, "ask_port") and requests[2:] == [(0, PORT_NUMBER)] * 2
    # Asked while the link is down: the Request leaves when it is up.
    dut.deaf.value = 0
    await a.take_down()
    asking = cocotb.start_soon(b.ask_port_number())
    await ClockCycles(dut.clk, 200)
    assert len(requests) == 4
    await a.bring_up()
    assert await asking == 0x2A and requests[4:] == [(1, PORT_NUMBER)]


@cocotb.test()
async def rates(dut):
    a, b = await begin(dut)
    await both(a.bring_up(), b.bring_up())
    await both(a.announce_rate(3_125), b.announce_rate(20_000))
    assert (await a.partner_rate(), await b.partner_rate()) == (20_000, 3_125)
    try:
        await a.announce_rate(3_000)
        raise AssertionError("a rate below the reference clock was taken")
    except RegisterError:
        assert await a.events() == {"config_error"}
    assert config(dut, 0, "rate") == 3_125 and await a.events() == set()


@cocotb.test()
async def uart(dut):
    a, b = await begin(dut, patience=2_000)
    await both(*(end.bring_up(channel_4_online=1) for end in (a, b)))
    rng = random.Random(3)
    one, two = rng.randbytes(4 * 40), rng.randbytes(4 * 30)
    got = await both(a.uart_write(one), b.uart_write(two), b.uart_read(len(one)), a.uart_read(len(two)))
    assert got[2:] == [one, two]
    packets = [
        Packet(vendor_id=0xFFFF if n else 0x1234, type=rng.randrange(256), payload=rng.randbytes(4 * length))
        for n, length in enumerate((1, 2, 9, 256))
    ]

    async def send():
        for packet in packets:
            await a.send_packet(packet)

    async def receive():
        return [await b.receive_packet() for _ in packets]

    assert (await both(send(), receive()))[1] == packets
    # The first dword on the wire is that of Table 6-9.
    await a.send_packet(Packet(vendor_id=0xFFFF, type=0x5A, payload=bytes(8)))
    assert (await b.uart_read(4)).hex() == "015affff"
    for bad in (bytes(3), bytes(0), bytes(1028)):
        try:
            await a.send_packet(Packet(0xFFFF, 0, bad))
            raise AssertionError(f"a packet of {len(bad)} bytes was taken")
        except ValueError:
            pass
    await a.uart_write(bytes(16))
    assert await a.events() == await b.events() == set()
    await a.uart_reset(all_streams=True)
    assert config(dut, 0, "uart_reset_all")
    assert await b.events() == {"uart_reset_received"}
    assert await b.uart_read_dwords() == [] == await a.uart_read_dwords()
    try:
        await b.bus.read("uart_rx", "data")
        raise AssertionError("the buffer was empty")
    except RegisterError:
        pass
    await a.uart_write(b"UALink\0\0")
    assert await b.uart_read(8) == b"UALink\0\0"
    # The partner reads nothing: what it has no room for waits here, and no dword is lost.
    await a.uart_write(one[:44])
    await ClockCycles(dut.clk, 300)
    assert (await a.bus.read("uart_levels", "tx"), await b.bus.read("uart_levels", "rx")) == (6, 5)
    assert await b.uart_read(44) == one[:44]
    assert await a.events() == await b.events() == set()


@cocotb.test()
async def counters_and_events(dut):
    a, b = await begin(dut)
    names = [handle._name.removeprefix("status__1__") for handle in dut if handle._name.startswith("status__1__")]
    counters = await b.counters()
    assert set(counters.values()) == {0} and set(counters) <= set(names)
    for number, name in enumerate(counters):
        getattr(dut, f"status__1__{name}").value = 0xFFFF_FF00 + number
    assert await b.counters() == {name: 0xFFFF_FF00 + number for number, name in enumerate(counters)}
    assert set((await a.counters()).values()) == {0}
    dut.status__1__containment_egress.value = 1
    dut.status__1__forward_progress_time_out.value = 1
    await ClockCycles(dut.clk, 2)
    dut.status__1__containment_egress.value = 0
    dut.status__1__forward_progress_time_out.value = 0
    assert await a.events() == set()
    assert await b.events() == {"containment_egress", "forward_progress_time_out"}
    assert await b.events() == set()


@cocotb.test()
async def mistakes(dut):
    a, _ = await begin(dut)
    for attempt, expected in (
        (a.bus.read("nothing"), KeyError),
        (a.bus.read("events", "nothing"), KeyError),
        (a.bus.write("link_control", nothing=1), KeyError),
        (a.bus.write("link_control", enable=2), ValueError),
        (a.bus.write("link_status", online=1), RegisterError),
        (a.bus.read_word(0xFC), RegisterError),
        (a.uart_write(bytes(5)), ValueError),
        (a.uart_read(5), ValueError),
        (a.set_channel(1, True), ValueError),
        (a.ask_device_id(attempts=0), ValueError),
    ):
        try:
            await attempt
        except expected:
            continue
        raise AssertionError(f"{attempt} was no {expected.__name__}")
    # Settings that are not named keep their value.
    await a.bus.write("link_control", channel_4_online=1)
    await a.bus.write("link_control", enable=1)
    assert await a.bus.read_fields("link_control") == {
        "enable": 1,
        "channel_0_online": 1,
        "channel_4_online": 1,
        "may_request_channels": 1,
    }
