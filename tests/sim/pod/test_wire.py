"""Latency, errors, losses and repeatability of the simulated wire."""

import math
import random
import time

import pytest

from ualink_sim.pod.wire import BAD, CONTROL, CUT, DATA, GOOD, IDLE, REMOTE_FAULT, Noise, Wire

ONES = (1 << 512) - 1


def send(wire, slots, kind=DATA, data=ONES):
    """Send ``slots`` flits back to back; the arrived (data, status) of whole slots, after the wire has run empty."""
    beats = []
    for _ in range(slots):
        beats += [wire.cycle(data, kind, beat == 0, beat == 9) for beat in range(10)]
    beats += [wire.cycle() for _ in range(len(wire._in_flight))]
    return [beat for beat in beats if beat is not None]


@pytest.mark.parametrize("latency", [1, 7, 40])
def test_beats_arrive_in_order_after_the_latency(latency):
    wire = Wire(latency)
    sent = [random.Random(n).getrandbits(512) for n in range(30)]
    arrived = []
    for n in range(30 + latency):
        inside = n < 30
        beat = wire.cycle(sent[n] if inside else None, DATA, n % 10 == 0, n % 10 == 9)
        if beat is not None:
            assert beat[1:3] == (len(arrived) % 10 == 0, len(arrived) % 10 == 9)
            assert n == len(arrived) + latency
            arrived.append(beat[0])
    assert arrived == sent


def test_gaps_between_beats_are_kept():
    wire = Wire(5)
    pattern = [True, False, False, True, True, False] * 5
    arrivals = [wire.cycle(1 if valid else None, DATA) is not None for valid in pattern + [False] * 5]
    assert arrivals == [False] * 5 + pattern


def test_control_slots_carry_the_fault_and_no_data():
    wire = Wire(1)
    assert {beat[3:] for beat in send(wire, 2, IDLE)} == {(CONTROL, IDLE)}
    assert {(beat[0], *beat[3:]) for beat in send(wire, 1, REMOTE_FAULT)} == {(0, CONTROL, REMOTE_FAULT)}
    assert {beat[3:] for beat in send(wire, 1)} == {(GOOD, DATA)}
    assert (wire.slots, wire.data_flits) == (4, 1)


@pytest.mark.parametrize("cut_at", [20, 25])
def test_a_cut_takes_everything_until_the_next_slot_behind_it(cut_at):
    """From the beat of the cut on; a slot that is under way arrives in part, and counts as cut."""
    wire = Wire(3)
    arrived = []
    for n in range(80):
        wire.cut = int(cut_at <= n < 43)
        arrived.append(wire.cycle(ONES, DATA, n % 10 == 0, n % 10 == 9))
    assert arrived[:3] == [None] * 3
    carried = [(ONES, n % 10 == 0, n % 10 == 9, GOOD, DATA) for n in range(80)]
    # What is left of the slot in which the cable was mended is lost too.
    assert arrived[3:] == carried[:cut_at] + [(0, False, False, BAD, CUT)] * (50 - cut_at) + carried[50:77]
    assert (wire.slots, wire.cut_slots, wire.lost_flits, wire.lost_slots) == (8, 3, 3, 0)


def test_a_cut_is_seen_while_nothing_is_sent():
    wire = Wire(1)
    wire.cut = 1
    assert [wire.cycle(), wire.cycle(), wire.cycle(1, IDLE, True)][1:] == [(0, False, False, BAD, CUT)] * 2
    wire.cut = 0
    assert [wire.cycle(1, IDLE), wire.cycle(1, IDLE, False, True)] == [(0, False, False, BAD, CUT)] * 2
    wire.cycle(1, IDLE, True)
    assert wire.cycle()[4] == IDLE
    assert wire.lost_flits == 0


def test_bit_errors_have_the_asked_rate_and_leave_the_slot_good():
    wire = Wire(1, Noise(bit_error_rate=1e-4), seed=3)
    beats = send(wire, 2000)
    flipped = sum((beat[0] ^ ONES).bit_count() for beat in beats)
    expected = 2000 * 5120 * 1e-4
    assert flipped == wire.flipped_bits
    assert abs(flipped - expected) < 5 * math.sqrt(expected)
    assert {beat[3] for beat in beats} == {GOOD}
    touched = sum(any(b[0] != ONES for b in beats[n : n + 10]) for n in range(0, len(beats), 10))
    assert touched == wire.errored_flits


def test_bit_errors_are_spread_over_all_positions():
    wire = Wire(1, Noise(bit_error_rate=0.01), seed=9)
    seen = 0
    for beat in send(wire, 300):
        seen |= beat[0] ^ ONES
    assert seen == ONES


@pytest.mark.parametrize("burst", [1, 4])
def test_losses_have_the_asked_rate_and_burst(burst):
    wire = Wire(1, Noise(drop_rate=0.02, burst=burst), seed=5)
    bad = [beat[3] == BAD for beat in send(wire, 20_000) if beat[2]]
    runs, events = 0, 0
    for lost, before in zip(bad, [False, *bad]):
        events += lost and not before
        runs += lost
    assert runs == wire.lost_flits == wire.lost_slots
    # A loss begins in a slot outside a burst with probability 0.02; adjoining bursts count as one run.
    free = 20_000 - runs
    begun = runs / burst
    assert abs(begun - free * 0.02) < 5 * math.sqrt(free * 0.02) + 0.02 * begun
    assert events <= begun + 1


def test_a_lost_slot_is_bad_in_every_beat_and_empty():
    wire = Wire(1, Noise(drop_rate=0.5), seed=1)
    beats = send(wire, 50)
    for n in range(0, len(beats), 10):
        assert len({beat[3] for beat in beats[n : n + 10]}) == 1
        if beats[n][3] == BAD:
            assert not any(beat[0] for beat in beats[n : n + 10])


def test_seed_and_name_fix_every_choice():
    def run(seed, name):
        return send(Wire(3, Noise(bit_error_rate=1e-4, drop_rate=0.05, burst=2), seed=seed, name=name), 200)

    assert run(1, "acc0.0>sw0.0") == run(1, "acc0.0>sw0.0")
    assert run(1, "acc0.0>sw0.0") != run(2, "acc0.0>sw0.0")
    assert run(1, "acc0.0>sw0.0") != run(1, "sw0.0>acc0.0")


@pytest.mark.parametrize(
    "arguments",
    [{"burst": 0}, {"bit_error_rate": 1.0}, {"bit_error_rate": -0.1}, {"drop_rate": 1.5}],
)
def test_bad_parameters_are_named(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        Noise(**arguments)
    with pytest.raises(ValueError, match="latency_cycles is 0"):
        Wire(0)


def test_an_undisturbed_beat_is_cheap():
    wire = Wire(40, Noise(bit_error_rate=1e-15, drop_rate=1e-12))
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        for n in range(10_000):
            wire.cycle(ONES, DATA, n % 10 == 0, n % 10 == 9)
        best = min(best, time.perf_counter() - start)
    assert best / 10_000 < 10e-6
    print(f"{best / 10_000 * 1e6:.2f} us per beat")
