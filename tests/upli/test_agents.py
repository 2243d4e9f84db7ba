"""Directed behaviour of the agents: slots, credits before a transfer, passing Reads, handshake, reset."""

import pytest
from amaranth.hdl import Value

from support.upli.pair import Pair, Traffic, pack, simulate
from support.upli.wire import CONTROLS, sample
from ualink.config import Credits, UPLIConfig

CONFIG = UPLIConfig(req=Credits(pool=8), orig_data=Credits(pool=8), rd_rsp=Credits(pool=8), wr_rsp=Credits(pool=8))
READ, WRITE = 0x03, 0x28


def request(cmd, num_beats=0, **more):
    return pack("req", cmd=cmd, num_beats=num_beats, **more)


def data_beats(count, **more):
    return [pack("orig_data", offset=offset, last=offset == count - 1, **more) for offset in range(count)]


class Feed:
    """Offers given beats as fast as they are taken; ``watch`` gathers what is on the wire, ``run`` from a beat on."""

    def __init__(self, pair, queues):
        self.pair = pair
        self.queues = {stream: list(beats) for stream, beats in queues}

    async def run(self, ctx, cycles, *, take=True):
        wire = await self.watch(ctx, cycles, take=take)
        first = next(n for n, seen in enumerate(wire) if any(getattr(seen, c).vld for c in ("req", "rd_rsp", "wr_rsp")))
        return wire[first:]

    async def watch(self, ctx, cycles, *, take=True):
        wire = []
        for stream in (*self.pair.completer.req, *self.pair.completer.orig_data):
            ctx.set(stream.ready, take)
        for stream in (*self.pair.originator.rd_rsp, *self.pair.originator.wr_rsp):
            ctx.set(stream.ready, take)
        for _ in range(cycles):
            for stream, beats in self.queues.items():
                ctx.set(stream.valid, bool(beats))
                if beats:
                    ctx.set(Value.cast(stream.payload), beats[0])
            wire.append(sample(ctx, self.pair.upli))
            for stream, beats in self.queues.items():
                if beats and ctx.get(stream.ready):
                    beats.pop(0)
            await ctx.tick()
        return wire


@pytest.mark.req("UPLI-139", "UPLI-055", "UPLI-301", "UPLI-302", "UPLI-306", "UPLI-307", "UPLI-351", "UPLI-184")
def test_reads_pass_a_burst():
    """W(4), R, R | W(1) waits for the last beat | R: Reads pass, data-bearing Requests do not overlap."""
    pair = Pair(CONFIG, 1)
    o = pair.originator
    requests = [
        request(WRITE, 3, tag=1),
        request(READ, tag=2),
        request(READ, tag=3),
        request(WRITE, tag=4),
        request(READ, tag=5),
    ]
    feed = Feed(pair, [(o.req[0], requests), (o.orig_data[0], data_beats(4) + data_beats(1))])

    async def bench(ctx):
        wire = await feed.run(ctx, 24)
        assert [seen.req.vld and seen.req.tag for seen in wire[:7]] == [1, 2, 3, 0, 4, 5, 0]
        assert [seen.orig_data.vld and (seen.orig_data.offset, seen.orig_data.last) for seen in wire[:6]] == [
            (0, 0),
            (1, 0),
            (2, 0),
            (3, 1),
            (0, 1),
            0,
        ]

    simulate(pair, bench)


@pytest.mark.req("UPLI-081", "UPLI-086", "UPLI-088", "UPLI-302", "UPLI-093")
def test_ports_share_a_channel():
    """Transfers of four ports interleave, each in the slots of its port."""
    pair = Pair(CONFIG, 4)
    o = pair.originator
    queues = []
    for port in range(4):
        queues += [(o.req[port], [request(WRITE, port, tag=port)]), (o.orig_data[port], data_beats(port + 1))]
    feed = Feed(pair, queues)

    async def bench(ctx):
        wire = await feed.run(ctx, 40)
        phase = wire[0].req.port_id
        beats = {port: [] for port in range(4)}
        for cycle, seen in enumerate(wire):
            for channel in (seen.req, seen.orig_data):
                if channel.vld:
                    assert channel.port_id == (phase + cycle) % 4
            if seen.orig_data.vld:
                beats[seen.orig_data.port_id].append((cycle, seen.orig_data.offset))
        for port in range(4):
            start = beats[port][0][0]
            assert beats[port] == [(start + 4 * offset, offset) for offset in range(port + 1)]
            assert wire[start].req.vld and wire[start].req.tag == port

    simulate(pair, bench)


@pytest.mark.req("UPLI-116", "UPLI-305", "UPLI-185", "UPLI-051")
@pytest.mark.parametrize(("pool", "vc1"), [(4, 0), (0, 4), (2, 2)])
def test_all_credits_before_a_transfer(pool, vc1):
    """With four OrigData credits and none returned, W(2) goes, then W(3) does not start although two credits are there;
    it starts, whole, when the data of the first is taken."""
    pair = Pair(CONFIG.replace(orig_data=Credits(pool=pool, vc=(0, vc1, 0, 0))), 1)
    o = pair.originator
    writes = [request(WRITE, 1, vc=1, tag=1), request(WRITE, 2, vc=1, tag=2)]
    feed = Feed(pair, [(o.req[0], writes), (o.orig_data[0], data_beats(2, vc=1) + data_beats(3, vc=1))])

    async def bench(ctx):
        wire = await feed.run(ctx, 40, take=False)
        assert [seen.req.tag for seen in wire if seen.req.vld] == [1]
        assert sum(seen.orig_data.vld for seen in wire) == 2
        wire = await feed.run(ctx, 20)
        assert [seen.req.tag for seen in wire if seen.req.vld] == [2]
        assert [seen.orig_data.vld for seen in wire[:4]] == [1, 1, 1, 0]

    simulate(pair, bench)


@pytest.mark.req("UPLI-375", "UPLI-310", "UPLI-313")
def test_read_responses_wait_for_all_credits():
    """Single Beat mode spends what is there; a Multi-Beat response waits until all its credits are."""
    pair = Pair(CONFIG.replace(rd_rsp=Credits(pool=4)), 1)
    single = [pack("rd_rsp", offset=1), pack("rd_rsp", offset=0, last=1)]
    multi = [pack("rd_rsp", num_beats=2, offset=n, last=n == 2, tag=7) for n in range(3)]
    feed = Feed(pair, [(pair.completer.rd_rsp[0], single + multi)])

    async def bench(ctx):
        wire = await feed.run(ctx, 30, take=False)
        assert [seen.rd_rsp.offset for seen in wire if seen.rd_rsp.vld] == [1, 0]
        wire = await feed.run(ctx, 20)
        assert [seen.rd_rsp.vld and seen.rd_rsp.offset for seen in wire[:4]] == [0, 1, 2, 0]
        assert not ctx.get(pair.originator.errors.as_value())

    simulate(pair, bench)


@pytest.mark.req("UPLI-150", "UPLI-228", "UPLI-264")
def test_authentication_tag_is_0_without_a_beat():
    pair = Pair(CONFIG, 1)
    o, c = pair.originator, pair.completer
    tag = dict(auth_tag=(1 << 64) - 1)
    feed = Feed(
        pair,
        [
            (o.req[0], [request(READ, **tag)] * 2),
            (c.rd_rsp[0], [pack("rd_rsp", last=1, **tag)]),
            (c.wr_rsp[0], [pack("wr_rsp", **tag)]),
        ],
    )

    async def bench(ctx):
        wire = await feed.run(ctx, 20)
        for channel in ("req", "rd_rsp", "wr_rsp"):
            beats = [getattr(seen, channel) for seen in wire]
            assert any(beat.vld for beat in beats)
            assert all(beat.auth_tag == (tag["auth_tag"] if beat.vld else 0) for beat in beats)

    simulate(pair, bench)


@pytest.mark.req("RST-027", "RST-028", "RST-029", "RST-030", "RST-031", "RST-034", "RST-035", "RST-036", "RST-037")
@pytest.mark.req("RST-038", "RST-039", "RST-046", "UPLI-299", "RST-014", "RST-045")
@pytest.mark.parametrize(("originator_from", "completer_from"), [(0, 12), (12, 0), (0, 0), (3, 4)])
def test_connection_orders(originator_from, completer_from):
    """In each order: credits once their direction is open, from the very next cycle; beats once both are."""
    pair = Pair(CONFIG, 1)
    traffic = Traffic(pair, CONFIG, "connect", offer=1.0)

    async def bench(ctx):
        first = {}
        for cycle in range(30):
            ctx.set(pair.originator.connect, cycle >= originator_from)
            ctx.set(pair.completer.connect, cycle >= completer_from)
            traffic.drive(ctx)
            seen = sample(ctx, pair.upli)
            traffic.rules.step(seen)
            for name in CONTROLS:
                if getattr(seen, name):
                    first.setdefault(name, cycle)
            for channel in ("req", "orig_data", "rd_rsp", "wr_rsp"):
                if getattr(seen, channel).vld:
                    first.setdefault(channel, cycle)
                if getattr(seen, channel).credit.vld:
                    first.setdefault(f"{channel} credit", cycle)
            await traffic.finish(ctx)
        assert first["orig_clk_req"] == originator_from + 1 and first["comp_clk_req"] == completer_from + 1
        assert first["comp_clk_ack"] == first["orig_clk_req"] + 1
        assert first["orig_clk_ack"] == first["comp_clk_req"] + 1
        for credit, ack in (("req", "orig_clk_ack"), ("orig_data", "orig_clk_ack")):
            assert first[f"{credit} credit"] == first[ack] + 1
        for credit, ack in (("rd_rsp", "comp_clk_ack"), ("wr_rsp", "comp_clk_ack")):
            assert first[f"{credit} credit"] == first[ack] + 1
        for channel in ("req", "orig_data", "rd_rsp", "wr_rsp"):
            assert first[channel] > max(first["comp_clk_ack"], first["orig_clk_ack"])

    simulate(pair, bench)


@pytest.mark.req("RST-001", "RST-002", "RST-003", "RST-004", "RST-005", "RST-008", "RST-009", "RST-010", "RST-011")
@pytest.mark.req("RST-015", "UPLI-127", "UPLI-052", "UPLI-094", "UPLI-095", "UPLI-111", "UPLI-089")
@pytest.mark.parametrize("ports", [1, 4])
def test_reset_in_traffic(ports):
    """Whatever was under way is gone one cycle into the reset, and the interface starts again as new."""
    config = CONFIG.replace(orig_data=Credits(vc=(4, 4, 4, 4)), req=Credits(pool=1, vc=(0, 1, 1, 0)))
    pair = Pair(config, ports)
    traffic = Traffic(pair, config, ports, vcs=(1, 2), take=0.5)

    async def bench(ctx):
        for cycles in (3, 9, 31, 60, 40):
            await traffic.run(ctx, cycles)
            traffic.check_order(complete=False)
            ctx.set(pair.reset, 1)
            for channel, port in traffic.pending:
                ctx.set(traffic.senders[channel][port].valid, 0)
            for _ in range(3):
                await ctx.tick()
                seen = sample(ctx, pair.upli)
                assert not any(getattr(seen, name) for name in CONTROLS)
                for channel in ("req", "orig_data", "rd_rsp", "wr_rsp"):
                    part = getattr(seen, channel)
                    assert not (part.vld or part.vld_parity or part.credit.vld or part.credit.init_done)
                for streams in traffic.receivers.values():
                    assert not any(ctx.get(stream.valid) for stream in streams)
            ctx.set(pair.reset, 0)
            traffic.restart()
        await traffic.run(ctx, 60)
        assert sum(map(len, traffic.received.values())) > 20
        traffic.check_order(complete=False)

    simulate(pair, bench)


@pytest.mark.req("UPLI-086")
@pytest.mark.parametrize("first", [READ, WRITE])
def test_the_first_request_sets_the_phase_with_data_or_without(first):
    """So the next one, with another PortID in a slot of the same port, is a Protocol Error."""
    pair = Pair(CONFIG, 2, [("req", "port_id"), ("req", "parity")])
    req, orig_data = pair.originator.req[0], pair.originator.orig_data[0]
    feed = Feed(pair, [(req, [request(first)]), (orig_data, data_beats(1) if first == WRITE else [])])

    async def bench(ctx):
        await feed.run(ctx, 24)
        errors = pair.completer.errors
        assert not ctx.get(errors.as_value())
        ctx.set(pair.faults["req", "port_id"], 1)
        ctx.set(pair.faults["req", "parity"], 1)
        feed.queues[req] = [request(READ)]
        await feed.run(ctx, 8)
        assert ctx.get(errors.protocol.req) and not ctx.get(errors.control.as_value())

    simulate(pair, bench)


@pytest.mark.req("RAS-036", "UPLI-085", "UPLI-090", "UPLI-080")
@pytest.mark.parametrize("channel", ["req", "rd_rsp", "wr_rsp"])
def test_beat_in_a_foreign_slot(channel):
    """A PortID changed with its parity is a Protocol Error, and nothing stops."""
    agent = "completer" if channel == "req" else "originator"
    pair = Pair(CONFIG, 2, [(channel, "port_id"), (channel, "parity")])
    traffic = Traffic(pair, CONFIG, channel, judge=False)

    async def bench(ctx):
        await traffic.run(ctx, 40)
        while not ctx.get(getattr(pair.upli, channel).vld):
            await traffic.run(ctx, 1)
        errors = getattr(pair, agent).errors
        assert not ctx.get(errors.as_value())
        ctx.set(pair.faults[channel, "port_id"], 1)
        ctx.set(pair.faults[channel, "parity"], 1)
        await traffic.run(ctx, 1)
        ctx.set(pair.faults[channel, "port_id"], 0)
        ctx.set(pair.faults[channel, "parity"], 0)
        await traffic.run(ctx, 1)
        assert ctx.get(errors.protocol[channel]) and not ctx.get(errors.control.as_value())
        assert ctx.get(getattr(pair, agent).protocol_error)

    simulate(pair, bench)


@pytest.mark.req("UPLI-320", "UPLI-093", "UPLI-065", "UPLI-308")
def test_responses_pass_blocked_requests():
    """While nobody takes Requests or data, every Response goes through, and Requests stop for lack of credits."""
    pair = Pair(CONFIG, 2)
    traffic = Traffic(pair, CONFIG, "blocked", offer=1.0)
    blocked = [*pair.completer.req, *pair.completer.orig_data]
    drive = traffic.drive

    def drive_blocked(ctx, **how):
        drive(ctx, **how)
        for stream in blocked:
            ctx.set(stream.ready, 0)

    traffic.drive = drive_blocked

    async def bench(ctx):
        await traffic.run(ctx, 100)
        requests = [len(traffic.accepted["req", port]) for port in range(2)]
        responses = [len(traffic.received[channel, port]) for channel in ("rd_rsp", "wr_rsp") for port in range(2)]
        # As many as there are credits, and one in the place before the pins.
        assert all(0 < count <= 8 + 1 for count in requests)
        assert min(responses) > 20
        traffic.check_order(complete=False)

    simulate(pair, bench)
