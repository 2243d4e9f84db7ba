"""Directed scenarios for link level replay: every row of its tables, every carry-over, losses at every phase."""

import cocotb

from support.bfm.dl.partner_bench import LIMIT, Bench, header_of, is_request
from ualink_sim.model.dl.endpoint import LOST
from ualink_sim.model.dl.header import CommandHeader, ExplicitHeader
from ualink_sim.model.dl.sequence import seq_advance


@cocotb.test()
async def losses_at_every_phase_of_the_cadence(dut):
    """1 to 9 flits lost from each phase on, of either side, and of nothing but NOP flits."""
    bench = Bench(dut, 1)
    await bench.start()
    phase_of = {
        True: lambda: 7 - bench.end.transmitter.tx_explicit_count,
        False: lambda: bench.checker.acks.commands,
    }
    for count in range(1, 10):
        for phase in range(7):
            for load, to_device in ((1.0, True), (1.0, False), (0.0, True)):
                if (not load and phase > 1) or (not to_device and phase not in (0, 3, 6)):
                    continue
                bench.load_device = bench.load_partner = load
                await bench.flits(1)
                await bench.until(lambda to_device=to_device, phase=phase: phase_of[to_device]() == phase, 20)
                left = bench.lose(count, to_device=to_device)
                await bench.until(lambda left=left: not left[0])
                await bench.flits(2)
                await bench.quiet()
    assert not bench.device.status("link_downs")


@cocotb.test()
async def losses_at_the_wrap_of_sequence_numbers(dut):
    """Of flits to the device and of its own in turn."""
    bench = Bench(dut, 2)
    await bench.start()
    newest = {True: lambda: bench.end.transmitter.tx_last_seq, False: lambda: bench.checker.replay.tx_last_seq}
    for count in (1, 4, 7, 9):
        for to_device in (True, False):
            bench.load_device = bench.load_partner = 1.0
            near = range(511 - count, 511) if to_device else (*range(511 - count, 512), *range(1, 64))
            await bench.until(lambda to_device=to_device, near=near: newest[to_device]() in near, 600)
            bench.lose(count, to_device=to_device)
            await bench.flits(12)
        await bench.quiet()


@cocotb.test()
async def lost_replay_requests_and_first_replayed_flits(dut):
    bench = Bench(dut, 3)
    await bench.start()
    for lost in (1, 2, 3):
        for to_device in (True, False):
            bench.load_device = bench.load_partner = 1.0
            await bench.flits(10)
            one = bench.lose(1, to_device=to_device)
            await bench.until(lambda one=one: not one[0])
            requests = bench.lose(lost, to_device=not to_device, matching=is_request)
            await bench.until(lambda requests=requests: not requests[0], 100)
            await bench.flits(LIMIT + 30)
            await bench.quiet()
    for to_device in (True, False):
        bench.load_device = bench.load_partner = 1.0
        await bench.flits(10)
        one = bench.lose(1, to_device=to_device)
        await bench.until(lambda one=one: not one[0])

        def replayed(slot):
            header = header_of(slot)
            return isinstance(header, ExplicitHeader) and header.replay

        first = bench.lose(1, to_device=to_device, matching=replayed)
        await bench.until(lambda first=first: not first[0], 100)
        await bench.flits(2 * LIMIT)
        await bench.quiet()
    bench.device.set(rx_replay_limit=LIMIT)


@cocotb.test()
async def numbers_that_are_wrong(dut):
    """Numbers 0, out of range, reserved codes: the device must not take them for anything."""
    bench = Bench(dut, 4)
    await bench.start()

    def command(**fields):
        def change(header):
            if not isinstance(header, CommandHeader):
                return None
            base = {"payload": header.payload, "replay_request": False, "flit_seq_lo": header.flit_seq_lo}
            return CommandHeader(**{**base, **fields})

        return change

    newest = lambda: bench.checker.replay.tx_last_seq  # noqa: E731
    for load in (0.0, 1.0):
        for logged, change in (
            (True, lambda: command(ack_req_seq=0)),
            (False, lambda: command(ack_req_seq=seq_advance(newest(), 40))),
            (False, lambda: command(ack_req_seq=seq_advance(newest(), -40))),
            (False, lambda: command(ack_req_seq=seq_advance(newest(), 40), replay_request=True)),
            (False, lambda: command(ack_req_seq=seq_advance(newest(), -300), replay_request=True)),
            (True, lambda: lambda header: ExplicitHeader(header.payload, False, 0)),
            (True, lambda: lambda header: 0b100 << 21 | header.encode() & 0x1FFFFF),
            (not load, lambda: lambda header: None if header.payload else 0b001 << 21 | 1 << 8),
        ):
            bench.load_device = bench.load_partner = load
            await bench.flits(14)
            errors = bench.device.status("protocol_errors")
            left = bench.spoil(change())
            await bench.flits(30)
            assert load or not left[0]
            assert bench.device.status("protocol_errors") - errors == logged
            bench.partner.to_device = lambda number, slot: slot
            await bench.quiet()
    # A replay asked for again: inside the window it is not obeyed, behind it is.
    for distance in (5, 11, 14):
        bench.load_device = 1.0
        await bench.flits(12)
        for wait in (distance, 0):
            oldest = seq_advance(bench.checker.replay.rx_last_ack, 1)
            left = bench.spoil(command(ack_req_seq=oldest, replay_request=True))
            await bench.until(lambda left=left: not left[0], 30)
            await bench.flits(wait)
        await bench.flits(30)
        await bench.quiet()


@cocotb.test()
async def corrupted_flits_in_replay_state(dut):
    bench = Bench(dut, 5)
    await bench.start()
    rng = bench.rng

    def noise(number, slot):
        if not isinstance(slot, bytes) or rng.random() > 0.15:
            return slot
        place = rng.randrange(640)
        return slot[:place] + bytes([slot[place] ^ 1 << rng.randrange(8)]) + slot[place + 1 :]

    for load in (0.2, 1.0, 12.0):
        bench.load_device = bench.load_partner = load
        bench.partner.to_device = bench.partner.from_device = noise
        await bench.flits(150)
        bench.partner.to_device = bench.partner.from_device = lambda number, slot: slot
        await bench.quiet()


@cocotb.test()
async def a_full_replay_buffer(dut):
    """No Ack reaches the device until 255 flits are held; then they are acknowledged, and the link goes on."""
    bench = Bench(dut, 6)
    await bench.start()
    bench.load_device = 1.0
    bench.partner.to_device = lambda number, slot: LOST
    await bench.until(lambda: bench.device.status("held") == 255, 400)
    await bench.flits(20)
    bench.partner.to_device = lambda number, slot: slot
    await bench.flits(3)
    await bench.quiet()


@cocotb.test()
async def long_replays(dut):
    """Replays of twenty flits, asked for anew when half done, and overtaken by Acks."""
    bench = Bench(dut, 12)
    await bench.start()

    def ask(header):
        oldest = seq_advance(bench.checker.replay.rx_last_ack, 1)
        return CommandHeader(header.payload, True, oldest, bench.end.transmitter.tx_last_seq & 7)

    for restarts, deaf in ((1, True), (0, False)):
        bench.load_device = 1.0
        if deaf:
            bench.partner.from_device = lambda number, slot: LOST  # so that Acks stay where they are
        else:
            bench.partner.to_device = lambda number, slot: LOST
        await bench.flits(20)
        for _ in range(1 + restarts):
            left = bench.spoil(ask)
            await bench.until(lambda left=left: not left[0], 10)
            await bench.flits(13 if deaf else 1)
        bench.partner.from_device = bench.partner.to_device = lambda number, slot: slot
        await bench.flits(30)
        await bench.quiet()


@cocotb.test()
async def saturated_segments_of_every_kind(dut):
    """Carry-over of every length, with and without an alternative sector; an Ack that overtakes a replay."""
    bench = Bench(dut, 7)
    await bench.start(channel_4_online=1)
    bench.end.channels.want[4] = True
    await bench.until(lambda: bench.end.channels.online(4), 100)
    for number in range(25):
        bench.load_device, bench.load_partner = 10.5, 9.0
        bench.device.uart_to_send.extend(range(number + 1))
        if number % 3 == 0:
            bench.end.ask_device_id()
        bench.lose(number % 2, to_device=bool(number % 4))
        await bench.flits(12)
        while bench.end.uart.read() is not None:
            pass
    await bench.quiet()


@cocotb.test()
async def every_bin_was_hit(dut):
    """Last of all: what the scenarios before have shown together."""
    bench = Bench(dut)
    assert not bench.coverage.missed("§6.3", "§6.6.2", "§6.6.4", *(f"§6.6.6.{n}" for n in range(2, 8))), (
        bench.coverage.text()
    )
