"""The wire takes no beat for one cycle, in each cycle in which something else happens on the transmit side."""

from itertools import pairwise

import pytest

from support.link_bench import CONFIG, DATA_LINKS, Bench
from ualink.dl.interface import LinkState
from ualink.phy.interface import BEATS_PER_FLIT, TxKind
from ualink_sim.model.dl.flit import crc_ok
from ualink_sim.model.dl.header import CommandHeader, decode_header

pytestmark = DATA_LINKS

LATENCY = 15
AROUND = range(14)
"""Cycles to the stall: through all that is on its way to the wire, and a slot more."""
WORD = 0x5A17_0BAD


class Every:
    """The cycles in which beat ``beat`` of a slot of ``end`` is on offer for the first time."""

    def __init__(self, end, beat: int):
        self._end, self._beat = end, beat
        self._last = -1

    def __contains__(self, cycle: int) -> bool:
        due = len(self._end.slots[-1].data) // 64 % BEATS_PER_FLIT == self._beat and cycle != self._last + 1
        if due:
            self._last = cycle
        return due


def assert_whole(bench):
    """What was taken arrived so far, in order, and every DL flit that went out has a good CRC."""
    for end, other in (bench.ends, bench.ends[::-1]):
        assert end.received == other.sent[: len(end.received)]
        for slot in end.slots:
            assert slot.kind != TxKind.DATA.value or len(slot.data) < 640 or crc_ok(bytes(slot.data))


async def flow(bench, ctx, flits):
    """Both ways, from an online link on."""
    for end in bench.ends:
        end.sent.clear()
        end.received.clear()
        end.to_send.extend((bench.rng.getrandbits(512), bench.rng.getrandbits(2)) for _ in range(flits))
    await bench.until(ctx, lambda: all(end.received for end in bench.ends))


async def assert_all_arrive(bench, ctx):
    await bench.until(ctx, lambda: all(not end.to_send for end in bench.ends))
    await bench.step(ctx, 60)
    assert_whole(bench)
    for end, other in (bench.ends, bench.ends[::-1]):
        assert len(end.received) == len(other.sent)
        assert end.status(ctx, "crc_errors") == end.status(ctx, "protocol_errors") == 0


@pytest.mark.req("DL-120", "DL-158", "DL-159", "DL-166")
def test_a_stall_in_every_slot_costs_no_other_cycle():
    """157 TL flits in 16 DL flits of eleven cycles each, whichever beat is stalled, and of ten without stalls."""

    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        a.to_send.extend((n, 0) for n in range(2400))
        await bench.until(ctx, lambda: len(b.received) > 5)
        for beat in (*range(BEATS_PER_FLIT), None):
            a.stalls, cycles = ((), 10) if beat is None else (Every(a, beat), 11)
            await bench.step(ctx, 40)
            start, before = bench.cycle, len(b.received)
            await bench.step(ctx, 16 * cycles)
            assert len(b.received) - before == 157
            slots = [slot for slot in a.slots if slot.start >= start]
            assert {after.start - slot.start for slot, after in pairwise(slots)} == {cycles}
        assert_whole(bench)

    Bench().run(story)


@pytest.mark.req("DL-119", "DL-123", "DL-160", "DL-164")
def test_a_stall_beside_the_start_of_a_replay():
    """From the arrival of the Replay Request on."""

    async def story(bench, ctx):
        a, b = bench.ends

        def asked():
            slot = b.slots[-1]
            header = decode_header(slot.header) if len(slot.data) == 640 else None
            return isinstance(header, CommandHeader) and header.replay_request

        await bench.bring_up(ctx)
        await flow(bench, ctx, 3000)
        for replays, offset in enumerate(AROUND, 1):
            number = len(a.slots) + 1
            bench.fate = lambda end, slot, number=number: "lost" if end is a and slot == number else None
            await bench.until(ctx, asked)
            a.stalls = (bench.cycle - 1 + LATENCY + offset,)
            await bench.until(ctx, lambda: a.status(ctx, "tx_replay"))
            await bench.step(ctx, 30)
            await bench.until(ctx, lambda: not a.status(ctx, "tx_replay"))
            assert a.status(ctx, "replays_accepted") == replays
        for end in bench.ends:
            end.to_send.clear()
            end.withdraw(ctx)
        await assert_all_arrive(bench, ctx)

    Bench(latency=LATENCY, seed=1, config=CONFIG.replace(replay_depth=64)).run(story)


@pytest.mark.req("DL-002", "DL-005", "DL-119", "DL-143")
def test_a_stall_beside_a_message():
    """A UART dword in the middle of TL flits, from its offer on."""

    async def story(bench, ctx):
        a, b = bench.ends
        for end in bench.ends:
            ctx.set(end.link.config.channel_4_online, 1)
        await bench.bring_up(ctx)
        await bench.until(ctx, lambda: all(end.status(ctx, "online_4") for end in bench.ends))
        ctx.set(b.link.uart_rx.ready, 1)
        await flow(bench, ctx, 1000)
        for offset in AROUND:
            a.stalls = (bench.cycle + offset,)
            ctx.set(a.link.uart_tx.payload, WORD + offset)
            ctx.set(a.link.uart_tx.valid, 1)
            await bench.step(ctx)
            ctx.set(a.link.uart_tx.valid, 0)
            await bench.until(ctx, lambda: ctx.get(b.link.uart_rx.valid))
            assert ctx.get(b.link.uart_rx.payload) == WORD + offset
            await bench.step(ctx)
        for end in bench.ends:
            end.to_send.clear()
            end.withdraw(ctx)
        await assert_all_arrive(bench, ctx)

    Bench(latency=LATENCY, seed=2).run(story)


@pytest.mark.req("DL-182", "DL-177")
def test_a_stall_beside_what_is_withheld():
    """Around the end of the slot after a spoilt flit: no DL flit goes after that flit, and no slot is half of one."""

    async def story(bench, ctx):
        a, b = bench.ends
        down = None
        for offset in (None, *range(-4, 3)):
            await bench.bring_up(ctx)
            await bench.until(ctx, lambda: len(a.slots[-1].data) == 64 * 4)
            start, mark = bench.cycle, len(a.slots)
            a.to_send.append((0xBAD, 0))
            a.error = 1
            a.stalls = () if offset is None else (start + down + offset,)
            await bench.until(ctx, lambda: a.status(ctx, "link_state") == LinkState.IDLE)
            down = down or bench.cycle - start
            a.error = 0
            await bench.step(ctx, 15)
            *_, last = (slot for slot in a.slots[mark - 1 :] if slot.kind == TxKind.DATA.value)
            assert not crc_ok(bytes(last.data)) and not b.received
            assert {slot.kind for slot in a.slots[a.slots.index(last) + 1 :]} == {TxKind.IDLE.value}
            await bench.until(ctx, lambda: not ctx.get(b.link.online))

    Bench(latency=LATENCY, seed=4).run(story)


@pytest.mark.req("DL-170", "DL-171", "DL-177")
def test_a_stall_beside_the_end_of_the_link():
    """A fault in the middle of traffic, with the stall from there on: nothing of before comes after it."""

    async def story(bench, ctx):
        a, b = bench.ends
        for downs, offset in enumerate(AROUND, 1):
            await bench.bring_up(ctx)
            await flow(bench, ctx, 200)
            await bench.step(ctx, 5 * (offset % 2))
            a.local_fault = 1
            a.stalls = (bench.cycle + offset,)
            await bench.step(ctx, 40)
            assert a.status(ctx, "link_state") == LinkState.FAULT and a.status(ctx, "link_downs") == downs
            await bench.until(ctx, lambda: not ctx.get(b.link.online))
            assert_whole(bench)
            for end in bench.ends:
                end.to_send.clear()
                end.withdraw(ctx)
            a.local_fault = 0
            await bench.step(ctx, 40)
        await bench.bring_up(ctx)
        await flow(bench, ctx, 20)
        await assert_all_arrive(bench, ctx)

    Bench(latency=LATENCY, seed=3).run(story)
