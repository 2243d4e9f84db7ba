"""The boundary of UPLI and DL clock: order and sessions at random clock ratios, resets, depth under real bursts."""

import random
from fractions import Fraction
from itertools import pairwise

import pytest
from amaranth.hdl import Cat, Fragment, Module, Signal
from amaranth.sim import Simulator

from ualink.config import ConfigError, DLConfig
from ualink.dl.link.clock_boundary import RX_DEPTH, ClockBoundary, required_depth
from ualink_sim.model.dl.pacing import FULL_RATE, REFERENCE_RATE, Pacer

DL_PERIOD = 1e-9


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@pytest.mark.parametrize("depth", [0, 8, 100, True, 64.0])
def test_refuses_depth(depth):
    with pytest.raises(ConfigError, match=f"rx_depth is {depth!r}"):
        ClockBoundary(rx_depth=depth)
    with pytest.raises(ConfigError, match=f"tx_depth is {depth!r}" if depth != 8 else "tx_depth is 2"):
        ClockBoundary(tx_depth=depth if depth != 8 else 2)


def test_default_depth_is_for_the_replay_depth_of_this_project():
    assert required_depth(DLConfig().replay_depth) == RX_DEPTH
    assert [required_depth(depth) for depth in (0, 12, 13, 255)] == [32, 32, 64, 512]


@pytest.mark.parametrize("replay_depth", [-1, 256, True, None])
def test_refuses_replay_depth(replay_depth):
    with pytest.raises(ConfigError, match=f"replay_depth is {replay_depth!r}"):
        required_depth(replay_depth)


class Jitter:
    """A platform whose synchronisers at times see a change one cycle late, never twice in a row, as metastability may.

    The bits of a vector are late together: then it is a value that the writer had before.
    """

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def get_ff_sync(self, synchronizer):
        m = Module()
        sync = m.d[synchronizer._o_domain]
        noise = Signal(16, init=self.rng.randrange(1, 1 << 16))
        late = Signal()
        stages = [Signal.like(synchronizer.i, init=0) for _ in range(synchronizer._stages)]
        sync += noise.eq(Cat(noise[1:], noise[0] ^ noise[2] ^ noise[3] ^ noise[5]))
        sync += late.eq((stages[0] != synchronizer.i) & noise[0] & ~late)
        with m.If(~noise[0] | late):
            sync += stages[0].eq(synchronizer.i)
        for before, after in pairwise(stages):
            sync += after.eq(before)
        m.d.comb += synchronizer.o.eq(stages[-1])
        return m


class Run:
    """Numbered flits both ways while the link flaps; ``got`` and ``sent`` hold (session, number) per side.

    The TL offers flits only while it is online and numbers its sessions itself; both sides note what they saw per
    period of their own ``online``.
    """

    def __init__(self, *, ratio, seed, cycles=None, flap=0.015, load=0.5, reset_tl=0.0, **depths):
        self.rng = random.Random(seed)
        self.dut = ClockBoundary(**depths)
        cycles = cycles or (500 if ratio < 0.3 else 1000 if ratio < 3 else 4000)
        self.cycles, self.flap, self.load, self.reset_tl = cycles, flap, load, reset_tl
        self.tl_got: list[list] = []
        self.dl_got: list[list] = []
        self.dl_sent: list[int] = []
        self.resets = 0
        simulator = Simulator(Fragment.get(self.dut, Jitter(seed)))
        simulator.add_clock(DL_PERIOD, phase=DL_PERIOD * self.rng.random())
        # A ratio with a random tail, so that the phase drifts through all values.
        upli_period = DL_PERIOD * ratio * (1 + 0.01 * self.rng.random())
        simulator.add_clock(upli_period, phase=upli_period * self.rng.random(), domain="upli")
        simulator.add_testbench(self.data_link)
        simulator.add_testbench(self.transaction_layer, background=True)
        simulator.run()

    def lawful(self, ctx):
        return ctx.get(self.dut.ready)

    async def data_link(self, ctx):
        dut, rng = self.dut, self.rng
        online, session, number, rest = 0, -1, 0, 0
        for _ in range(self.cycles):
            if online and (rng.random() < self.flap or (not ctx.get(dut.ready) and rng.random() < 0.05)):
                online, rest = 0, rng.choice((0, 1, 2, 5, 30))
            elif not online and rest:
                rest -= 1
            elif not online and self.lawful(ctx):
                online, session, number = 1, session + 1, 0
                self.dl_sent.append(0)
                self.dl_got.append([])
            ctx.set(dut.dl_online, online)
            # Slow enough that the FIFO has room: depth is for other tests.
            sends = online and number < 8 + 4 * rng.random()
            ctx.set(dut.dl_rx_flit.valid, sends)
            ctx.set(dut.dl_rx_flit.p.data, session << 32 | number)
            takes = rng.random() < self.load
            ctx.set(dut.dl_tx_flit.ready, takes)
            if sends:
                number += 1
                self.dl_sent[-1] = number
            if ctx.get(dut.dl_tx_flit.valid) and takes:
                assert online, "a flit for a link that is offline"
                self.dl_got[-1].append(self.split(ctx.get(dut.dl_tx_flit.p.data)))
            await ctx.tick()

    async def transaction_layer(self, ctx):
        dut, rng = self.dut, random.Random(self.rng.random())
        was_online, session, number = 0, -1, 0
        while True:
            resets = rng.random() < self.reset_tl
            if resets:
                ctx.set(dut.tl_reset, 1)
                ctx.set(dut.tl_tx_flit.valid, 0)
                for _ in range(rng.choice((1, 2, 7))):
                    assert not ctx.get(dut.tl_online)
                    await ctx.tick("upli")
                ctx.set(dut.tl_reset, 0)
                was_online = 0
                self.resets += 1
            online = ctx.get(dut.tl_online)
            if online and not was_online:
                session, number = session + 1, 0
                self.tl_got.append([])
            was_online = online
            if ctx.get(dut.tl_rx_flit.valid):
                assert online, "a flit for a TL that is offline"
                self.tl_got[-1].append(self.split(ctx.get(dut.tl_rx_flit.p.data)))
            offers = online and rng.random() < self.load
            ctx.set(dut.tl_tx_flit.valid, offers)
            ctx.set(dut.tl_tx_flit.p.data, session << 32 | number)
            number += offers and ctx.get(dut.tl_tx_flit.ready)
            await ctx.tick("upli")

    @staticmethod
    def split(data):
        return data >> 32, data & 0xFFFF_FFFF

    def check(self):
        """What a side saw in one online period comes from one session of the other side, in order, from its start."""
        for seen in (self.tl_got, self.dl_got):
            before = -1
            for period in seen:
                assert len({session for session, _ in period}) <= 1, "two sessions in one"
                assert [number for _, number in period] == list(range(len(period))), "lost, doubled or out of order"
                if period:
                    assert period[0][0] > before, "a flit of an old session"
                    before = period[0][0]


RATIOS = (0.1, 0.37, 0.99, 1.02, 3.3, 10.0)
"""UPLI period over DL period, and so DL clock over UPLI clock."""


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("seed", range(2))
def test_sessions_at_any_clock_ratio(ratio, seed):
    run = Run(ratio=ratio, seed=seed)
    run.check()
    assert len(run.dl_sent) > 3 and len(run.tl_got) > 3
    assert sum(map(len, run.tl_got)) > 30 and sum(map(len, run.dl_got)) > 10


@pytest.mark.parametrize("ratio", [0.1, 1.0, 10.0])
def test_undisturbed_session_delivers_all(ratio):
    run = Run(ratio=ratio, seed=5, flap=0, cycles=600, load=1.0)
    run.check()
    assert [len(period) for period in run.tl_got] == run.dl_sent
    assert len(run.dl_got[0]) > 500 / max(1, ratio)


@pytest.mark.parametrize("ratio", [0.1, 0.9, 1.1, 10.0])
@pytest.mark.parametrize("seed", range(2))
def test_flapping_without_waiting(ratio, seed):
    """A DL that does not wait for ``ready`` loses flits, sees so, but no session gets flits of another."""

    class Unruly(Run):
        def lawful(self, ctx):
            return True

    run = Unruly(ratio=ratio, seed=seed, flap=0.08)
    run.check()
    assert len(run.tl_got) < len(run.dl_sent)


@pytest.mark.req("RST-015")
@pytest.mark.parametrize("ratio", [0.1, 0.7, 1.3, 10.0])
@pytest.mark.parametrize("seed", range(2))
def test_upli_reset_ends_the_session(ratio, seed):
    run = Run(ratio=ratio, seed=seed, flap=0.003, reset_tl=0.01 * min(3, ratio))
    run.check()
    assert run.resets > 1 and len(run.dl_sent) > 1
    assert sum(map(len, run.tl_got)) > 10


def test_upli_reset_is_seen_at_once():
    """The session ends although the link stays up, and begins anew only when the DL has taken it down."""
    dut = ClockBoundary()

    async def data_link(ctx):
        await ctx.tick().until(dut.ready)
        ctx.set(dut.dl_online, 1)
        await ctx.tick().repeat(20)
        assert ctx.get(dut.tl_online) and ctx.get(dut.ready)
        ctx.set(dut.tl_reset, 1)
        await ctx.tick("upli")
        await ctx.tick("upli")
        ctx.set(dut.tl_reset, 0)
        await ctx.tick().repeat(100)
        assert not ctx.get(dut.tl_online) and not ctx.get(dut.ready)
        ctx.set(dut.dl_online, 0)
        await ctx.tick().until(dut.ready)
        ctx.set(dut.dl_online, 1)
        await ctx.tick().repeat(20)
        assert ctx.get(dut.tl_online) and not ctx.get(dut.overflow)

    simulator = Simulator(dut)
    simulator.add_clock(DL_PERIOD)
    simulator.add_clock(1.7 * DL_PERIOD, domain="upli")
    simulator.add_testbench(data_link)
    simulator.run_until(1000 * DL_PERIOD)


ROOM = (16, 16, 16, 16, 16, 16, 16, 15, 16, 14)
"""Sectors of the ten half segments of a DL flit (UALink_200 §6.3.1)."""


def deliveries(dl_flits, rate, wanted):
    """TL flits that each of ``dl_flits`` DL flits completes, None for a NOP flit, behind a pacer at ``rate``."""
    pacer, carried, result = Pacer(), 0, []
    for n in range(dl_flits):
        completed, payload = 0, False
        for room in ROOM:
            payload |= carried > 0
            completed += carried > 0
            position, carried = carried, 0
            # A pacer of None admits whatever fits.
            if position < room and (wanted(n) if rate is None else pacer.tick(wanted(n), rate)):
                payload = True
                carried = max(0, position + 16 - room)
                completed += carried == 0
            elif position >= room and rate is not None:
                pacer.tick(False, rate)
        result.append(completed if payload else None)
    return result


def overflows(rate, bursts, *, rx_depth=RX_DEPTH, seed=0):
    """Feed what the unpacker delivers in ten cycles per DL flit, back to back; the UPLI clock is at ``rate``."""
    dut = ClockBoundary(rx_depth=rx_depth)
    result = []

    async def data_link(ctx):
        ctx.set(dut.dl_online, 0)
        for _ in range(400):
            if ctx.get(dut.ready):
                break
            await ctx.tick()
        ctx.set(dut.dl_online, 1)
        number = 0
        for burst in bursts:
            for cycle in range(10):
                ctx.set(dut.dl_rx_flit.valid, cycle < burst)
                ctx.set(dut.dl_rx_flit.p.data, number)
                number += cycle < burst
                await ctx.tick()
        ctx.set(dut.dl_rx_flit.valid, 0)
        await ctx.tick().repeat(3)
        result.append(ctx.get(dut.overflow))
        assert ctx.get(dut.ready) == (not result[0])
        await ctx.tick().repeat(10 * 2 * rx_depth)
        # Nothing beyond the first flit that was lost.
        assert received == list(range(len(received)))
        assert (len(received) == number) == (not result[0])

    received = []

    async def transaction_layer(ctx):
        while True:
            if ctx.get(dut.tl_rx_flit.valid):
                received.append(ctx.get(dut.tl_rx_flit.p.data))
            await ctx.tick("upli")

    simulator = Simulator(dut)
    rng = random.Random(seed)
    upli_period = DL_PERIOD * float(Fraction(FULL_RATE, rate))
    simulator.add_clock(DL_PERIOD, phase=DL_PERIOD * rng.random())
    simulator.add_clock(upli_period, phase=upli_period * rng.random(), domain="upli")
    simulator.add_testbench(data_link)
    simulator.add_testbench(transaction_layer, background=True)
    simulator.run()
    return bool(result[0])


def longest_backlog(bursts, rate):
    """Flits that wait for an ideal reader at ``rate``, ten ticks for each burst."""
    waiting = worst = credit = 0
    for burst in bursts:
        for cycle in range(10):
            waiting += cycle < burst
            worst = max(worst, waiting)
            credit += rate
            if credit >= FULL_RATE:
                credit -= FULL_RATE
                waiting -= waiting > 0
    return worst


def pauses(length):
    return lambda n: n // length % 2 == 0


@pytest.mark.req("DL-008", "DL-051", "DL-108", "DL-109", "DL-111")
@pytest.mark.parametrize("rate", [REFERENCE_RATE, 10_417, 20_000, 30_664, FULL_RATE])
def test_paced_flits_never_overflow(rate):
    """156.25 to 1562.5 MHz; the partner's pacer is the model, its bursts those of an unpacker."""
    bursts = [burst or 0 for burst in deliveries(60, rate, lambda n: True)]
    assert max(bursts) == -(-10 * rate // FULL_RATE) or (rate >= 30_664 and max(bursts) == 10)
    assert not overflows(rate, bursts)
    # What makes the default as deep as it is comes from replays alone.
    assert not overflows(rate, bursts, rx_depth=required_depth(0), seed=1)


@pytest.mark.req("DL-008", "DL-108")
@pytest.mark.parametrize("rate", [REFERENCE_RATE, 10_417, 20_000])
def test_unpaced_flits_overflow(rate):
    bursts = [burst or 0 for burst in deliveries(60, None, lambda n: True)]
    assert overflows(rate, bursts)


@pytest.mark.req("DL-108")
def test_replay_leaves_out_what_kept_payload_flits_apart():
    """The worst pattern: two flits to a DL flit at a pace of 1.28, NOP flits between; then 64 of them replayed."""
    rate = 4_000
    sent = deliveries(400, rate, pauses(1))
    replayed = [burst for burst in sent if burst is not None][:64]
    assert len(replayed) == 64
    assert not overflows(rate, replayed)
    assert overflows(rate, replayed, rx_depth=required_depth(0))


@pytest.mark.req("DL-108")
@pytest.mark.parametrize("rate", [3_126, 4_000, 6_300, 9_400, 12_600, 15_626, 18_800, 25_001, 28_126, 31_249])
def test_required_depth_holds_for_every_pattern(rate):
    """Backlog for an ideal reader, less than what ``required_depth`` adds for the FIFO's own delays (8 flits)."""
    rng = random.Random(rate)
    patterns = [lambda n: True, lambda n: rng.random() < 0.3, *map(pauses, (1, 2, 3, 7))]
    for wanted in patterns:
        sent = deliveries(1200, rate, wanted)
        assert longest_backlog([burst or 0 for burst in sent], rate) <= 12
        payload = [burst for burst in sent if burst is not None]
        for count in (64, 255):
            assert longest_backlog(payload[:count], rate) + 8 <= required_depth(count)
            assert longest_backlog(payload[:count], rate) <= 12 + count
