"""Directed scenarios for DL messages and link states: every message, flow and arc."""

import cocotb

from support.bfm.dl.partner_bench import Bench
from ualink_sim.model.dl.endpoint import CONTROL_FLIT, LOST
from ualink_sim.model.dl.messages import ChannelCommand, ChannelNegotiation


@cocotb.test()
async def basic_messages_both_ways(dut):
    bench = Bench(dut, 8)
    await bench.start()
    bench.end.ask_device_id()
    bench.end.ask_port_number()
    await bench.flits(20)
    assert not bench.end.basic.partner_device.valid and not bench.end.basic.partner_port.valid
    bench.device.set(local_device=5 | 1 << 10 | 1 << 12, local_port=7 | 1 << 12)
    for _ in range(3):
        bench.end.ask_device_id()
        bench.end.ask_port_number()
        bench.end.announce_rate(31_250)
        bench.device.set(ask_device=1, ask_port=1, announce_rate=1)
        await bench.flits(20)
        bench.device.set(ask_device=0, ask_port=0, announce_rate=0)
        await bench.flits(5)
    assert (bench.end.basic.partner_device.id, bench.end.basic.partner_device.type) == (5, 1)
    assert bench.end.basic.partner_port.port_number == 7
    assert not bench.end.basic.errors
    bench.end.raw_messages.extend([(0x0000013C, False), (1, False)])
    await bench.flits(20)


@cocotb.test()
@cocotb.parametrize(channel=[0, 4])
async def channel_flows(dut, channel):
    bench = Bench(dut, 9)
    await bench.start(channel_4_online=1)
    setting, want = f"channel_{channel}_online", bench.end.channels.want
    bench.load_device = 0.2  # data of the channels wait all the time
    bench.device.uart_to_send.extend(range(4000))
    want[4] = True
    online = lambda: bench.end.channels.control.online(channel)  # noqa: E731
    await bench.until(online, 100)
    await bench.flits(20)

    def request(target):
        message = ChannelNegotiation(target_state=target << 3 | channel, command=ChannelCommand.REQUEST)
        return message.encode(), False

    # Off and on again by the device, by the partner, and by both at once.
    for who in ("device", "partner", "both"):
        for state in (0, 1):
            if who != "partner":
                bench.device.set(**{setting: state})
            if who != "device":
                want[channel] = bool(state)
            if who == "device":
                await bench.flits(12)
                want[channel] = bool(state)
            elif who == "partner":
                await bench.flits(12)
                bench.device.set(**{setting: state})
            await bench.until(lambda state=state: online() == bool(state), 100)
            await bench.flits(30)
    bench.end.raw_messages.append(request(1))
    await bench.flits(20)
    # Not ready on one side: decision pending.
    for ready in ("device", "partner"):
        bench.device.set(**{setting: 0})
        want[channel] = False
        await bench.until(lambda: not online(), 100)
        await bench.flits(30)
        if ready == "device":
            bench.device.set(**{setting: 1})
            await bench.flits(30)
            want[channel] = True
        else:
            want[channel] = True
            await bench.flits(30)
            bench.device.set(**{setting: 1})
        await bench.until(online, 100)
        await bench.flits(30)
    # NAck: the Request ends without any change.
    hear = bench.end.channels.hear

    def refuse(dword, what):
        bench.end.channels.hear = hear
        answer = ChannelNegotiation(target_state=8 | channel, command=ChannelCommand.NACK, response=channel)
        bench.end.raw_messages.append((answer.encode(), False))

    bench.end.channels.hear = refuse
    bench.device.set(**{setting: 0})
    await bench.flits(30)
    assert online()
    bench.device.set(**{setting: 1})
    await bench.flits(30)


@cocotb.test()
async def uart_stream(dut):
    bench = Bench(dut, 10)
    await bench.start(channel_4_online=1, channel_time_out=150)
    bench.end.channels.want[4] = True
    await bench.until(lambda: bench.end.channels.online(4), 100)
    await bench.flits(20)
    words = list(range(1, 200))
    bench.device.uart_to_send.extend([0xFFFFFFFF])
    await bench.flits(10)
    bench.device.uart_to_send.extend(words)
    got = []
    await bench.flits(80)  # nobody reads: the credits are used up
    for _ in range(60):
        while (dword := bench.end.uart.read()) is not None:
            got.append(dword)
        bench.end.uart.write(len(got))
        await bench.flits(2)
    assert got == [0xFFFFFFFF, *words]

    async def reset_by_the_device():
        bench.device.set(uart_reset=1)
        await bench.flits(2)
        bench.device.set(uart_reset=0)

    await reset_by_the_device()
    await bench.flits(40)
    # Requests for the state that the channels have: their Acks wait behind the sequence, and do not end it.
    await reset_by_the_device()
    for channel in (0, 4):
        message = ChannelNegotiation(target_state=8 | channel, command=ChannelCommand.REQUEST)
        bench.end.raw_messages.append((message.encode(), False))
    await bench.flits(40)
    bench.end.uart.start_reset()
    await bench.flits(40)
    bench.end.uart.start_reset()
    await reset_by_the_device()
    await bench.flits(60)
    # Nobody answers: the device repeats its reset after channel_time_out.
    hear = bench.end._uart.hear
    bench.end._uart.hear = lambda dword, what: None
    await reset_by_the_device()
    await bench.flits(180)
    bench.end._uart.hear = hear
    await bench.flits(180)
    bench.device.uart_to_send.append(77)
    await bench.flits(30)
    assert bench.end.uart.read() == 77


@cocotb.test()
async def link_states(dut):
    bench = Bench(dut, 11)
    await bench.start()

    async def back():
        await bench.flits(40)
        await bench.online()
        await bench.flits(10)

    # Faults in Up, seen by the device and by the partner.
    bench.link.local_fault = True
    await bench.flits(20)
    bench.link.local_fault = False
    await back()
    bench.end.local_fault = True
    await bench.flits(20)
    bench.end.local_fault = False
    await back()
    # The partner goes silent; faults while the device waits in Idle and in NOP.
    for silent in (14, 8):
        bench.end.enable = False
        bench.end.link.fail()
        await bench.flits(silent)
        bench.link.local_fault = True
        await bench.flits(8)
        bench.link.local_fault = False
        bench.end.enable = True
        await back()
    bench.end.enable = False
    bench.end.contain()
    await bench.flits(40)  # the device is in NOP and waits for flits
    bench.link.local_fault = True
    await bench.flits(8)
    bench.link.local_fault = False
    bench.end.enable = True
    await back()
    # Three control flits are not four.
    left = [3]

    def control(number, slot):
        left[0] -= left[0] > 0
        return CONTROL_FLIT if left[0] else slot

    downs = bench.device.status("link_downs")
    bench.partner.to_device = control
    await bench.flits(20)
    assert bench.device.status("link_downs") == downs
    # An errored TL flit: the CRC is inverted, and nothing follows.
    bench.device.send(bytes(64), error=1)
    await bench.until(lambda: bench.device.status("link_downs") == downs + 1, 20)
    await back()


@cocotb.test()
async def no_forward_progress(dut):
    """No flit reaches the device any more: the link goes down for want of Acks, and comes back."""
    bench = Bench(dut, 12)
    await bench.start(tx_ack_time_out=100)
    bench.load_device = 1.0
    await bench.flits(150)
    assert not bench.device.status("link_downs")
    bench.partner.to_device = lambda number, slot: LOST if isinstance(slot, bytes) else slot
    await bench.until(lambda: bench.device.status("link_downs") == 1, 800)
    bench.load_device = 0.0
    bench.partner.to_device = lambda number, slot: slot
    bench.device.to_send.clear()
    await bench.until(lambda: not bench.end.online, 300)
    await bench.online()


@cocotb.test()
async def every_bin_was_hit(dut):
    """Last of all: what the scenarios before have shown together."""
    bench = Bench(dut)
    assert not bench.coverage.missed("§6.4 ", "§6.4.", "§6.6.6.8", "§6.7"), bench.coverage.text()
