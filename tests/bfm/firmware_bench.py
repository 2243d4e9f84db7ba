"""cocotb side of test_firmware.py: firmware of both ends of a link that Python plays."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from ualink_sim.bfm.firmware import DLFirmware, FirmwareTimeout, Packet
from ualink_sim.bfm.register_bus import RegisterBus, RegisterError, RegisterTable

UP, IDLE = 3, 1
DELAY = 7


class Link:
    """A data link as far as registers go: states, answers after a while, nothing else."""

    def __init__(self, dut):
        self.dut = dut
        self.deaf = False
        self.asked: list[tuple[int, str, int]] = []
        self.before = {}
        self.reset_until = [0, 0]
        self.cycle = 0
        self.requests: list[tuple[int, str]] = []

    def config(self, end, name):
        return int(getattr(self.dut, f"config__{end}__{name}").value)

    def show(self, end, **values):
        for name, value in values.items():
            getattr(self.dut, f"status__{end}__{name}").value = value

    async def run(self):
        fall = FallingEdge(self.dut.clk)
        while True:
            await fall
            self.cycle += 1
            self.tick()

    def tick(self):
        end = int(self.dut.here.value)
        up = all(self.config(n, "enable") for n in (0, 1))
        online = up and all(self.config(n, "channel_0_online") for n in (0, 1))
        online_4 = up and all(self.config(n, "channel_4_online") for n in (0, 1))
        self.show(end, link_state=UP if up else IDLE, online=int(online), online_4=int(online_4))
        for name in ("ask_device", "ask_port", "announce_rate", "uart_reset"):
            level = self.config(end, name)
            if level and not self.before.get((end, name)):
                self.requested(end, name)
            self.before[end, name] = level
        for answer in [entry for entry in self.asked if entry[0] <= self.cycle and entry[2] == end]:
            self.asked.remove(answer)
            self.answer(end, answer[1])

    def requested(self, end, name):
        self.requests.append((end, name))
        shown = {"ask_device": "device_answered", "ask_port": "port_answered", "announce_rate": "rate_answered"}
        if name in shown:
            self.show(end, **{shown[name]: 0})
        elif name == "uart_reset":
            self.show(end, uart_resetting=1)
            self.dut.flush.value = 1
        if not self.deaf:
            self.asked.append((self.cycle + DELAY, name, end))

    def answer(self, end, name):
        match name:
            case "ask_device":
                self.show(end, partner_device=self.config(1 - end, "local_device"), device_answered=1)
            case "ask_port":
                self.show(end, partner_port=self.config(1 - end, "local_port"), port_answered=1)
            case "announce_rate":
                self.show(1 - end, partner_rate=self.config(end, "rate"))
                self.show(end, rate_answered=1)
            case "uart_reset":
                self.dut.flush.value = 0
                self.show(end, uart_resetting=0)


def silence(dut):
    """No data link shows anything yet."""
    for handle in dut:
        if handle._name.startswith("status__"):
            handle.value = 31_250 if handle._name.endswith("partner_rate") else 0
    dut.flush.value = 0


async def documented(dut, example):
    """An example that knows nothing of who plays the link."""
    silence(dut)
    cocotb.start_soon(Link(dut).run())
    await example(dut)


async def begin(dut, patience=200):
    table = RegisterTable.load(os.environ["TABLE"])
    silence(dut)
    bus = RegisterBus.from_prefix(dut, "bus", dut.clk, table)
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    dut.rst.value = 1
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    link = Link(dut)
    cocotb.start_soon(link.run())
    ends = [DLFirmware(bus.window(end * table.size), patience=patience) for end in (0, 1)]
    return link, ends


async def both(*coroutines):
    """At the same time, on the one bus."""
    return [await task for task in [cocotb.start_soon(coroutine) for coroutine in coroutines]]


@cocotb.test()
async def bring_up(dut):
    link, (a, b) = await begin(dut)
    assert await a.link_state() == "idle"
    await both(a.bring_up(rx_replay_limit=120, codeword_group=2), b.bring_up())
    assert await a.link_state() == await b.link_state() == "up"
    assert [link.config(end, "rx_replay_limit") for end in (0, 1)] == [120, 50]
    assert [link.config(end, "codeword_group") for end in (0, 1)] == [2, 4]
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
    a.patience = 20
    try:
        await a.set_channel(4, True)
        raise AssertionError("the partner did not want channel 4")
    except FirmwareTimeout as error:
        assert "channel 4 to be online" in str(error)


@cocotb.test()
async def identities(dut):
    link, (a, b) = await begin(dut)
    assert (await a.ask_device_id(), await a.ask_port_number()) == ((None, "switch"), None)
    await a.set_identity(id=0x155, port=0x2A)
    await b.set_identity(id=7, type="switch", port=0x3FF)
    told = await both(a.ask_device_id(), b.ask_device_id(), a.ask_port_number(), b.ask_port_number())
    assert told == [(7, "switch"), (0x155, "accelerator"), 0x3FF, 0x2A]
    # The first Request is lost: firmware asks again, and the device makes it another one.
    link.deaf, link.requests = True, []
    a.patience = 40

    async def hear():
        while len(link.requests) < 1:
            await ClockCycles(dut.clk, 1)
        await ClockCycles(dut.clk, 30)
        link.deaf = False

    assert (await both(a.ask_device_id(), hear()))[0] == (7, "switch")
    assert link.requests == [(0, "ask_device")] * 2
    link.deaf = True
    try:
        await a.ask_port_number()
        raise AssertionError("nobody answered")
    except FirmwareTimeout as error:
        assert "ask_port" in str(error)
    await ClockCycles(dut.clk, 8)
    assert not link.config(0, "ask_port")


@cocotb.test()
async def rates(dut):
    link, (a, b) = await begin(dut)
    await both(a.announce_rate(3_125), b.announce_rate(20_000))
    assert (await a.partner_rate(), await b.partner_rate()) == (20_000, 3_125)
    try:
        await a.announce_rate(3_000)
        raise AssertionError("a rate below the reference clock was taken")
    except RegisterError:
        assert await a.events() == {"config_error"}
    assert link.config(0, "rate") == 3_125 and await a.events() == set()


@cocotb.test()
async def uart(dut):
    _, (a, b) = await begin(dut)
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
    await both(a.uart_reset(all_streams=True))
    assert int(dut.config__0__uart_reset_all.value) == 1
    assert await b.uart_read_dwords() == [] == await a.uart_read_dwords()
    try:
        await b.bus.read("uart_rx", "data")
        raise AssertionError("the buffer was empty")
    except RegisterError:
        pass
    await a.uart_write(b"UALink\0\0")
    assert await b.uart_read(8) == b"UALink\0\0"


@cocotb.test()
async def counters_and_events(dut):
    _, (a, b) = await begin(dut)
    names = [handle._name.removeprefix("status__1__") for handle in dut if handle._name.startswith("status__1__")]
    counters = await b.counters()
    assert set(counters.values()) == {0} and set(counters) <= set(names)
    for number, name in enumerate(counters):
        getattr(dut, f"status__1__{name}").value = 0xFFFF_FF00 + number
    assert await b.counters() == {name: 0xFFFF_FF00 + number for number, name in enumerate(counters)}
    assert set((await a.counters()).values()) == {0}
    dut.status__1__containment_egress.value = 1
    dut.status__1__channel_timed_out.value = 1
    await ClockCycles(dut.clk, 2)
    dut.status__1__containment_egress.value = 0
    dut.status__1__channel_timed_out.value = 0
    assert await a.events() == set()
    assert await b.events() == {"containment_egress", "channel_timed_out"}
    assert await b.events() == set()


@cocotb.test()
async def mistakes(dut):
    _, (a, _) = await begin(dut)
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
