"""Spoilt traffic: the receiver finds a broken sequence or field in the same flit as the executable model."""

import random

import pytest

from support.tl.receive import CACHE, CHANNELS, OFFLINE, RECEIVE, ROOMY, run
from support.tl.received import received
from support.tl.traffic import Traffic
from ualink.tl.receive.error import ReceiveError
from ualink_sim.model.tl.sequence import ProtocolError, ReceiveSequence

pytestmark = RECEIVE

CONFIG = ROOMY.replace(rx_cache=CACHE)
OF_TAGS = {ReceiveError.AUTH_TAG_COUNT, ReceiveError.AUTH_TAG_SWAP, ReceiveError.AUTH_TAG_MESSAGE}
BY_THE_MODEL = OF_TAGS | {
    ReceiveError.FTYPE,
    ReceiveError.FOOTPRINT,
    ReceiveError.COMPRESSED_CMD,
    ReceiveError.BLOCK_CROSSING,
    ReceiveError.MANDATORY_NOP,
    ReceiveError.POISON_SLOT,
}
"""Errors that the sequence model knows; credits, rates and caches are accounts of their own."""


def spoil(rng, flit):
    """``flit`` with a bit flipped, its message bits changed, a half made a poison message, or the wrong upper half."""
    data, message = flit
    value = int.from_bytes(data, "little")
    match rng.randrange(6):
        case 0:
            return (value ^ 1 << rng.randrange(512)).to_bytes(64, "little"), message
        case 1:
            # FTYPE, or what is below it, of a field of the lower half.
            bit = 32 * rng.randrange(8) + rng.randrange(22, 32)
            return (value ^ 1 << bit).to_bytes(64, "little"), message
        case 2:
            return data, message ^ rng.randrange(1, 4)
        case 3:
            return data[:32] + rng.randbytes(32), message & 1
        case 4:
            # One field more.
            sector = rng.randrange(8)
            field = (rng.choice((4, 5, 5, 3)) << 28 | rng.randrange(1 << 28)).to_bytes(4, "little")
            return data[: 4 * sector] + field + data[4 * sector + 4 :], message
        case _:
            half = rng.randrange(2)
            return data[: 32 * half] + b"\x20" + data[32 * half + 1 :], message | 1 << half


def first_fatal(flits, authentication):
    """Number of the first flit that the model refuses."""
    model = ReceiveSequence(authentication)
    for number, flit in enumerate(flits):
        if any(isinstance(event, ProtocolError) and event.fatal for event in model.receive(*flit)):
            return number
    return None


@pytest.mark.req("TL-008", "TL-009", "TL-010", "TL-045", "TL-063", "TL-087", "TL-171", "TL-187", "TL-190", "TL-220")
@pytest.mark.req("TL-050", "TL-052", "TL-064", "TL-088", "TL-221")
@pytest.mark.parametrize("authentication", [False, True])
def test_spoilt_flits_are_found_where_the_model_finds_them(authentication):
    """And what is behind them after a restart is received as if nothing had been."""
    found = set()
    for seed in range(26):
        rng = random.Random(f"{seed} {authentication}")
        options = {"authentication": authentication, "messages": 0.05}
        flits = list(Traffic(CONFIG, f"spoilt {seed} {authentication}", **options).flits(14))
        number = rng.randrange(len(flits))
        spoilt = [spoil(rng, flits[number]) for _ in range(6)]
        # Most changes are of data and harm nothing: take one that the model refuses, if there is one.
        refused = [one for one in spoilt if first_fatal([*flits[:number], one], authentication) is not None]
        flits[number] = rng.choice(refused or spoilt)
        later = Traffic(CONFIG, f"later {seed}", **options)
        after = list(later.flits(6))
        restart = [*[None] * 8, OFFLINE, *[None] * (CACHE.rows + 2)]
        got = run(CONFIG, [*flits, *restart, *after], drain=14, authentication=int(authentication))

        codes = {code for _, code in got.errors}
        found |= codes
        expected = first_fatal(flits, authentication)
        if not codes or codes & BY_THE_MODEL:
            assert [cycle for cycle, _ in got.errors] == ([] if expected is None else [expected + 3]), seed
        else:
            # What the model does not know came first, or not at all for the model.
            [(cycle, _)] = got.errors
            assert expected is None or cycle <= expected + 3, seed
        up = len(flits) + len(restart)
        for channel, beats in received(CONFIG, after, authentication).items():
            assert [beat for cycle, beat in getattr(got, channel) if cycle >= up] == beats, (seed, channel)
    assert len(found & BY_THE_MODEL) >= 4, found
    assert bool(found & OF_TAGS) == authentication


@pytest.mark.req("TL-087", "TL-088", "TL-220")
def test_random_bytes_stop_the_receiver_without_a_word():
    """No flit at all of noise passes unless the model takes it too; the receiver never hangs."""
    for seed in range(12):
        rng = random.Random(f"noise {seed}")
        authentication = bool(seed % 2)
        noise = [(rng.randbytes(64), rng.randrange(4)) for _ in range(6)]
        good = Traffic(CONFIG, f"after noise {seed}", authentication=authentication)
        after = list(good.flits(6))
        restart = [*[None] * 8, OFFLINE, *[None] * (CACHE.rows + 2)]
        got = run(CONFIG, [*noise, *restart, *after], drain=14, authentication=int(authentication))
        assert got.errors and got.errors[0][0] <= len(noise) + 8
        up = len(noise) + len(restart)
        assert all(cycle >= up for channel in CHANNELS for cycle, _ in getattr(got, channel)), seed
        for channel, beats in received(CONFIG, after, authentication).items():
            assert [beat for cycle, beat in getattr(got, channel) if cycle >= up] == beats, (seed, channel)
