"""Two whole data links back to back: bring-up, traffic, rate, latency, link down and restart.

What happens at a short and at a long round trip CI looks at with one of them; ``make soak`` (UALINK_SOAK=1) with both.
"""

import os
from itertools import pairwise

import pytest

from support.link_bench import CONFIG, DATA_LINKS, Bench
from ualink.dl.interface import LinkState
from ualink.phy.interface import TxKind
from ualink_sim.model.dl.flit import DLFlit, crc_ok
from ualink_sim.model.dl.header import ExplicitHeader, decode_header

pytestmark = DATA_LINKS

WHOLE = bool(os.environ.get("UALINK_SOAK"))

IDLE, DATA, REMOTE_FAULT = TxKind.IDLE.value, TxKind.DATA.value, TxKind.REMOTE_FAULT.value


def flits(end):
    """Every DL flit that went out, decoded, with its header; all with good CRC."""
    for slot in end.slots:
        if slot.kind == DATA and len(slot.data) == 640:
            assert crc_ok(bytes(slot.data))
            yield slot, DLFlit.decode(bytes(slot.data)), decode_header(slot.header)


@pytest.mark.req("DL-062", "DL-073", "DL-076", "DL-143", "DL-159", "DL-171", "DL-172", "DL-173", "DL-175")
def test_bring_up():
    async def story(bench, ctx):
        await bench.until(ctx, lambda: all(end.status(ctx, "link_state") == LinkState.UP for end in bench.ends))
        for end in bench.ends:
            kinds = [slot.kind for slot in end.slots]
            idle = kinds.index(DATA)
            assert idle > CONFIG.idle_flit_times
            assert set(kinds[:idle]) == {IDLE} and set(kinds[idle:]) == {DATA}
            nops = list(flits(end))
            assert len(nops) >= 9
            for n, (_, flit, header) in enumerate(nops[:10]):
                assert not header.payload and not any(flit.segment_headers) and not any(flit.sectors)
                assert isinstance(header, ExplicitHeader) == (n == 6)
                assert (header.flit_seq_no == 511) if n == 6 else (header.ack_req_seq, header.flit_seq_lo) == (511, 7)
        for end in bench.ends:
            end.to_send.append((1, 0))
        await bench.bring_up(ctx)
        for end in bench.ends:
            assert not end.received
            for _, flit, _ in flits(end):
                assert not any(header & 0x90 for header in flit.segment_headers)
        await bench.exchange(ctx, 10)

    Bench().run(story)


@pytest.mark.req("DL-001", "DL-018", "DL-119", "DL-143", "DL-158", "DL-159", "DL-160", "DL-164", "DL-176")
@pytest.mark.parametrize(("ready", "offer"), [(1.0, 1.0), (0.7, 1.0), (0.9, 0.2)])
def test_clean_traffic(ready, offer):
    async def story(bench, ctx):
        for end in bench.ends:
            end.ready, end.offer = ready, offer
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 120)
        for end in bench.ends:
            numbers = [header for _, _, header in flits(end) if header.payload]
            low = [h.flit_seq_no & 7 if isinstance(h, ExplicitHeader) else h.flit_seq_lo for h in numbers]
            assert low == [(n + 1) & 7 for n in range(len(low))]
            explicit = [isinstance(header, ExplicitHeader) for _, _, header in flits(end)]
            assert explicit == [n % 7 == 6 for n in range(len(explicit))]
            for name in ("crc_errors", "replays_requested", "dropped_flits", "protocol_errors", "commands_ignored"):
                assert end.status(ctx, name) == 0
            assert end.status(ctx, "payload_flits_sent") == len(numbers)
            assert abs(end.status(ctx, "flits_sent") - len(explicit)) <= 1

    Bench(seed=int(ready * 10)).run(story)


@pytest.mark.req("DL-120", "DL-158", "DL-159", "DL-166")
def test_saturated_rate():
    """157 TL flits in 16 DL flits, without a bubble, when TxReplay covers the round trip."""

    async def story(bench, ctx):
        await bench.bring_up(ctx)
        bench.a.to_send.extend((n, 0) for n in range(400))
        await bench.until(ctx, lambda: len(bench.b.received) > 5)
        start, before = bench.cycle, len(bench.b.received)
        await bench.step(ctx, 320)
        assert len(bench.b.received) - before == 2 * 157
        slots = [slot for slot in bench.a.slots if slot.start >= start]
        assert all(b.start - a.start == 10 for a, b in pairwise(slots))

    Bench().run(story)


def test_latency():
    """Four cycles from TL to wire; seven from the last beat on the wire to the first TL flit."""

    async def story(bench, ctx):
        await bench.bring_up(ctx)
        await bench.step(ctx, 100)
        a, b = bench.ends
        # A flit that starts with the first beat of a DL flit is the first of its payload.
        await bench.until(ctx, lambda: len(a.slots[-1].data) == 64 * 6)
        a.to_send.append((0x1234, 0))
        await bench.step(ctx)
        taken = bench.cycle - 1
        assert a.sent
        await bench.step(ctx, 4)
        slot = a.slots[-1]
        assert slot.start == taken + 4
        assert slot.data[0:2] == b"\x34\x12"
        await bench.until(ctx, lambda: b.received)
        assert bench.cycle - 1 == slot.start + 9 + bench.latency + 7

    Bench().run(story)


@pytest.mark.req("DL-167", "DL-121", "DL-122", "DL-157")
def test_full_replay_buffer():
    """TxReplay too small for the round trip: NOP flits in between, and nothing lost."""

    async def story(bench, ctx):
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 150)
        for end in bench.ends:
            payload = [header.payload for _, _, header in flits(end)]
            first = payload.index(True) + 5
            burst = payload[first : first + 60]
            assert True in burst and False in burst
            assert bench.most_held[end.name] == 3

    Bench(latency=80, config=CONFIG.replace(replay_depth=3)).run(story)


@pytest.mark.req("DL-074", "DL-076", "DL-082")
def test_channel_goes_offline_and_online():
    async def story(bench, ctx):
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 20)
        for end in bench.ends:
            ctx.set(end.link.config.channel_0_online, 0)
        await bench.until(ctx, lambda: not any(end.status(ctx, "online") for end in bench.ends))
        await bench.step(ctx, 60)
        for end in bench.ends:
            assert end.status(ctx, "link_state") == LinkState.UP
            end.to_send.append((5, 0))
            end.received.clear()
        mark = [len(end.slots) for end in bench.ends]
        await bench.step(ctx, 100)
        for end, n in zip(bench.ends, mark):
            assert not any(DLFlit.decode(bytes(slot.data)).segment_headers != [0] * 5 for slot in end.slots[n:-1])
            assert not end.received
            ctx.set(end.link.config.channel_0_online, 1)
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 20)

    Bench().run(story)


@pytest.mark.soak
@pytest.mark.req("DL-170", "DL-171", "DL-177")
@pytest.mark.parametrize("latency", [5, 150] if WHOLE else [150])
def test_fault_and_restart(latency):
    """A fault in mid-traffic, also with a round trip longer than the stay in Idle: no flit of before turns up later."""

    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        for end in bench.ends:
            end.to_send.extend((n, 1) for n in range(1000))
        await bench.step(ctx, 2 * latency + 111)
        a.local_fault = 1
        await bench.step(ctx, 2 * latency + 60)
        assert [end.status(ctx, "link_state") for end in bench.ends] == [LinkState.FAULT] * 2
        assert a.slots[-1].kind == REMOTE_FAULT and b.slots[-1].kind == IDLE
        for end, other in (bench.ends, bench.ends[::-1]):
            assert end.status(ctx, "link_downs") == 1
            assert 0 < len(end.received) <= len(other.sent)
            assert end.received == other.sent[: len(end.received)]
            assert not ctx.get(end.link.online) and not ctx.get(end.link.tx_flit.ready)
            end.to_send.clear()
            end.received.clear()
            end.withdraw(ctx)
        a.local_fault = 0
        await bench.bring_up(ctx)
        assert not a.received and not b.received
        await bench.exchange(ctx, 30)
        for end in bench.ends:
            assert end.status(ctx, "dropped_flits") == 0

    Bench(latency=latency, config=CONFIG.replace(replay_depth=64)).run(story)


@pytest.mark.soak
@pytest.mark.req("DL-172", "DL-177")
@pytest.mark.parametrize("latency", [5, 150] if WHOLE else [5])
def test_one_side_loses_patience(latency):
    """Forward progress fails at one end because the other hears nothing; both restart without old flits."""

    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 20)
        bench.fate = lambda end, number: "lost" if end is a else None
        for end in bench.ends:
            end.sent.clear()
            end.received.clear()
            end.to_send.extend((n, 2) for n in range(1000))
        await bench.until(ctx, lambda: a.status(ctx, "link_state") == LinkState.IDLE)
        await bench.step(ctx)
        assert ctx.get(a.link.status.link_downs) == 1
        await bench.until(ctx, lambda: b.status(ctx, "link_state") == LinkState.IDLE)
        assert b.received == a.sent[: len(b.received)]
        for end in bench.ends:
            end.to_send.clear()
            end.withdraw(ctx)
        bench.fate = lambda end, number: None
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 30)

    Bench(latency=latency, config=CONFIG.replace(replay_depth=64), control={"tx_ack_time_out": 100}).run(story)


@pytest.mark.req("DL-182", "DL-177")
def test_egress_error():
    """An errored TL flit: its DL flit goes out with all CRC bits inverted, and no DL flit after it."""

    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 12)
        a.to_send.append((0xBAD, 0))
        a.error = 1
        mark = len(a.slots)
        await bench.until(ctx, lambda: a.status(ctx, "link_state") == LinkState.IDLE)
        a.error = 0
        await bench.step(ctx, 40)
        last = [slot for slot in a.slots[mark - 1 :] if slot.kind == DATA][-1]
        data = bytes(last.data)
        assert not crc_ok(data)
        assert crc_ok(data[:636] + bytes(255 - byte for byte in data[636:]))
        assert {slot.kind for slot in a.slots[a.slots.index(last) + 1 :]} == {IDLE}
        assert (0xBAD, 0) not in b.received
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 12)

    Bench().run(story)


@pytest.mark.req("DL-177", "TL-113")
def test_an_error_of_the_tl_restarts_the_link():
    """It stands until ``online`` falls, as the TL shows it; the partner follows, and both exchange flits again."""

    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 12)
        ctx.set(a.link.tl_error, 1)
        await bench.until(ctx, lambda: not ctx.get(a.link.online))
        ctx.set(a.link.tl_error, 0)
        assert a.status(ctx, "link_state") == LinkState.IDLE
        await bench.until(ctx, lambda: not ctx.get(b.link.online))
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 12)
        assert [end.status(ctx, "link_downs") for end in bench.ends] == [1, 1]

    Bench().run(story)
