"""Ingresses of the planes: transfers keep their route, data follow their Requests, denied ones go with their beats."""

import random
from itertools import chain

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from support.switch.bench import coded, pack, random_beat, random_request, random_response
from support.upsets import collect
from ualink.switch.request_ingress import RequestIngress
from ualink.switch.response_ingress import ResponseIngress
from ualink.upli.channels import CODED_LAYOUTS

WAYS = 3
CODED_DATA = CODED_LAYOUTS["orig_data"].size
DENIED = 0x200


def with_table(ingress):
    """``ingress`` with a table by which ID n is at egress n % 3, denied from ID 512 up."""
    m = Module()
    m.submodules.ingress = ingress
    with m.If(ingress.lookup.look):
        m.d.sync += [
            ingress.lookup.egress.eq(ingress.lookup.dst_phys_acc_id % WAYS),
            ingress.lookup.denied.eq(ingress.lookup.dst_phys_acc_id[9]),
        ]
    return m


def simulate(ingress, bench):
    simulator = Simulator(with_table(ingress))
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def with_kind(ingress, word, request, beats):
    """What is steered of ``word``, the coded Request: behind it whether it bears data, and ReqNumBeats."""
    kind = bool(beats) | request["num_beats"] << 1
    return word | kind << len(ingress.steered_req.payload.as_value()) - 3


class Port:
    """Drives one input stream and keeps what a steered output gave to each way, in random order of stalls."""

    def __init__(self, rng, stream, beats, steered, rate, room):
        self.rng, self.stream, self.beats, self.steered = rng, stream, list(beats), steered
        self.rate, self.room = rate, room
        self.offering, self.index, self.got = False, 0, [[] for _ in range(WAYS)]
        self.moved = 0
        payload = steered.payload
        whole = payload.transfer if "transfer" in payload.shape().members else payload
        self.payload = whole.as_value()
        self.ends = ~payload.kind.with_data if "kind" in payload.shape().members else whole.end

    def drive(self, ctx):
        self.offering = self.index < len(self.beats) and (self.offering or self.rng.random() < self.rate)
        ctx.set(self.stream.valid, self.offering)
        ctx.set(self.stream.payload.as_value(), self.beats[self.index] if self.offering else 0)
        self.ready = sum((self.rng.random() < self.room) << way for way in range(WAYS))
        ctx.set(self.steered.ready, self.ready)

    def sample(self, ctx):
        moved = self.moved = ctx.get(self.steered.valid) & self.ready
        assert moved & (moved - 1) == 0
        # It is known before whether it goes that it would go there.
        assert moved in (0, ctx.get(self.steered.toward))
        if moved:
            # With it an item is whole, or not yet.
            assert ctx.get(self.steered.soon) == (moved if ctx.get(self.ends) else 0)
            self.got[moved.bit_length() - 1].append(ctx.get(self.payload))
        if self.offering and ctx.get(self.stream.ready):
            self.index += 1
            self.offering = False


@pytest.mark.req("SW-010", "SW-020", "SW-021", "SW-058")
@pytest.mark.parametrize(
    ("channel", "rate", "room"), [("rd_rsp", 1.0, 1.0), ("rd_rsp", 0.7, 0.5), ("wr_rsp", 0.9, 0.4)]
)
def test_responses(channel, rate, room):
    """Later beats have other IDs and counts here, which no legal response has: only those of the first may matter."""
    ingress = ResponseIngress(channel, WAYS)
    rng = random.Random(f"{channel} {rate}")
    size = len(ingress.steered.payload.as_value())
    sent, expected, denied = [], [[] for _ in range(WAYS)], []
    for _ in range(60):
        src, dst, beats = rng.getrandbits(10), rng.getrandbits(10), rng.randrange(1, 5) if channel == "rd_rsp" else 1
        transfer = [coded(channel, pack(channel, beat)) for beat in random_response(rng, channel, src, dst, beats)]
        transfer[1:] = [coded(channel, pack(channel, random_beat(rng, channel))) for _ in transfer[1:]]
        sent += transfer
        if dst & DENIED:
            denied.append(dst)
        else:
            expected[dst % WAYS] += [beat | (n == beats - 1) << (size - 1) for n, beat in enumerate(transfer)]
    port = Port(rng, ingress.rsp, sent, ingress.steered, rate, room)
    seen_denied = 0

    async def bench(ctx):
        nonlocal seen_denied
        for _ in range(1200):
            port.drive(ctx)
            seen_denied += ctx.get(ingress.denied.valid)
            port.sample(ctx)
            await ctx.tick()

    simulate(ingress, bench)
    assert port.index == len(sent)
    assert port.got == expected
    assert seen_denied == len(denied)


@pytest.mark.req("SW-010", "SW-020", "SW-058")
@pytest.mark.parametrize(("rate", "room"), [(1.0, 1.0), (0.6, 0.5)])
def test_requests(rate, room):
    ingress = RequestIngress(WAYS)
    rng = random.Random(f"requests {rate}")
    end = len(ingress.steered_orig_data.payload.transfer.as_value()) - 1
    requests, data, denied = [], [], []
    expected, expected_data = [[] for _ in range(WAYS)], [[] for _ in range(WAYS)]
    for _ in range(80):
        src, dst = rng.getrandbits(10), rng.getrandbits(10)
        request, beats = random_request(rng, src, dst, rng.choice([None, 1, 2, 3, 4]))
        requests.append(coded("req", pack("req", request)))
        beats = [coded("orig_data", pack("orig_data", beat)) for beat in beats]
        data += beats
        if dst & DENIED:
            denied.append((src, dst))
        else:
            expected[dst % WAYS].append(with_kind(ingress, requests[-1], request, beats))
            expected_data[dst % WAYS] += [beat | (n == len(beats) - 1) << end for n, beat in enumerate(beats)]
    port = Port(rng, ingress.req, requests, ingress.steered_req, rate, room)
    data_port = Port(rng, ingress.orig_data, data, ingress.steered_orig_data, rate, room)
    seen_denied, joined = [], []

    async def bench(ctx):
        for _ in range(900):
            port.drive(ctx)
            data_port.drive(ctx)
            if ctx.get(ingress.denied.valid):
                seen_denied.append((ctx.get(ingress.denied.src_phys_acc_id), ctx.get(ingress.denied.dst_phys_acc_id)))
            port.sample(ctx)
            data_port.sample(ctx)
            if data_port.moved:
                joins = ctx.get(ingress.steered_orig_data.payload.joins)
                assert joins == (port.moved and ctx.get(ingress.steered_req.payload.kind.with_data))
                joined.append(joins)
            await ctx.tick()

    simulate(ingress, bench)
    assert port.index == len(requests) and data_port.index == len(data)
    assert {0, 1} == set(joined)
    assert port.got == expected
    assert data_port.got == expected_data
    assert seen_denied == denied


@pytest.mark.req("SW-010", "SW-037")
def test_requests_without_data_do_not_wait_for_the_data_of_others():
    ingress = RequestIngress(WAYS)
    rng = random.Random(3)
    wanted = ((0, 4), (1, None), (2, None), (1, 1))
    items = [(random_request(rng, 0, dst, beats)[0], beats) for dst, beats in wanted]
    requests = [coded("req", pack("req", request)) for request, _ in items]
    a, b, c, d = (with_kind(ingress, word, *item) for word, item in zip(requests, items))
    port = Port(rng, ingress.req, requests, ingress.steered_req, 1.0, 1.0)

    async def bench(ctx):
        ctx.set(ingress.steered_orig_data.ready, 7)
        for _ in range(20):
            port.drive(ctx)
            port.sample(ctx)
            await ctx.tick()
        # The second data-bearing Request waits for the data of the first.
        assert port.got == [[a], [b], [c]]
        ctx.set(ingress.orig_data.valid, 1)
        beats = [0] * WAYS
        for _ in range(20):
            port.drive(ctx)
            port.sample(ctx)
            for way in range(WAYS):
                beats[way] += ctx.get(ingress.steered_orig_data.valid) >> way & 1
            await ctx.tick()
        assert port.got == [[a], [b, d], [c]]
        assert beats == [4, 1, 0]

    simulate(ingress, bench)


PRESENCE = [f"{name}{which}" for name in ("holding", "steering") for which in ("", "_not")]
"""What knows whether something is in the two steps of an ingress."""
WHERE = "steered_where"
"""What knows where it goes from the second."""


def strike_presence(ingress, ports, name, cycle):
    """Drive ``ports`` and flip the register ``name`` in ``cycle``, or, of one that leads, forget where to; whether Drop
    Mode is asked for from then on; None if nothing was there that could go anywhere."""
    design, registers, _ = collect(with_table(ingress))
    (signal,) = (register.signal for register in registers if register.path[-1] == name)
    asked, nowhere = [], []

    async def bench(ctx):
        for n in range(60):
            for port in ports:
                port.drive(ctx)
            if n == cycle and name == WHERE:
                nowhere.append(ctx.get(signal) == 0)
                ctx.set(signal, 0)
            elif n == cycle:
                ctx.set(signal, ~ctx.get(signal) & 1)
            for port in ports:
                port.sample(ctx)
            asked.append(ctx.get(ingress.upset))
            await ctx.tick()

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return None if any(nowhere) else not any(asked[: cycle + 1]) and all(asked[cycle + 2 :])


@pytest.mark.req("RAS-009", "RAS-014", "RAS-030")
@pytest.mark.parametrize("name", [*PRESENCE, WHERE])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_no_request_is_lost_or_doubled_by_an_upset_unseen(name, rate):
    """What comes before goes with its own data, whole; nothing comes after."""
    rng, struck = random.Random(f"{name} {rate}"), 0
    for cycle in range(2, 22):
        ingress = RequestIngress(WAYS)
        items = [random_request(rng, 0, 1, rng.randrange(1, 5)) for _ in range(12)]
        requests = [coded("req", pack("req", request)) for request, _ in items]
        data = [[coded("orig_data", pack("orig_data", beat)) for beat in beats] for _, beats in items]
        whole = [[beat | (beat is beats[-1]) << CODED_DATA for beat in beats] for beats in data]
        port = Port(rng, ingress.req, requests, ingress.steered_req, rate, 1.0)
        data_port = Port(rng, ingress.orig_data, [*chain(*data)], ingress.steered_orig_data, 1.0, 0.7)
        asked = strike_presence(ingress, (port, data_port), name, cycle)
        if asked is None:
            continue
        assert asked, cycle
        struck += 1
        came = len(port.got[1])
        assert port.got[1] == [with_kind(ingress, word, *item) for word, item in zip(requests[:came], items)], cycle
        assert data_port.got == [[], [*chain(*whole[:came])], []], cycle
    assert struck > 5


@pytest.mark.req("RAS-009", "RAS-014", "RAS-030")
@pytest.mark.parametrize("name", [*PRESENCE, WHERE])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_no_response_is_lost_or_doubled_by_an_upset_unseen(name, rate):
    rng, struck = random.Random(f"{name} {rate}"), 0
    for cycle in range(2, 22):
        ingress = ResponseIngress("wr_rsp", WAYS)
        sent = [coded("wr_rsp", pack("wr_rsp", random_beat(rng, "wr_rsp", dst_phys_acc_id=1))) for _ in range(40)]
        port = Port(rng, ingress.rsp, sent, ingress.steered, rate, 0.8)
        asked = strike_presence(ingress, (port,), name, cycle)
        if asked is None:
            continue
        assert asked, cycle
        struck += 1
        end = 1 << len(ingress.steered.payload.as_value()) - 1
        assert port.got == [[], [beat | end for beat in sent[: len(port.got[1])]], []], cycle
    assert struck > 5


@pytest.mark.req("RAS-009")
def test_what_has_lost_its_way_is_dropped_and_holds_up_nothing_after_drop_mode():
    ingress = ResponseIngress("wr_rsp", WAYS)
    design, registers, _ = collect(with_table(ingress))
    (where,) = (register.signal for register in registers if register.path[-1] == WHERE)
    rng = random.Random(1)
    first, second = (coded("wr_rsp", pack("wr_rsp", random_beat(rng, "wr_rsp", dst_phys_acc_id=1))) for _ in range(2))
    port = Port(rng, ingress.rsp, [first], ingress.steered, 1.0, 0.0)

    async def play(ctx, cycles):
        for _ in range(cycles):
            port.drive(ctx)
            port.sample(ctx)
            await ctx.tick()

    async def bench(ctx):
        await play(ctx, 6)
        assert ctx.get(where) == 2
        ctx.set(where, 0)
        await play(ctx, 2)
        assert ctx.get(ingress.upset)
        port.room = 1.0
        ctx.set(ingress.dropping, 1)
        await play(ctx, 40)
        ctx.set(ingress.dropping, 0)
        await play(ctx, 1)
        assert not ctx.get(ingress.upset)
        port.beats.append(second)
        await play(ctx, 10)
        assert port.got == [[], [second | 1 << len(ingress.steered.payload.as_value()) - 1], []]

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
