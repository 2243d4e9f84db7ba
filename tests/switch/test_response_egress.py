"""The egress of a response plane: of a transfer that was found wrong nothing leaves, whoever is ready."""

import random

import pytest

from support.switch.bench import coded, pack, random_response, run
from ualink.switch.response_egress import ResponseEgress


class Reader:
    """A matcher and buffers: a transfer that is granted while there is room comes three cycles later, beat after beat.

    About every third one is found wrong in the cycle after its first beat has come; ``bad`` has their indices.
    """

    def __init__(self, dut, channel, seed, count=150):
        self.dut, rng = dut, random.Random(f"reader {channel} {seed}")
        most = 4 if channel == "rd_rsp" else 1
        self.items = [
            [coded(channel, pack(channel, beat)) for beat in random_response(rng, channel, n, 0, rng.randint(1, most))]
            for n in range(count)
        ]
        self.bad = {n for n in range(count) if rng.randrange(3) == 0}

    async def process(self, ctx):
        arrival, waiting = self.dut.arrival, list(enumerate(self.items))
        coming: dict[int, tuple[int, bool]] = {}
        found, cycle, free = set(), 0, 0
        while True:
            if waiting and ctx.get(arrival.room) and free <= cycle:
                n, beats = waiting.pop(0)
                coming |= {cycle + 3 + k: (beat, k == 0) for k, beat in enumerate(beats)}
                found |= {cycle + 4} if n in self.bad else set()
                free = cycle + len(beats)
            beat, first = coming.pop(cycle, (None, False))
            ctx.set(arrival.come, beat is not None)
            ctx.set(arrival.beat.as_value(), beat or 0)
            ctx.set(arrival.first, first)
            ctx.set(arrival.wrong, cycle in found)
            await ctx.tick()
            cycle += 1


@pytest.mark.req("RAS-009", "SW-043")
@pytest.mark.parametrize("channel", ["rd_rsp", "wr_rsp"])
@pytest.mark.parametrize("rate", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("asks", [False, True])
def test_a_wrong_transfer_is_dropped_whoever_is_ready(channel, rate, asks):
    """Beats taken at will, with ``asks`` only when one is on offer: those of the others leave, in order, and each wrong
    transfer is told once."""
    dut, rng = ResponseEgress(channel), random.Random(f"{channel} {rate} {asks}")
    reader, taken, told = Reader(dut, channel, rate), [], 0

    async def scenario(ctx):
        nonlocal told
        for _ in range(6000):
            ready = rng.random() < rate and (not asks or ctx.get(dut.rsp.valid))
            ctx.set(dut.rsp.ready, ready)
            sampled = dut.rsp.valid, dut.rsp.payload.as_value(), dut.upset.control
            _, _, offered, beat, upset = await ctx.tick().sample(*sampled)
            told += upset
            if ready and offered:
                taken.append(beat)

    run(dut, scenario, background=[reader.process])
    assert taken == [beat for n, beats in enumerate(reader.items) if n not in reader.bad for beat in beats]
    assert told == len(reader.bad) > 30
