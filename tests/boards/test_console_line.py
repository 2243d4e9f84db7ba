"""The serial line: bytes in both directions, clocks that differ, what is no byte."""

import random
from itertools import pairwise

import pytest

from support.boards.console_line import CLOCK_HZ, Listener, Sender, run
from ualink.config import ConfigError
from ualink.lib.serial_line import BitClock, SerialReceiver, SerialTransmitter

BAUDS = (125_000, 117_000, 57_600)
"""8, 8.55 and 17.4 cycles a bit."""


def _receive(baud, story):
    """Bytes, and broken ones, that a receiver sees of what ``story(ctx, pin)`` does."""
    receiver = SerialReceiver(CLOCK_HZ, baud)
    seen = []

    async def watch(ctx):
        async for _, _, received, broken, data in ctx.tick().sample(receiver.received, receiver.broken, receiver.data):
            if received or broken:
                assert received != broken
                seen.append(data if received else "broken")

    async def drive(ctx):
        await ctx.delay(20e-6)
        await story(ctx, receiver.line)
        await ctx.delay(20 / baud)

    run(receiver, drive, background=(watch,))
    return seen


@pytest.mark.parametrize(
    ("baud", "error"),
    [(baud, error) for baud in BAUDS for error in (-0.025, 0, 0.025)] + [(57_600, -0.04), (57_600, 0.04)],
)
def test_back_to_back_bytes_of_a_clock_that_is_off(baud, error):
    rng = random.Random(f"{baud} {error}")
    data = bytes((0x00, 0xFF, 0x55, 0xAA, 0x01, 0x80)) + rng.randbytes(12)

    async def story(ctx, pin):
        sender = Sender(pin, baud, error)
        for value in data:
            await sender.byte(ctx, value)
            if rng.random() < 0.2:
                await sender.rest(ctx, rng.random())

    assert _receive(baud, story) == list(data)


def test_a_glitch_is_no_start_bit_and_no_bit():
    async def story(ctx, pin):
        sender = Sender(pin, 50_000)
        for cycles in (1, 2, 5, 8):
            ctx.set(pin, 0)
            await ctx.delay(cycles * 1e-6)
            await sender.rest(ctx, 3)
        # One sample of a bit is wrong, in its very middle.
        for level in [0, *[1] * 9]:
            ctx.set(pin, level)
            await ctx.delay(10e-6)
            ctx.set(pin, 1 - level)
            await ctx.delay(1e-6)
            ctx.set(pin, level)
            await ctx.delay(9e-6)

    assert _receive(50_000, story) == [0xFF]


def test_a_byte_without_stop_bit_is_broken_and_the_next_is_whole():
    async def story(ctx, pin):
        sender = Sender(pin, 100_000)
        await sender.byte(ctx, 0x42)
        await sender.byte(ctx, 0x43, stop=0)
        await sender.rest(ctx, 2)
        await sender.byte(ctx, 0x44)

    assert _receive(100_000, story) == [0x42, "broken", 0x44]


def test_a_break_is_one_broken_byte_however_long_it_is():
    async def story(ctx, pin):
        sender = Sender(pin, 100_000)
        await sender.levels(ctx, [0] * 57)
        await sender.rest(ctx, 1)
        await sender.byte(ctx, 0x99)

    assert _receive(100_000, story) == ["broken", 0x99]


@pytest.mark.parametrize("baud", BAUDS)
def test_transmitted_bytes(baud):
    transmitter = SerialTransmitter(CLOCK_HZ, baud)
    listener = Listener(transmitter.line, baud)
    rng = random.Random(baud)
    data = bytes((0x00, 0xFF, 0x55)) + rng.randbytes(12)
    levels = []

    async def watch(ctx):
        async for _, _, level in ctx.tick().sample(transmitter.line):
            levels.append(level)

    async def feed(ctx):
        assert ctx.get(transmitter.line) == 1
        for number, value in enumerate(data):
            if number == 8:
                await ctx.tick().repeat(rng.randrange(100, 300))
            ctx.set(transmitter.bytes.payload, value)
            ctx.set(transmitter.bytes.valid, 1)
            await ctx.tick().until(transmitter.bytes.ready)
            ctx.set(transmitter.bytes.valid, 0)
        await ctx.delay(12 / baud)

    run(transmitter, feed, background=(listener.listen, watch))
    assert bytes(listener.received) == data
    # 0x00 and 0xFF have one falling edge each: the two are ten bits apart, without a pause between the bytes.
    falls = [cycle for cycle, pair in enumerate(pairwise(levels)) if pair == (1, 0)]
    assert falls[1] - falls[0] == pytest.approx(10 * CLOCK_HZ / baud, abs=1.01)


@pytest.mark.parametrize(
    ("clock_hz", "baud", "reason"),
    [
        (0, 1, "clock_hz is 0"),
        (True, 1, "clock_hz is True"),
        (8, 0, "baud is 0"),
        (8, 1.5, "baud is 1.5"),
        (7_999, 1_000, "baud is 1,000; with a clock of 7,999 Hz it may be 999 at most"),
    ],
)
def test_rates_that_cannot_be_are_refused(clock_hz, baud, reason):
    with pytest.raises(ConfigError) as refused:
        BitClock(clock_hz, baud)
    assert str(refused.value).startswith(reason)
