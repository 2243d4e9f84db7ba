"""Queues behind registers: every word once and in order, whatever both sides do."""

import random

import pytest

from support.csr.bench import Bench, stream_put


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_queue_while_filling(ports):
    """Every word once and in order, an error for each read that found none, at most ``ports`` cycles per access."""
    bench = Bench(ports)
    rng = random.Random(ports)
    words = [rng.getrandbits(32) | 1 for _ in range(60)]
    got = []

    async def fill(ctx):
        for word in words:
            while rng.random() < 0.6:
                await ctx.tick()
            await stream_put(ctx, bench.fill, word)

    async def story(ctx):
        empty = 0
        for _ in range(1_000):
            if len(got) == len(words):
                break
            data, error = await bench.master.read(ctx, 0x18)
            assert bench.master.cycles <= ports
            assert error == (data == 0)
            empty += error
            if not error:
                got.append(data)
            if rng.random() < 0.2:
                await ctx.tick().repeat(rng.randrange(1, 9))
        assert empty
        assert await bench.master.write(ctx, 0x18, 1) == 1

    bench.run(story, background=[fill])
    assert got == words


@pytest.mark.parametrize("ports", [1, 2, 4])
def test_queue_that_fills_up(ports):
    """What a write without error appended comes out, and nothing else."""
    bench = Bench(ports, depth=3)
    rng = random.Random(10 + ports)
    accepted, out = [], []
    finished = []

    async def story(ctx):
        refused = 0
        for _ in range(80):
            word = rng.getrandbits(32)
            error = await bench.master.write(ctx, 0x14, word)
            assert bench.master.cycles <= ports
            refused += error
            if not error:
                accepted.append(word)
        assert refused
        assert await bench.master.read(ctx, 0x14) == (0, 1)
        finished.append(True)

    async def drain(ctx):
        quiet = 0
        while not finished or quiet < 4 * ports + 4:
            ready = rng.random() < 0.3 or bool(finished)
            ctx.set(bench.drain.ready, ready)
            _, _, valid, payload = await ctx.tick().sample(bench.drain.valid, bench.drain.payload)
            quiet = 0 if valid else quiet + 1
            if valid and ready:
                out.append(payload)

    bench.run(story, drain)
    assert out == accepted
