"""The switch core against a scoreboard."""

import random
import re

import pytest

from support.switch.bench import pack, random_beat, random_request
from support.switch.traffic import RESPONSES, CoreBench, straight
from support.upsets import collect
from ualink.lib.parity import WithoutDataParity


def random_routes(rng, stations, ports):
    """Tables of their own for each station, with Deny for some ports and no entry for some IDs."""
    return [
        {
            index: (rng.choice([0, 0, 0, rng.getrandbits(4)]), rng.randrange(stations * ports))
            for index in range(16)
            if rng.random() < 0.9
        }
        for _ in range(stations)
    ]


@pytest.mark.req(
    *("UPLI-072", "UPLI-324"),
    *("SW-003", "SW-004", "SW-008", "SW-010", "SW-019", "SW-020", "SW-021", "SW-022", "SW-023", "SW-026"),
    *(
        "SW-028",
        "SW-043",
        "SW-044",
        "SW-047",
        "SW-048",
        "SW-050",
        "SW-051",
        "SW-052",
        "SW-054",
        "SW-058",
        "SW-059",
        "SW-061",
    ),
    *("SW-064", "SW-065", "SW-076", "SW-097"),
)
@pytest.mark.parametrize(
    ("stations", "ports", "source_rate", "sink_rate", "ports_per_row"),
    [
        (4, 1, 1.0, 1.0, 16),
        (4, 1, 0.6, 0.5, 16),
        (2, 2, 1.0, 0.4, 16),
        (2, 4, 0.9, 0.8, 16),
        (4, 1, 1.0, 1.0, 2),
        (4, 1, 0.6, 0.5, 1),
        (3, 2, 0.9, 0.4, 4),
    ],
)
def test_random_traffic(stations, ports, source_rate, sink_rate, ports_per_row):
    seed = f"{stations} {ports} {source_rate}"
    rng = random.Random(seed)
    bench = CoreBench(
        stations,
        ports,
        routes=random_routes(rng, stations, ports),
        seed=seed,
        source_rate=source_rate,
        sink_rate=sink_rate,
        ports_per_row=ports_per_row,
    )
    for ingress in range(bench.count):
        for _ in range(160 // bench.count):
            bench.request(ingress, rng.randrange(18), rng.choice([None, None, 1, 2, 3, 4]))
            bench.response("rd_rsp", ingress, rng.randrange(18), rng.choice([1, 1, 2, 3, 4]))
            bench.response("wr_rsp", ingress, rng.randrange(18))

    async def scenario(ctx):
        await bench.until(ctx, bench.finished, 4000)
        await ctx.tick().repeat(20)
        for port in range(bench.count):
            for number, kind in enumerate(("req", *RESPONSES)):
                flow = [
                    ctx.get(getattr(bench.dut.flow[port], f"{kind}_{count}"))
                    for count in ("accepted", "denied", "forwarded", "dropped_in", "dropped_out")
                ]
                denied = [item[2] for item in bench.denied[port]].count(number)
                routed = sum(len(items[port]) for (plane, _), items in bench.expected.items() if plane == kind)
                assert flow == [routed + denied, denied, len(bench.received(kind, port)), 0, 0]
        for port, denied in enumerate(bench.denied):
            status = bench.dut.deny[port]
            assert ctx.get(status.count) == len(denied)
            if denied:
                kind = ctx.get(status.kind).value
                assert (ctx.get(status.src_phys_acc_id), ctx.get(status.dst_phys_acc_id), kind) in denied

    bench.run(scenario)
    bench.check()
    assert sum(map(len, bench.denied)) > 10


def test_without_parity_over_data_all_goes_through():
    """Where rows of buffers say nothing of their beats, nothing is dropped for what they would say."""
    bench = CoreBench(2, 1, routes=straight(2, 1), around=lambda core: core)
    bench.simulated = WithoutDataParity(bench.dut)
    for beats in (None, 1, 4, 2, None, 3):
        for ingress in range(2):
            bench.request(ingress, 1 - ingress, beats)
            bench.response("rd_rsp", ingress, 1 - ingress, beats or 1)
            bench.response("wr_rsp", ingress, 1 - ingress)

    async def scenario(ctx):
        await ctx.tick().repeat(300)
        for flow in bench.dut.flow:
            assert [ctx.get(getattr(flow, f"{kind}_forwarded")) for kind in ("req", *RESPONSES)] == [6, 6, 6]

    bench.run(scenario)


@pytest.mark.req("SW-056", "SW-058", "SW-059")
def test_unprogrammed_tables_deny_everything():
    bench = CoreBench(2, 1, routes=[{}, {}])
    for ingress in range(2):
        for dst in range(20):
            bench.request(ingress, dst, [None, 1, 4][dst % 3])
            bench.response("rd_rsp", ingress, dst, 1 + dst % 4)
            bench.response("wr_rsp", ingress, dst)

    async def scenario(ctx):
        await bench.until(ctx, bench.finished, 300)
        await ctx.tick().repeat(10)
        assert [ctx.get(status.count) for status in bench.dut.deny] == [60, 60]

    bench.run(scenario)
    bench.check()


@pytest.mark.req("UPLI-003")
def test_every_accelerator_id_has_a_route():
    """Of all 1,024, each routed by all its bits, Requests and Responses alike."""
    routes = {index: (0, index.bit_count() & 1) for index in range(1024)}
    bench = CoreBench(2, 1, routes=[routes, routes], entries=1024)
    for index in range(1024):
        kind = index // 2 % 3
        if kind == 0:
            bench.request(index & 1, index, None)
        else:
            bench.response(RESPONSES[kind - 1], index & 1, index)

    async def scenario(ctx):
        await bench.until(ctx, bench.finished, 500)
        assert [ctx.get(status.count) for status in bench.dut.deny] == [0, 0]

    bench.run(scenario)
    bench.check()


@pytest.mark.req("UPLI-011", "SW-060", "SW-063", "SW-072", "SW-096", "SW-101")
def test_partitions_share_stations_and_nothing_else():
    """Ports 0 of both stations are one switch, ports 1 another; ID 4 is in neither, so it is denied to all.

    Everybody sends to everybody. Nothing crosses, and each partition goes on while the other stands still.
    """
    partition = {0: (0b1110, 0), 1: (0b1110, 2), 2: (0b1101, 1), 3: (0b1101, 3)}
    bench = CoreBench(2, 2, routes=[partition, partition], seed=7)
    members = ((0, 2), (1, 3))

    async def scenario(ctx):
        for standing, moving in (members, members[::-1]):
            sinks = [bench.request_sinks[n] for n in standing]
            sinks += [bench.response_sinks[channel][n] for channel in RESPONSES for n in standing]
            for sink in sinks:
                sink.rate = 0.0
            for ingress in range(4):
                for dst in (0, 1, 2, 3, 4) * 4:
                    bench.request(ingress, dst, 1)
                    bench.response("rd_rsp", ingress, dst, 2)
                    bench.response("wr_rsp", ingress, dst)
            await ctx.tick().repeat(90)
            assert not any(bench.outstanding(*key) for key in bench.expected if key[1] in moving)
            assert all(bench.outstanding(kind, n) for kind in ("req", *RESPONSES) for n in standing)
            for sink in sinks:
                sink.rate = 1.0
            await ctx.tick().repeat(90)
            assert bench.finished()
        # To three of five IDs the way is closed for each port.
        assert [ctx.get(bench.dut.deny[n].count) for n in range(4)] == [2 * 3 * 12] * 4

    bench.run(scenario)
    bench.check()


@pytest.mark.req("SW-017", "SW-032", "SW-033", "SW-036", "UPLI-007")
def test_planes_are_independent():
    """With some planes full and standing still at every port, the others move everything they have."""
    bench = CoreBench(2, 2, routes=straight(2, 2), seed=6)

    def sinks(kind):
        return bench.request_sinks if kind == "req" else bench.response_sinks[kind]

    async def stall(ctx, stalled):
        for ingress in range(4):
            for n in range(40):
                dst = (ingress + n) % 4
                bench.request(ingress, dst, [None, 1, 3][n % 3])
                bench.response("rd_rsp", ingress, dst, 1 + n % 4)
                bench.response("wr_rsp", ingress, dst)
        for kind in stalled:
            for sink in sinks(kind):
                sink.rate = 0.0
        before = {(kind, egress): len(bench.received(kind, egress)) for kind in stalled for egress in range(4)}
        await ctx.tick().repeat(130)
        assert not any(bench.outstanding(*key) for key in bench.expected if key[0] not in stalled)
        assert all(len(bench.received(*key)) == count for key, count in before.items())
        for kind in stalled:
            # Full indeed: every ingress has more to send.
            assert all(source.sent < len(source.beats) for source in bench.sources[kind])
            for sink in sinks(kind):
                sink.rate = 1.0
        await ctx.tick().repeat(130)
        assert bench.finished()

    async def scenario(ctx):
        for stalled in (("req",), RESPONSES, ("req", "wr_rsp"), ("req", "rd_rsp")):
            await stall(ctx, stalled)

    bench.run(scenario)
    bench.check()


@pytest.mark.req("SW-005", "SW-006", "SW-098", "SW-099")
def test_the_core_remembers_no_request_and_makes_nothing_itself():
    """Requests that nobody ever answers, all alike, cost nothing but their time; Responses need no Request.

    Every command passes, whether the standard knows it or not. And an idle core stays idle, also while it drops what is
    denied: what leaves has entered before, which ``check`` says of every other test, too.
    """
    bench = CoreBench(2, 1, routes=straight(2, 1))
    request, beats = random_request(random.Random(1), 0, 1, 2)
    item = pack("req", request), [pack("orig_data", beat) for beat in beats]

    async def scenario(ctx):
        assert not await quiet(ctx, 30)
        for _ in range(40):
            bench.sources["req"][0].beats.append(item[0])
            bench.sources["orig_data"][0].beats.extend(item[1])
            bench.expected["req", 1][0].append(item)
        await bench.until(ctx, bench.finished, 200)
        for cmd in range(64):
            bench.request(0, 1, 1 if cmd & 0x20 else None, cmd=cmd)
        for _ in range(3):
            for channel in RESPONSES:
                bench.response(channel, 0, 1)
        await bench.until(ctx, bench.finished, 100)
        for beats in (None, 2):
            bench.request(0, 2, beats)
        for channel in RESPONSES:
            bench.response(channel, 0, 2)
        assert not await quiet(ctx, 30)
        assert bench.finished() and ctx.get(bench.dut.deny[0].count) == 4

    async def quiet(ctx, cycles):
        """Offers in so many cycles."""
        count = 0
        for _ in range(cycles):
            for channel in ("req", "orig_data", *RESPONSES):
                count += sum(ctx.get(output.valid) for output in getattr(bench.dut, f"out_{channel}"))
            await ctx.tick()
        return count

    bench.run(scenario)
    bench.check()


@pytest.mark.req("RAS-004", "RAS-005", "SW-078")
def test_nothing_in_the_core_waits_for_a_response():
    """Requests that nobody answers go through, then the core comes to rest: no register changes any more, so nothing
    counts and nothing will ever happen by itself. After many of them the state is that of after a few."""
    bench = CoreBench(2, 1, routes=straight(2, 1), around=lambda core: core)
    bench.simulated, registers, _ = collect(bench.dut)
    control = [register for register in registers if not register.signal.reset_less]

    def state(ctx, registers):
        return [ctx.get(register.signal) for register in registers]

    async def scenario(ctx):
        states = []
        for count in (1, 3):
            for n in range(4 * count):
                for beats in (None, 1, 4):
                    bench.request(n & 1, n >> 1 & 1, beats)
            await bench.until(ctx, bench.finished, 200)
            await ctx.tick().repeat(20)
            states.append(state(ctx, control))
            rest = state(ctx, registers)
            for _ in range(20):
                await ctx.tick()
                assert state(ctx, registers) == rest
        changed = {
            re.sub(r"(_\d+)+$", "", register.path[-1]) for register, was, now in zip(control, *states) if was != now
        }
        turns = {"with_data_turn", "without_turn", "accepted_turn", "first_pressing", "watched", "data_was_last"}
        rows = {"oldest", "empty", "unused", "fresh", "read_index", "write_index", "due", "next_number_"}
        counted = {"count", "most", "seen"}
        assert changed <= turns | rows | counted, "whose turn it is, which row is next, what management counts, no more"
        assert len(registers) > len(control) > 50

    bench.run(scenario)
    bench.check()


@pytest.mark.req("SW-031", "SW-036", "SW-065")
def test_accelerators_that_answer_before_they_listen_do_not_deadlock():
    """All four ports send Requests to themselves and to all others, and take the next one only when the Response to
    the one before it is accepted: a core whose Responses waited for Requests would stop for ever."""
    bench = CoreBench(4, 1, routes=straight(4, 1), sink_rate=0.0)
    dut = bench.dut
    per_port = 16
    answered = [0] * 4

    def accelerator(n):
        async def process(ctx):
            req, rsp = dut.out_req[n], dut.in_wr_rsp[n]
            ctx.set(dut.out_wr_rsp[n].ready, 1)
            while True:
                ctx.set(req.ready, 1)
                _, _, came, src = await ctx.tick().sample(req.valid, req.payload.src_phys_acc_id)
                ctx.set(req.ready, 0)
                if not came:
                    continue
                ctx.set(
                    rsp.payload.as_value(), pack("wr_rsp", random_beat(bench.random, "wr_rsp", dst_phys_acc_id=src))
                )
                ctx.set(rsp.valid, 1)
                await ctx.tick().until(rsp.ready)
                ctx.set(rsp.valid, 0)

        async def listen(ctx):
            async for _, _, came in ctx.tick().sample(dut.out_wr_rsp[n].valid):
                answered[n] += bool(came)

        return process, listen

    async def send(ctx):
        for source in range(4):
            for k in range(per_port):
                request, _ = random_request(bench.random, source, (source + (k & 1) * k // 2) % 4, None)
                bench.sources["req"][source].beats.append(pack("req", request))
        while not ctx.get(dut.route.ready):
            await ctx.tick()
        await bench.program(ctx)
        for _ in range(400):
            if answered == [per_port] * 4:
                return
            await ctx.tick()
        raise AssertionError(f"only {answered} of {per_port} each were answered")

    def after_programming(process):
        async def wait(ctx):
            await ctx.tick().repeat(16 + 16 + 4)
            await process(ctx)

        return wait

    bench.simulate(
        send,
        background=[
            *(after_programming(source.process) for source in bench.sources["req"]),
            *(process for n in range(4) for process in accelerator(n)),
        ],
    )
