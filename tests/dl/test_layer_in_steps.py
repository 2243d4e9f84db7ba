"""Two whole data links whose beats are four cycles apart or more, on a wire that is slower still: bring-up, traffic,
losses, messages, containment, pacing, and a neighbouring event in each cycle of a beat.

CI looks at each number of cycles once; ``make soak`` (UALINK_SOAK=1) also at a slow wire with the other one.
"""

import os
from itertools import pairwise

import pytest

from support.link_bench import CONFIG, DATA_LINKS, Bench, End
from ualink.dl.flit.error_injection import InjectionPoint
from ualink.dl.interface import LinkState
from ualink.dl.registers.firmware import FULL_RATE
from ualink.phy.interface import BEATS_PER_FLIT, TxKind
from ualink_sim.model.dl.flit import crc_ok
from ualink_sim.model.dl.header import ExplicitHeader, decode_header

pytestmark = DATA_LINKS

WHOLE = bool(os.environ.get("UALINK_SOAK"))

STEPS = 4
IN_STEPS = CONFIG.replace(cycles_per_beat=STEPS)
LATENCY = 60
LIMIT = 20_000
WORDS = 12


class Paced:
    """The cycles in which a wire of ``period`` cycles a beat, on average, takes none."""

    def __init__(self, period: float):
        self._period = period

    def __contains__(self, cycle: int) -> bool:
        return int((cycle + 1) / self._period) == int(cycle / self._period)


class Spaced(Bench):
    """A bench that watches how far apart the beats are; ``sent_at`` has the cycles in which those of end a went."""

    def __init__(self, *, config=IN_STEPS, latency=LATENCY, period=None, **more):
        super().__init__(config=config, latency=latency, **more)
        self._apart = config.cycles_per_beat
        self._last = {"a": -self._apart, "b": -self._apart}
        self.sent_at: list[int] = []
        if period is not None:
            for end in self.ends:
                end.stalls = Paced(period)

    def _send(self, ctx, end):
        assert self.cycle - self._last[end.name] >= self._apart
        self._last[end.name] = self.cycle
        if end is self.a:
            self.sent_at.append(self.cycle)
        super()._send(ctx, end)

    async def bring_up(self, ctx):
        await self.until(ctx, lambda: all(end.status(ctx, "online") for end in self.ends), LIMIT)

    async def exchange(self, ctx, flits, limit=LIMIT):
        await super().exchange(ctx, flits, limit)


def assert_whole(bench):
    """What was taken arrived so far, in order, and every DL flit that went out has a good CRC."""
    for end, other in (bench.ends, bench.ends[::-1]):
        assert end.received == other.sent[: len(end.received)]
        for slot in end.slots:
            assert slot.kind != TxKind.DATA.value or len(slot.data) < 640 or crc_ok(bytes(slot.data))


def assert_clean(bench, ctx):
    for end in bench.ends:
        for name in ("crc_errors", "replays_requested", "dropped_flits", "protocol_errors", "commands_ignored"):
            assert end.status(ctx, name) == 0


@pytest.mark.req("DL-001", "DL-018", "DL-119", "DL-158", "DL-159", "DL-160", "DL-164", "DL-166")
@pytest.mark.soak
@pytest.mark.parametrize(("steps", "period"), [(4, None), (4, 5.28), (2, 2.64)] if WHOLE else [(4, None), (2, 2.64)])
def test_traffic_fills_the_wire(steps, period):
    """157 TL flits in 16 DL flits, whether the wire takes a beat every fourth cycle or is slower than that."""

    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        b.to_send.extend((n, 0) for n in range(30))
        a.to_send.extend((n, 0) for n in range(400))
        await bench.until(ctx, lambda: len(b.received) > 5)
        start = len(a.slots)
        await bench.until(ctx, lambda: len(a.slots) == start + 1)
        before = len(a.sent)
        await bench.until(ctx, lambda: len(a.slots) == start + 17)
        assert len(a.sent) - before == 157
        starts = [slot.start for slot in a.slots[start : start + 17]]
        assert starts[-1] - starts[0] == pytest.approx(160 * (period or steps), abs=2)
        low = [
            header.flit_seq_no & 7 if isinstance(header, ExplicitHeader) else header.flit_seq_lo
            for slot in a.slots
            if slot.kind == TxKind.DATA.value and len(slot.data) == 640
            if (header := decode_header(slot.header)).payload
        ]
        assert low == [(n + 1) & 7 for n in range(len(low))]
        assert_whole(bench)
        assert_clean(bench, ctx)

    Spaced(config=CONFIG.replace(cycles_per_beat=steps), period=period).run(story)


@pytest.mark.req("DL-004", "DL-119", "DL-123", "DL-128", "DL-140", "DL-154", "DL-155", "DL-180")
@pytest.mark.parametrize(("steps", "seed"), [(4, 1), (2, 3)])
def test_losses_and_bit_errors(steps, seed):
    """Flits lost, spoilt and both in a row, both ways at once: nothing is lost, doubled or out of order."""

    async def story(bench, ctx):
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 20)
        fates = {("a", len(bench.a.slots) + 3): "lost", ("b", len(bench.b.slots) + 4): "corrupt"}

        def fate(end, number):
            if (end.name, number) not in fates:
                fates[end.name, number] = bench.rng.choice(["lost", "corrupt"]) if bench.rng.random() < 0.12 else None
            return fates[end.name, number]

        bench.fate = fate
        for end in bench.ends:
            end.ready, end.offer = 0.9, 0.8 / steps
        await bench.exchange(ctx, 100)
        assert all(end.status(ctx, "replays_accepted") > 0 for end in bench.ends)
        assert any(end.status(ctx, "crc_errors") > 0 for end in bench.ends)
        assert any(end.status(ctx, "lost_flits") > 0 for end in bench.ends)

    config = CONFIG.replace(cycles_per_beat=steps)
    Spaced(config=config, seed=seed, period=1.32 * steps, control={"rx_replay_limit": 20}).run(story)


@pytest.mark.req("DL-002", "DL-005", "DL-007", "DL-037")
def test_messages_beside_tl_flits():
    async def story(bench, ctx):
        devices = {"a": {"id": 0x155, "type": 1, "valid": 1}, "b": {"id": 0x2AA, "type": 0, "valid": 1}}
        for end in bench.ends:
            ctx.set(end.link.config.local_device, devices[end.name])
            ctx.set(end.link.config.channel_4_online, 1)
        await bench.bring_up(ctx)
        await bench.until(ctx, lambda: all(end.status(ctx, "online_4") for end in bench.ends), LIMIT)
        for end in bench.ends:
            ctx.set(end.link.config.ask_device, 1)
            end.to_send.extend((bench.rng.getrandbits(512), 0) for _ in range(50))
        written = {end.name: [bench.rng.getrandbits(32) for _ in range(WORDS)] for end in bench.ends}
        to_write = {name: list(words) for name, words in written.items()}
        read: dict[str, list[int]] = {"a": [], "b": []}

        async def pass_words():
            for end in bench.ends:
                link, words = end.link, to_write[end.name]
                ctx.set(link.uart_tx.valid, bool(words))
                ctx.set(link.uart_tx.payload, words[0] if words else 0)
                ctx.set(link.uart_rx.ready, 1)
                if words and ctx.get(link.uart_tx.ready):
                    words.pop(0)
                if ctx.get(link.uart_rx.valid):
                    read[end.name].append(ctx.get(link.uart_rx.payload))
            await bench.step(ctx)

        for _ in range(4000):
            await pass_words()
            if len(read["a"]) == len(read["b"]) == WORDS and not bench.a.to_send and not bench.b.to_send:
                break
        await bench.step(ctx, 400)
        for end, other in (bench.ends, bench.ends[::-1]):
            assert read[end.name] == written[other.name]
            assert end.received == other.sent and len(end.received) == 50
            told = ctx.get(end.link.status.partner_device)
            assert {"id": told.id, "type": told.type, "valid": told.valid} == devices[other.name]
            assert end.status(ctx, "device_answered")
            assert end.status(ctx, "protocol_errors") == end.status(ctx, "unknown_messages") == 0

    Spaced(period=5.28, seed=4).run(story)


@pytest.mark.req("DL-179", "DL-181", "DL-182", "DL-177")
def test_errors_on_demand():
    """Each injection point does what it does on links with a beat a cycle, and the link works again after it."""
    harmless = {
        InjectionPoint.SENT_CRC: ("b", "crc_errors"),
        InjectionPoint.SENT_BIT: ("b", "crc_errors"),
        InjectionPoint.RECEIVED_CRC: ("a", "crc_errors"),
    }
    contained = {
        InjectionPoint.EGRESS_DATA: "egress_containments",
        InjectionPoint.EGRESS_CONTROL: "egress_containments",
        InjectionPoint.INGRESS_DATA: "ingress_containments",
        InjectionPoint.INGRESS_CONTROL: "ingress_containments",
    }

    async def story(bench, ctx):
        a, b = bench.ends
        config = a.link.config
        ctx.set(config.inject_enable, 1)

        async def inject(point):
            ctx.set(config.inject_select, point)
            ctx.set(config.inject, 1)
            await bench.step(ctx)
            ctx.set(config.inject, 0)

        for point, (name, counter) in harmless.items():
            await bench.bring_up(ctx)
            end = a if name == "a" else b
            before = end.status(ctx, counter)
            await inject(point)
            await bench.exchange(ctx, 20)
            assert end.status(ctx, counter) == before + 1, point
        for point, counter in contained.items():
            await bench.bring_up(ctx)
            for end in bench.ends:
                end.sent.clear()
                end.received.clear()
                end.marked = 0
                end.to_send.extend((bench.rng.getrandbits(512), 1) for _ in range(40))
            before = a.status(ctx, counter)
            await inject(point)
            await bench.until(ctx, lambda: a.status(ctx, "link_state") == LinkState.IDLE, LIMIT)
            await bench.step(ctx, 3)
            assert a.status(ctx, counter) == before + 1, point
            await bench.until(ctx, lambda: not b.status(ctx, "online"), LIMIT)
            for end, other in (bench.ends, bench.ends[::-1]):
                assert end.received == other.sent[: len(end.received)]
                end.to_send.clear()
                end.withdraw(ctx)
                end.marked = 0
        await bench.bring_up(ctx)
        await bench.exchange(ctx, 15)

    Spaced(seed=6).run(story)


@pytest.mark.req("DL-170", "DL-171", "DL-177")
def test_fault_and_restart():
    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        for end in bench.ends:
            end.to_send.extend((n, 1) for n in range(1000))
        await bench.step(ctx, 500)
        a.local_fault = 1
        await bench.until(
            ctx, lambda: all(end.status(ctx, "link_state") == LinkState.FAULT for end in bench.ends), LIMIT
        )
        for end, other in (bench.ends, bench.ends[::-1]):
            assert 0 < len(end.received) <= len(other.sent)
            assert end.received == other.sent[: len(end.received)]
            end.to_send.clear()
            end.received.clear()
            end.withdraw(ctx)
        a.local_fault = 0
        await bench.bring_up(ctx)
        assert not a.received and not b.received
        await bench.exchange(ctx, 15)
        assert_clean(bench, ctx)

    Spaced(period=5.28).run(story)


@pytest.mark.req("DL-112")
def test_a_rate_is_one_of_beats():
    """Pacing counts beats of the line, not cycles."""

    async def story(bench, ctx):
        a, b = bench.ends
        await bench.bring_up(ctx)
        a.to_send.extend((n, 0) for n in range(400))
        for rate in (FULL_RATE // 2, FULL_RATE // 5):
            ctx.set(a.link.config.pace, rate)
            await bench.step(ctx, 20)
            beats, before = len(bench.sent_at), len(a.sent)
            await bench.step(ctx, 700)
            beats, flits = len(bench.sent_at) - beats, len(a.sent) - before
            assert flits == pytest.approx(beats * rate / FULL_RATE, abs=2)
        await bench.step(ctx, 400)
        assert b.received == a.sent[: len(b.received)]

    Spaced(period=5.28).run(story)


class Once:
    """``length`` cycles from the one ``after`` that in which beat ``beat`` of a slot could go at the earliest."""

    def __init__(self, end: End, beat: int, after: int, length: int):
        self._end, self._beat, self._after, self._length = end, beat, after, length
        self._seen = self._at = None

    def __contains__(self, cycle: int) -> bool:
        beat = len(self._end.slots[-1].data) // 64 % BEATS_PER_FLIT
        if self._at is None and self._seen is not None and self._seen != beat == self._beat:
            self._at = cycle + self._after
        self._seen = beat
        return self._at is not None and self._at <= cycle < self._at + self._length


@pytest.mark.req("DL-120", "DL-158", "DL-159", "DL-166")
def test_a_stall_in_each_cycle_of_a_beat():
    """Of one cycle and of some, in the first beat of a slot, in the middle and in the last; a TL flit that is offered
    meanwhile, and a message, go with one of the beats to come."""

    async def story(bench, ctx):
        a, b = bench.ends
        ctx.set(a.link.config.channel_4_online, 1)
        ctx.set(b.link.config.channel_4_online, 1)
        await bench.bring_up(ctx)
        await bench.until(ctx, lambda: all(end.status(ctx, "online_4") for end in bench.ends), LIMIT)
        word = 0x5A17_0000
        ctx.set(b.link.uart_rx.ready, 1)
        a.offer = 0.2
        places = [(after, beat, length) for after in range(STEPS) for beat, length in ((0, 1), (5, 7), (9, 3))]
        for after, beat, length in places:
            a.stalls = Once(a, beat, after, length)
            a.to_send.extend((bench.rng.getrandbits(512), 2) for _ in range(8))
            word += 1
            ctx.set(a.link.uart_tx.valid, 1)
            ctx.set(a.link.uart_tx.payload, word)
            while not ctx.get(a.link.uart_tx.ready):
                await bench.step(ctx)
            await bench.step(ctx)
            ctx.set(a.link.uart_tx.valid, 0)
            await bench.until(ctx, lambda: ctx.get(b.link.uart_rx.valid), LIMIT)
            assert ctx.get(b.link.uart_rx.payload) == word
            await bench.step(ctx)
        await bench.until(ctx, lambda: len(b.received) == 8 * len(places), LIMIT)
        assert b.received == a.sent
        gaps = [after - before for before, after in pairwise(bench.sent_at)]
        assert set(gaps) > {STEPS} and min(gaps) == STEPS
        assert_whole(bench)
        assert_clean(bench, ctx)

    Spaced(seed=7).run(story)
