"""The executable model of Tx pacing and of the change of the UPLI clock."""

import random
from collections import deque
from itertools import accumulate

import pytest

from ualink_sim.model.dl.messages import TLRateNotification, decode_message
from ualink_sim.model.dl.pacing import FULL_RATE, Accelerator, Device, Pacer, RateError, normalised_rate, pacing_rate


@pytest.mark.req("DL-050", "DL-051", "DL-052", "DL-110")
@pytest.mark.parametrize(
    ("clock_hz", "width", "gigabits", "rate"),
    [
        (1_562_500_000, 512, 800, 31_250),
        (1_562_500_000, 256, 400, 31_250),
        (1_562_500_000, 128, 200, 31_250),
        (156_250_000, 512, 800, 3_125),
        (156_250_000, 512, 200, 12_500),
        (781_250_000, 1024, 800, 31_250),
        (1_000_000_000, 512, 800, 20_000),
        (1_533_200_000, 512, 800, 30_664),
        (999_999_999, 512, 800, 19_999),
    ],
)
def test_normalised_rate(clock_hz, width, gigabits, rate):
    assert normalised_rate(clock_hz, width, gigabits) == rate


@pytest.mark.req("DL-051")
def test_rates_that_no_port_may_have():
    with pytest.raises(RateError, match="rate 3124 is below"):
        normalised_rate(156_249_999, 512, 800)
    with pytest.raises(RateError, match="not 100"):
        normalised_rate(1_562_500_000, 512, 100)
    with pytest.raises(RateError, match="rate 3124 is below"):
        next(Accelerator().change(3_124))


@pytest.mark.req("DL-108", "DL-114")
@pytest.mark.parametrize("rate", [3_125, 7_000, 15_626, 30_664, 31_250, 40_000])
def test_pacer_keeps_its_bounds(rate):
    rng = random.Random(rate)
    effective = min(rate, FULL_RATE)
    for load in (1, 0.5, 0.05):
        pacer = Pacer()
        went = [pacer.tick(rng.random() < load, rate) for _ in range(500)]
        sums = [0, *accumulate(went)]
        for n in (1, 2, 3, 9, 10, 11, 100, 499):
            counts = [sums[at + n] - sums[at] for at in range(1, 501 - n)]
            assert max(counts) <= -(-n * effective // FULL_RATE)
            if load == 1:
                assert min(counts) >= n * effective // FULL_RATE - 1
    assert all(Pacer().tick(True, rate) for _ in range(5))


@pytest.mark.req("DL-008", "DL-111", "DL-118")
def test_partner_takes_the_rate_and_acknowledges():
    device = Device()
    assert device.pace == FULL_RATE
    for rate, pace in ((3_125, 3_125), (20_000, 20_000), (31_250, 31_250), (40_000, 31_250), (0, 3_125)):
        message = decode_message(TLRateNotification(rate=rate).encode())
        assert isinstance(message, TLRateNotification)
        assert device.receive(message) == TLRateNotification(ack=1)
        assert device.pace == pace
    assert pacing_rate(20_000, 8_000) == 8_000


@pytest.mark.req("DL-110", "DL-115")
def test_a_switch_keeps_its_clock():
    with pytest.raises(RateError, match="fixed"):
        Device().change(20_000)


@pytest.mark.req("DL-112", "DL-116", "DL-117")
def test_steps_a_to_i():
    assert list(Accelerator().change(20_000)) == [
        ("pace", 3_125),
        ("send", TLRateNotification(rate=3_125)),
        ("ack",),
        ("reference",),
        ("program", 20_000),
        ("pll",),
        ("pace", 20_000),
        ("send", TLRateNotification(rate=20_000)),
        ("ack",),
        ("done",),
    ]


@pytest.mark.req("DL-008", "DL-109", "DL-113", "DL-117", "DL-118")
@pytest.mark.parametrize("seed", range(10))
def test_nobody_sends_faster_than_the_partner_takes(seed):
    """Two accelerators change their clocks again and again, at the same time, over links of any delay."""
    rng = random.Random(seed)
    ends = Accelerator(), Accelerator()
    wires: tuple[deque, deque] = deque(), deque()
    changes = [end.change(20_000) for end in ends]
    waiting = [False, False]
    targets = [20_000, 20_000]
    changed = [0, 0]
    for _ in range(3000):
        n = rng.randrange(2)
        end, incoming, outgoing = ends[n], wires[1 - n], wires[n]
        if incoming and rng.random() < 0.4:
            message = incoming.popleft()
            if message.ack:
                waiting[n] = False
            else:
                outgoing.append(end.receive(message))
        elif not waiting[n] and rng.random() < 0.5:
            step = next(changes[n])
            if step[0] == "send":
                outgoing.append(step[1])
                # Before the next step, which is to wait for it, the Ack may have come.
                waiting[n] = True
            elif step[0] == "done":
                assert end.rate == end.own_pace == targets[n] == ends[1 - n].partner_rate
                targets[n] = rng.choice([3_125, 9_000, 20_000, 31_250])
                changes[n] = end.change(targets[n])
                changed[n] += 1
        for one, other in (ends, ends[::-1]):
            assert one.pace <= other.rate
    assert min(changed) > 20
