"""The egress of the request plane: what came together is offered together, whoever is taken first."""

import random

import pytest

from support.switch.bench import RequestSink, coded, pack, random_request, run, unpack
from ualink.switch.request_egress import RequestEgress


class Reader:
    """A matcher and buffers: what is granted while there is room comes three cycles later, beat after beat.

    Of every ``wrong`` items about one is found wrong, or its first beat, in the cycle after it has come; ``bad`` has
    their indices.
    """

    def __init__(self, dut, seed, count=150, wrong=0):
        self.dut, self.random = dut, random.Random(f"reader {seed}")
        self.bad = {n for n in range(count) if wrong and self.random.randrange(wrong) == 0}
        items = [random_request(self.random, n, 0, self.random.choice([None, None, 1, 2, 3, 4])) for n in range(count)]
        self.items = [
            (coded("req", pack("req", request)), [coded("orig_data", pack("orig_data", beat)) for beat in beats])
            for request, beats in items
        ]

    async def process(self, ctx):
        dut, waiting = self.dut, list(self.items)
        coming, coming_beats = {}, {}
        found: dict[int, str] = {}
        cycle = free = 0
        while True:
            if waiting and (ctx.get(dut.arrival.data_room) or not waiting[0][1]) and ctx.get(dut.arrival.room):
                request, beats = waiting[0]
                if not beats or free <= cycle:
                    waiting.pop(0)
                    coming[cycle + 3] = request, bool(beats)
                    if len(self.items) - len(waiting) - 1 in self.bad:
                        found[cycle + 4] = self.random.choice(["wrong", "beat_wrong"]) if beats else "wrong"
                    for n, beat in enumerate(beats):
                        coming_beats[cycle + 3 + n] = beat, n == len(beats) - 1
                        free = cycle + n + 1
            (request, with_data), beat = coming.pop(cycle, (None, False)), coming_beats.pop(cycle, None)
            ctx.set(dut.arrival.come, request is not None)
            ctx.set(dut.arrival.item.as_value(), request or 0)
            ctx.set(dut.arrival.with_data, with_data)
            ctx.set(dut.arrival.come_data, beat is not None)
            ctx.set(dut.arrival.transfer.beat.as_value(), beat[0] if beat else 0)
            ctx.set(dut.arrival.transfer.end, bool(beat and beat[1]))
            for name in ("wrong", "beat_wrong"):
                ctx.set(getattr(dut.arrival, name), found.get(cycle) == name)
            await ctx.tick()
            cycle += 1


@pytest.mark.req("UPLI-302", "SW-043", "SW-047")
@pytest.mark.parametrize("rate", [1.0, 0.6, 0.2])
def test_requests_go_in_order_with_their_data(rate):
    """To an Originator that takes both at once, as ``RequestSink`` checks; no more is sent than the egress has room."""
    dut = RequestEgress()
    reader, sink = Reader(dut, rate), RequestSink(dut.req, dut.orig_data, rate, rate)

    async def scenario(ctx):
        for _ in range(4000):
            await ctx.tick()
            if len(sink.received) == len(reader.items) and sink.beats == sum(len(beats) for _, beats in reader.items):
                return

    run(dut, scenario, background=[reader.process, sink.process])
    assert sink.received == reader.items


@pytest.mark.req("UPLI-302", "SW-026", "SW-043")
@pytest.mark.parametrize(("req_rate", "data_rate"), [(0.5, 0.5), (0.2, 1.0), (1.0, 0.3)])
def test_either_may_be_taken_first(req_rate, data_rate):
    """The two streams apart, each taken at will: all Requests come in order, and all beats, none before its Request."""
    dut, rng = RequestEgress(), random.Random(f"{req_rate} {data_rate}")
    reader = Reader(dut, f"apart {req_rate} {data_rate}")
    requests, beats = [], []

    async def scenario(ctx):
        owed = 0
        for _ in range(3000):
            ready = rng.random() < req_rate, rng.random() < data_rate
            ctx.set(dut.req.ready, ready[0])
            ctx.set(dut.orig_data.ready, ready[1])
            _, _, offered, request, offered_data, beat = await ctx.tick().sample(
                dut.req.valid,
                dut.req.payload.as_value(),
                dut.orig_data.valid,
                dut.orig_data.payload.as_value(),
            )
            if offered and ready[0]:
                owed += len(reader.items[len(requests)][1])
                requests.append(request)
            if offered_data and ready[1]:
                beats.append(beat)
                owed -= 1
                # Of a Request that is on offer still, no more than its own have been taken.
                of_next = len(reader.items[len(requests)][1]) if len(requests) < len(reader.items) else 0
                assert owed >= -of_next

    run(dut, scenario, background=[reader.process])
    assert requests == [request for request, _ in reader.items]
    assert beats == [beat for _, data in reader.items for beat in data]


@pytest.mark.req("RAS-009", "UPLI-302")
@pytest.mark.parametrize(("req_rate", "data_rate"), [(1.0, 1.0), (0.5, 0.5), (0.1, 1.0), (1.0, 0.1)])
@pytest.mark.parametrize("asks", [False, True])
def test_a_wrong_request_is_dropped_whoever_is_ready(req_rate, data_rate, asks):
    """Requests and data taken at will, with ``asks`` only what is on offer: of an item that was found wrong nothing
    leaves, of those around it everything, in order, and each is told once."""
    dut, rng = RequestEgress(), random.Random(f"{req_rate} {data_rate} {asks}")
    reader = Reader(dut, f"wrong {req_rate} {data_rate}", wrong=3)
    good = [item for n, item in enumerate(reader.items) if n not in reader.bad]
    streams, requests, beats, told = (dut.req, dut.orig_data), [], [], 0

    async def scenario(ctx):
        nonlocal told
        for _ in range(4500):
            ready = []
            for stream, rate in zip(streams, (req_rate, data_rate)):
                ready.append(rng.random() < rate and (not asks or ctx.get(stream.valid)))
                ctx.set(stream.ready, ready[-1])
            sampled = [signal for stream in streams for signal in (stream.valid, stream.payload.as_value())]
            _, _, *offered, upset = await ctx.tick().sample(*sampled, dut.upset.control)
            told += upset
            for n, taken in enumerate((requests, beats)):
                if ready[n] and offered[2 * n]:
                    taken.append(offered[2 * n + 1])

    run(dut, scenario, background=[reader.process])
    assert requests == [request for request, _ in good]
    assert beats == [beat for _, data in good for beat in data]
    assert told == len(reader.bad) > 30


class Come:
    """Gives items to a ``RequestEgress`` by hand; ``told`` is its ``upset.control``, cycle by cycle."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut, self.told = ctx, dut, []

    async def now(self, request=None, beat=None, end=True):
        """In the next cycle a coded Request with data comes, a coded beat, both or none."""
        ctx, arrival = self.ctx, self.dut.arrival
        for name, value in (("come", request is not None), ("with_data", 1), ("come_data", beat is not None)):
            ctx.set(getattr(arrival, name), value)
        ctx.set(arrival.item.as_value(), request or 0)
        ctx.set(arrival.transfer.beat.as_value(), beat or 0)
        ctx.set(arrival.transfer.end, end)
        self.told.append(ctx.get(self.dut.upset.control))
        await ctx.tick()

    async def rest(self, cycles=8):
        for _ in range(cycles):
            await self.now()


def item(rng, n, beats):
    request, data = random_request(rng, n, 0, beats)
    return coded("req", pack("req", request)), [coded("orig_data", pack("orig_data", beat)) for beat in data]


@pytest.mark.req("RAS-009", "RAS-014", "UPLI-302")
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_a_beat_without_a_request_is_never_that_of_the_next_one(rate):
    """It is dropped and a Switch Core Control Error is told, whether a Request waits for its turn by then or not."""
    dut, rng = RequestEgress(), random.Random(f"stray {rate}")
    items = [item(rng, n, beats) for n, beats in enumerate((2, 1, 3))]
    _, strays = item(rng, 9, 3)
    sink = RequestSink(dut.req, dut.orig_data, "stray", rate)

    async def scenario(ctx):
        come = Come(ctx, dut)
        for (request, beats), stray in zip(items, strays):
            await come.now(None, stray)
            for n, beat in enumerate(beats):
                await come.now(request if n == 0 else None, beat, beat is beats[-1])
        await come.rest(60)
        assert sum(come.told) == len(strays)

    run(dut, scenario, background=[sink.process])
    assert sink.received == items


@pytest.mark.req("RAS-009", "RAS-014", "RAS-030", "UPLI-302")
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_no_beat_of_the_next_request_ends_a_transfer_as_good(rate):
    """The last beat of a transfer never comes: that of the next Request goes in its place, poisoned, and this Request
    is dropped; what comes behind goes."""
    dut, rng = RequestEgress(), random.Random(f"cut {rate}")
    (cut, beats), (other, others), behind = (item(rng, n, count) for n, count in enumerate((3, 1, 2)))
    sink = RequestSink(dut.req, dut.orig_data, "cut", rate)

    async def scenario(ctx):
        come = Come(ctx, dut)
        await come.now(cut, beats[0], False)
        await come.now(None, beats[1], False)
        await come.now(other, others[0])
        for n, beat in enumerate(behind[1]):
            await come.now(behind[0] if n == 0 else None, beat, n == 1)
        await come.rest(60)
        assert sum(come.told) == 2

    run(dut, scenario, background=[sink.process])
    (first, received), second = sink.received
    assert (first, received[:2], second) == (cut, beats[:2], behind)
    last = unpack("orig_data", received[2])
    offset = unpack("orig_data", beats[1])["offset"] + 1 & 3
    assert (last["error"], last["last"], last["offset"]) == (1, 1, offset)
    # With a code that belongs to what is sent.
    assert received[2] == coded("orig_data", pack("orig_data", last))


@pytest.mark.req("RAS-009", "UPLI-302")
@pytest.mark.parametrize("says", [False, True])
def test_a_request_that_did_not_come_as_it_says_is_dropped(says):
    """It says that it has data and none came with it, or that it has none and a beat did: neither leaves, nor the beat,
    a Switch Core Control Error is told, and what comes behind goes."""
    dut, rng = RequestEgress(), random.Random(f"{says}")
    request, beats = random_request(rng, 0, 0, 1)
    words = coded("req", pack("req", request)), coded("orig_data", pack("orig_data", beats[0]))
    sink = RequestSink(dut.req, dut.orig_data, 0)
    told = []

    async def come(ctx, with_data, with_beat):
        for name, value in (("come", 1), ("with_data", with_data), ("come_data", with_beat)):
            ctx.set(getattr(dut.arrival, name), value)
        ctx.set(dut.arrival.item.as_value(), words[0])
        ctx.set(dut.arrival.transfer.beat.as_value(), words[1])
        ctx.set(dut.arrival.transfer.end, 1)
        await ctx.tick()
        for name in ("come", "come_data"):
            ctx.set(getattr(dut.arrival, name), 0)
        for _ in range(4):
            told.append(ctx.get(dut.upset.control))
            await ctx.tick()

    async def scenario(ctx):
        await come(ctx, says, not says)
        assert sum(told) == 1 and not sink.received
        await come(ctx, True, True)
        assert sum(told) == 1 and sink.received == [(words[0], [words[1]])]

    run(dut, scenario, background=[sink.process])
