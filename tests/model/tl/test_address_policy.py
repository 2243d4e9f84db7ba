"""The replacement policy on the address patterns that it is made for, and its rules one by one."""

import random

import pytest

from ualink_sim.bench.address_patterns import (
    ADDRESS_BITS,
    PATTERNS,
    interleaved,
    random_addresses,
    random_with_hot_streams,
    regions,
    streaming,
    strided,
)
from ualink_sim.model.tl.address_policy import OLDEST, AddressPolicy, Answer, hit_rate

LEAST = {
    "streaming": 0.999,
    "strided_64k": 0.87,
    "strided_256k": 0.59,
    "streams_4": 0.998,
    "streams_8": 0.499,
    "streams_8_burst_4": 0.59,
    "random": 0.0,
    "random_hot_2": 0.45,
    "random_hot_4": 0.26,
    "changing_4": 0.95,
}


@pytest.mark.parametrize("name", PATTERNS)
def test_hit_rates(name):
    assert hit_rate(regions(PATTERNS[name](20_000))) >= LEAST[name]


@pytest.mark.parametrize("ways", [1, 2, 3, 4])
def test_streams_beyond_the_ways_do_not_push_each_other_out(ways):
    """Where the least recently used entry gave way, no stream would ever hit."""
    streams = ways + 4
    assert hit_rate(regions(interleaved(8000, streams)), ways) == pytest.approx(ways / streams, abs=0.01)


def test_a_scan_leaves_the_streams_that_come_back():
    policy = AddressPolicy(1, 4)
    for stream in range(4):
        assert policy.look_up(0, stream).load
    for n in range(1000):
        assert policy.look_up(0, n % 4).hit
        assert policy.look_up(0, 100 + n) == Answer()


def test_an_entry_is_lost_after_as_many_misses_as_its_age_can_count():
    policy = AddressPolicy(1, 1)
    assert policy.look_up(0, 1).load
    for n in range(OLDEST):
        assert policy.look_up(0, 2 + n) == Answer()
    assert policy.look_up(0, 99) == Answer(load=True, way=0)
    assert policy.look_up(0, 99) == Answer(hit=True, way=0)


def test_requests_that_are_no_candidates_change_nothing():
    policy = AddressPolicy(2, 2)
    for n in range(50):
        assert policy.look_up(0, n, candidate=False) == Answer()
    assert policy.look_up(0, 7) == Answer(load=True, way=0)
    assert policy.look_up(1, 7) == Answer(load=True, way=0)
    policy.invalidate(0, 0)
    assert policy.look_up(0, 7) == Answer(load=True, way=0)
    policy.clear()
    assert policy.look_up(1, 7) == Answer(load=True, way=0)


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_give_blocks_of_the_address_space(name):
    addresses = list(PATTERNS[name](3000))
    assert len(addresses) == 3000
    assert all(0 <= address < 1 << ADDRESS_BITS and address % 256 == 0 for address in addresses)
    assert addresses == list(PATTERNS[name](3000))


def test_patterns_are_what_they_say():
    assert list(streaming(4)) == [0, 256, 512, 768]
    assert list(strided(3, 1 << 20)) == [0, 1 << 20, 1 << 21]
    eight = [address >> 20 for address in interleaved(32, 8)]
    assert eight[:8] == eight[8:16] and len(set(eight)) == 8
    bursts = [address >> 20 for address in interleaved(32, 8, burst=4)]
    assert len(set(bursts[:4])) == 1 and len(set(bursts)) == 8
    assert len(set(regions(random_addresses(1000)))) > 950
    hot = [address >> 50 for address in random_with_hot_streams(4000, share=0.25, seed=random.Random(3).random())]
    assert sum(hot) == pytest.approx(1000, abs=120)
