"""Drop gate: transfers pass whole or are dropped whole; random traffic, both edges, and a proof."""

import random
from collections import deque

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from support.formal import BITWUZLA, prove
from ualink.config import ConfigError
from ualink.tl.session.drop_gate import BEATS_UNDER_WAY, DropGate

CHANNELS = ("req", "orig_data", "rd_rsp", "wr_rsp")
READ, WRITE = 0x03, 0x28


class Producer:
    """Beats of one channel as (transfer, payload): ``transfer`` numbers the transfers of the channel."""

    def __init__(self, beats):
        self.waiting = deque(beats)
        self.offered = False


def transfers(rng, count):
    """Beats of ``count`` transfers of each kind, in the order of their channels."""
    beats = {channel: [] for channel in CHANNELS}
    for n in range(count):
        cmd, num_beats = rng.choice((READ, WRITE, WRITE)), rng.randrange(4)
        beats["req"].append((n, {"cmd": cmd, "num_beats": num_beats, "tag": n}))
        if cmd == WRITE:
            beats["orig_data"] += [(n, {"data": n << 2 | beat, "offset": beat}) for beat in range(num_beats + 1)]
        num_beats = rng.randrange(4)
        beats["rd_rsp"] += [(n, {"num_beats": num_beats, "tag": n, "offset": b}) for b in range(num_beats + 1)]
        beats["wr_rsp"].append((n, {"tag": n}))
    return beats


class Outcome:
    """Per channel the beats that passed and those that were dropped, and the cycles with ``dropping``."""

    def __init__(self):
        self.passed = {channel: [] for channel in CHANNELS}
        self.dropped = {channel: [] for channel in CHANNELS}


def run(beats, dropping, *, valid=0.7, ready=0.7, cycles=3000, seed=0, lag=0.0):
    """Offer ``beats``; while ``dropping(cycle)`` the transmitter takes nothing but beats of what it had begun.

    ``lag``: probability that an OrigData beat keeps waiting although its Request has been accepted.
    """
    rng, dut, outcome = random.Random(seed), DropGate(), Outcome()
    producers = {channel: Producer(beats[channel]) for channel in CHANNELS}
    begun = {"orig_data": 0, "rd_rsp": 0}  # beats that the transmitter still has to get

    async def bench(ctx):
        outstanding = 0  # beats to come of Requests taken
        for cycle in range(cycles):
            now = dropping(cycle)
            ctx.set(dut.dropping, now)
            for channel, producer in producers.items():
                held = channel == "orig_data" and rng.random() < lag
                if not producer.offered and producer.waiting and not held and rng.random() < valid:
                    producer.offered = True
                    ctx.set(getattr(dut, channel).payload, producer.waiting[0][1])
                ctx.set(getattr(dut, channel).valid, producer.offered)
            for channel in CHANNELS:
                may = begun.get(channel, 0) if now or channel == "orig_data" else 1
                ctx.set(getattr(dut, f"tx_{channel}").ready, may and rng.random() < ready)
            for channel, producer in producers.items():
                source, sink = getattr(dut, channel), getattr(dut, f"tx_{channel}")
                went = ctx.get(source.valid) and ctx.get(source.ready)
                passed = ctx.get(sink.valid) and ctx.get(sink.ready)
                assert went or not passed, "a beat passes that has not been taken"
                full = channel == "req" and outstanding > BEATS_UNDER_WAY - 4
                assert went or full or not (now and producer.offered and channel in ("req", "wr_rsp")), "not at once"
                if not went:
                    continue
                producer.offered = False
                transfer, beat = producer.waiting.popleft()
                if channel == "req" and beat["cmd"] == WRITE:
                    outstanding += beat["num_beats"] + 1
                outstanding -= channel == "orig_data"
                (outcome.passed if passed else outcome.dropped)[channel].append((transfer, beat))
                if not passed:
                    continue
                payload = ctx.get(sink.payload)
                assert {name: payload[name] for name in beat} == beat
                if channel == "req" and beat["cmd"] == WRITE:
                    begun["orig_data"] += beat["num_beats"] + 1
                elif channel == "rd_rsp" and not begun["rd_rsp"]:
                    begun["rd_rsp"] = beat["num_beats"]
                elif channel in begun:
                    begun[channel] -= 1
            await ctx.tick()
            if not any(producer.waiting for producer in producers.values()):
                break

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert not any(producer.waiting for producer in producers.values()), "everything goes home"
    return outcome


def check_whole(beats, outcome):
    """Every beat went one way, and all beats of a transfer the same."""
    for channel in CHANNELS:
        assert sorted(map(str, outcome.passed[channel] + outcome.dropped[channel])) == sorted(map(str, beats[channel]))
        assert not {n for n, _ in outcome.passed[channel]} & {n for n, _ in outcome.dropped[channel]}
    with_data = {n for n, beat in beats["req"] if beat["cmd"] == WRITE}
    assert {n for n, _ in outcome.passed["orig_data"]} == {n for n, _ in outcome.passed["req"]} & with_data


@pytest.mark.req("RAS-047", "RAS-053", "RAS-055", "TL-216")
@pytest.mark.parametrize("seed", range(6))
def test_transfers_stay_whole_across_both_edges(seed):
    rng = random.Random(seed)
    beats = transfers(rng, 120)
    edges = sorted(rng.sample(range(20, 500), 12))
    outcome = run(
        beats,
        lambda cycle: sum(edge <= cycle for edge in edges) % 2 == 1,
        valid=rng.choice((0.4, 1.0)),
        ready=rng.choice((0.3, 1.0)),
        lag=rng.choice((0.0, 0.8)),
        seed=seed,
    )
    check_whole(beats, outcome)
    assert all(outcome.passed[channel] and outcome.dropped[channel] for channel in CHANNELS)


@pytest.mark.req("RAS-053", "TL-216")
def test_everything_is_dropped_while_dropping():
    beats = transfers(random.Random(1), 40)
    outcome = run(beats, lambda cycle: True)
    assert not any(outcome.passed.values()) and outcome.dropped == beats


def test_everything_passes_otherwise():
    beats = transfers(random.Random(2), 40)
    outcome = run(beats, lambda cycle: False)
    assert not any(outcome.dropped.values()) and outcome.passed == beats


def test_parameter_is_checked():
    with pytest.raises(ConfigError, match="drop gate for 3 beats"):
        DropGate(3)


class GateBench(wiring.Component):
    """One Request and one Read Response, any of them, are followed through the gate with all of their beats. While
    ``dropping`` the transmitter takes nothing that begins."""

    mark: In(2)
    dropping: In(1)
    valid: In(4)
    ready: In(4)
    cmd: In(6)
    req_beats: In(2)
    rd_beats: In(2)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = DropGate(8)
        m.d.comb += dut.dropping.eq(self.dropping)
        went, passed = {}, {}
        rest = Signal(2)
        begins = {"req": 1, "orig_data": 0, "rd_rsp": rest == 0, "wr_rsp": 1}
        for n, channel in enumerate(CHANNELS):
            source, sink = getattr(dut, channel), getattr(dut, f"tx_{channel}")
            takes = self.ready[n] & ~(begins[channel] & self.dropping)
            m.d.comb += [source.valid.eq(self.valid[n]), sink.ready.eq(takes)]
            went[channel], passed[channel] = source.valid & source.ready, sink.valid & sink.ready
            m.d.comb += Assert(went[channel] | ~passed[channel])
        m.d.comb += [
            dut.req.p.cmd.eq(self.cmd),
            dut.req.p.num_beats.eq(self.req_beats),
            dut.rd_rsp.p.num_beats.eq(self.rd_beats),
        ]
        for channel in ("req", "wr_rsp"):
            m.d.comb += Assert(~went[channel] | (passed[channel] == ~self.dropping))
        m.d.comb += Assert(~(self.dropping & dut.wr_rsp.valid) | dut.wr_rsp.ready)
        self._follow_request(m, dut, went, passed)
        self._follow_burst(m, dut, went, passed, rest)
        return m

    def _follow_request(self, m, dut, went, passed):
        beats = Mux(self.cmd[5], self.req_beats + 1, 0)
        owed = Signal(8)
        followed, passes = Signal(), Signal()
        ahead, own = Signal(8), Signal(3)
        m.d.sync += owed.eq(owed + Mux(went["req"], beats, 0) - went["orig_data"])
        m.d.comb += [Assert(~went["orig_data"] | (owed != 0)), Assert(owed <= 8)]
        mine = followed & (ahead == 0) & (own != 0)
        with m.If(went["req"] & self.mark[0] & ~followed):
            m.d.sync += [followed.eq(1), passes.eq(passed["req"]), ahead.eq(owed - went["orig_data"]), own.eq(beats)]
        with m.Elif(went["orig_data"] & mine):
            m.d.sync += own.eq(own - 1)
        with m.Elif(went["orig_data"] & followed & (ahead != 0)):
            m.d.sync += ahead.eq(ahead - 1)
        m.d.comb += [
            Assert(~(went["orig_data"] & mine) | (passed["orig_data"] == passes)),
            # A beat due to be dropped goes in any case, one due to pass as soon as the transmitter takes it.
            Assert(~(mine & dut.orig_data.valid & (~passes | dut.tx_orig_data.ready)) | dut.orig_data.ready),
            Assert(~(self.dropping & dut.req.valid & (owed <= 4)) | dut.req.ready),
        ]

    def _follow_burst(self, m, dut, went, passed, rest):
        passes = Signal()
        first = rest == 0
        stable = Signal(2)
        with m.If(went["rd_rsp"]):
            m.d.sync += rest.eq(Mux(first, self.rd_beats, rest - 1))
            with m.If(first):
                m.d.sync += [passes.eq(passed["rd_rsp"]), stable.eq(self.rd_beats)]
            m.d.comb += Assert(passed["rd_rsp"] == Mux(first, ~self.dropping, passes))
        m.d.comb += [
            Assume(first | (self.rd_beats == stable)),
            Assert(~(dut.rd_rsp.valid & Mux(first, self.dropping, ~passes)) | dut.rd_rsp.ready),
        ]


@pytest.mark.req("RAS-047", "RAS-053", "TL-216")
def test_no_transfer_is_cut():
    prove(GateBench(), mode="bmc", depth=12, engine=BITWUZLA)
