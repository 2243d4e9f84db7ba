"""Credits for the full rate against a link that is played cycle by cycle: enough is enough, and not by far."""

from collections import deque
from dataclasses import replace
from fractions import Fraction

import pytest

from ualink.config import ConfigError, TLConfig
from ualink.tl.credit.sizing import (
    DL_RATE,
    CreditLoop,
    Traffic,
    allowed_rate,
    full_rate_config,
    full_rate_credits,
    return_limit,
)

WRITES = Traffic(requests=4, request_beats=4)  # compressed WriteFull of 256 bytes
SYMMETRIC = Traffic(requests=2, request_beats=4, responses=2)
READS = Traffic(requests=2, responses=3, response_beats=4)
SMALL_WRITES = Traffic(requests=4, request_beats=1, byte_enables=True)
REQUESTS = Traffic(requests=1)  # Reads one way: the source rate limit allows one a flit
TRAFFIC = [WRITES, SYMMETRIC, READS, SMALL_WRITES, REQUESTS, replace(SYMMETRIC, authentication=True)]
LOOP = CreditLoop(round_trip=120)


class Class:
    """One credit class: credits in hand and on their way back; ``total`` of them.

    The partner's FC fields leave when a credit is overdue and not before, or, if it is ``early``, when a quarter waits
    or a field is full.
    """

    def __init__(self, total, amount, field, loop, early):
        self.early = early
        self.hand, self.total, self.amount, self.field, self.loop = total, total, amount, field, loop
        self.waiting = self.age = 0
        self.back = deque()

    def tick(self, cycle, control):
        urgent = self.age >= self.loop.return_delay
        urgent |= self.early and self.waiting >= min(self.field, -(-self.total // 4))
        if control and self.waiting and urgent:
            count = min(self.field, self.waiting)
            self.waiting -= count
            self.back.append((cycle + self.loop.round_trip - self.loop.round_trip // 2, count))
            self.age = self.age if self.waiting else 0
        elif self.waiting:
            self.age += 1
        while self.back and self.back[0][0] <= cycle:
            self.hand += self.back.popleft()[1]


def play(traffic, loop, credits, early=True, cycles=4000):
    """Part of the full rate at which fields leave when both ends always have something to send.

    One Request and one Response a cycle may claim credits; a Control half-flit waits for all the fields of ``traffic``,
    its data follow, and a buffer is freed when all data of its field have been at the partner for ``loop.unload``.
    """
    spent = {name: item for name, item in traffic.spent.items() if item[0] and item[1]}
    most = {"req_cmd": 7, "rsp_cmd": 7, "req_data": 31, "rsp_data": 31}
    classes = {name: Class(credits[name], spent[name][1], most[name], loop, early) for name in spent}
    fields = {"req": traffic.requests, "rsp": traffic.responses}
    sight = {"req": loop.requests_in_sight, "rsp": loop.responses_in_sight}
    queued = {"req": 0, "rsp": 0}
    arriving = deque()
    owed, allowance, sent, measured = Fraction(0), Fraction(0), 0, 0
    for cycle in range(cycles):
        control = cycle % loop.away == 0  # the partner is as busy as can be
        for item in classes.values():
            item.tick(cycle, control)
        while arriving and arriving[0][0] <= cycle:
            _, kind = arriving.popleft()
            for name, item in classes.items():
                if name.startswith(kind):
                    item.waiting += item.amount
        for kind, count in queued.items():
            needs = [item for name, item in classes.items() if name.startswith(kind)]
            if count < sight[kind] and needs and all(item.hand >= item.amount for item in needs):
                for item in needs:
                    item.hand -= item.amount
                queued[kind] += 1
        allowance = min(allowance + DL_RATE, Fraction(2))
        if allowance < 1:
            continue
        if owed >= 1:
            owed -= 1
            allowance -= 1
        elif all(queued[kind] >= fields[kind] for kind in queued):
            allowance -= 1
            owed += traffic.flits - 1
            complete = cycle + int(traffic.flits / DL_RATE) + loop.round_trip // 2 + loop.unload
            for kind, number in fields.items():
                queued[kind] -= number
                arriving.extend([(complete, kind)] * number)
            sent += 1
            measured += cycle >= cycles // 3
    return Fraction(measured) * traffic.flits / (DL_RATE * (cycles - cycles // 3))


@pytest.mark.parametrize("traffic", TRAFFIC)
@pytest.mark.parametrize("loop", [LOOP, replace(LOOP, round_trip=400, away=2, return_delay=4)])
def test_credits_for_the_full_rate_are_enough(traffic, loop):
    credits = full_rate_credits(traffic, loop)
    limit = return_limit(traffic, loop)
    assert allowed_rate(traffic, loop, credits) == limit
    assert 0.97 * limit < play(traffic, loop, credits) < 1.03 * limit
    assert 0.97 * limit < play(traffic, loop, credits, early=False)


def test_one_fc_field_returns_so_many_credits():
    """A partner that only sends full Control half-flits with 64 data half-flits cannot return what small Requests
    spend, however many credits there are; one that has a Control half-flit in every second flit can."""
    plenty = dict.fromkeys(full_rate_credits(REQUESTS, LOOP), 600)
    limit = return_limit(REQUESTS, LOOP)
    assert limit == Fraction(7, 34) / DL_RATE
    assert 0.97 * limit < play(REQUESTS, LOOP, plenty) < 1.03 * limit
    often = replace(LOOP, away=2)
    assert return_limit(REQUESTS, often) == 1 and play(REQUESTS, often, plenty) > 0.98


@pytest.mark.parametrize("traffic", TRAFFIC)
@pytest.mark.parametrize("part", [0.3, 0.5, 0.7])
def test_fewer_credits_allow_what_is_promised_and_not_much_more(traffic, part):
    """The promise counts the longest way of every credit, so the link does better, by the batches that leave early."""
    credits = {}
    for name, count in full_rate_credits(traffic, LOOP).items():
        amount = traffic.spent[name][1] or 1
        credits[name] = int(count * part) // amount * amount
    promised = allowed_rate(traffic, LOOP, credits)
    seen, late = play(traffic, LOOP, credits), play(traffic, LOOP, credits, early=False)
    assert 0 < promised <= late * Fraction(102, 100) and promised <= seen * Fraction(102, 100)
    assert seen < 2 * promised + Fraction(1, 10)
    assert promised < 1


def test_the_longest_way_of_a_credit():
    """With credits for one field at a time the link goes round as often as promised, no more where the partner's
    Control half-flits come at the worst time."""
    traffic = Traffic(requests=1, request_beats=4, byte_enables=True)
    shares = []
    for round_trip in range(100, 134, 2):
        loop = replace(LOOP, round_trip=round_trip)
        one = {"req_cmd": 1, "req_data": 4}
        shares.append(allowed_rate(traffic, loop, one) / play(traffic, loop, one, early=False))
    assert 0.97 < max(shares) <= 1.01 and min(shares) < 0.9


@pytest.mark.parametrize(
    "traffic, flits",
    [(WRITES, 16.5), (replace(SYMMETRIC, authentication=True), 9), (SMALL_WRITES, 6.5), (REQUESTS, 1)],
)
def test_flits_of_a_control_half_flit(traffic, flits):
    """33 half-flits with 32 of data; the 9 flits of UALink_200 Table 5-19; 4 times 3 and 1; a flit without data."""
    assert traffic.flits == flits


def test_a_class_that_the_traffic_does_not_use_needs_none():
    credits = full_rate_credits(WRITES, LOOP)
    assert credits["rsp_cmd"] == credits["rsp_data"] == 0
    assert credits["req_data"] == 4 * credits["req_cmd"]
    assert allowed_rate(WRITES, LOOP, {"req_cmd": credits["req_cmd"]}) == 0  # no data credits at all


def test_a_configuration_for_the_full_rate():
    config = full_rate_config(TLConfig(), WRITES, LOOP)
    assert config.req_data.pool == full_rate_credits(WRITES, LOOP)["req_data"]
    assert config.rsp_data.pool == 4 and config.rsp_cmd.pool == 1  # the least that a link can live with


@pytest.mark.parametrize("members", [{}, {"requests": 5}, {"requests": 1, "request_beats": 5}, {"responses": 9}])
def test_traffic_that_no_half_flit_carries_is_refused(members):
    with pytest.raises(ConfigError, match="traffic"):
        Traffic(**members)
