"""Isolation Mode of an Accelerator's Originator, in lockstep with its model (UALink_200 §3.1.3).

Of random traffic CI draws one run; ``make soak`` (UALINK_SOAK=1) more.
"""

import os

import pytest
from amaranth.sim import Simulator

from support.upli.devices import DevicePort
from ualink.checks import ConfigError
from ualink.upli.isolation.isolation import Isolation
from ualink_sim.model.upli import transactions as upli

TAGS, RECEIVED = 8, 16
SEEDS = range(6) if os.environ.get("UALINK_SOAK") else (0,)


class Bench:
    """An ``Isolation`` with a ``DevicePort`` at each of its ports."""

    def __init__(self, ctx, isolation, ports, seed):
        self.ctx, self.isolation, self.now = ctx, isolation, 0
        self.ports = [DevicePort(isolation, number, TAGS, seed) for number in range(ports)]
        self.begun = None

    async def run(self, cycles, until=lambda: False):
        """``cycles`` cycles, or until ``until``; gives how many they were."""
        ctx, isolation = self.ctx, self.isolation
        for count in range(cycles):
            isolated = bool(ctx.get(isolation.status.isolated))
            if self.begun is not None and not isolated:
                self.begun = None
                for port in self.ports:
                    port.leave()
            elif self.begun is None and isolated:
                self.begun = self.now
            for port in self.ports:
                port.drive(ctx, bool(ctx.get(isolation.drop)))
            for port in self.ports:
                port.look(ctx, self.now, isolated)
            ended = until()
            await ctx.tick()
            self.now += 1
            if ended:
                return count
        return cycles

    def set(self, **values):
        for port in self.ports:
            for name, value in values.items():
                setattr(port, name, value)

    async def pulse(self, name):
        self.ctx.set(getattr(self.isolation.control, name), 1)
        await self.run(1)
        self.ctx.set(getattr(self.isolation.control, name), 0)

    async def leave(self):
        """Firmware clears; nothing new is asked for until Isolation has been left."""
        await self.pulse("clear")
        await self.run(600, lambda: not self.ctx.get(self.isolation.status.isolated))
        await self.run(1)
        assert self.begun is None, "Isolation was cleared and goes on"


def simulate(ports, seed, bench):
    isolation = Isolation(ports, TAGS, RECEIVED)

    async def run(ctx):
        await bench(ctx, Bench(ctx, isolation, ports, seed))

    sim = Simulator(isolation)
    sim.add_clock(1e-9)
    sim.add_testbench(run)
    sim.run()


@pytest.mark.req("RAS-063", "RAS-064", "RAS-068", "RAS-069", "RAS-070", "RAS-071", "RAS-074", "RAS-075", "UPLI-190")
@pytest.mark.soak
@pytest.mark.parametrize("ports", [1, 2, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_request_gets_its_answer_or_dummies_for_what_is_missing_of_it(ports, seed):
    """Random traffic of all lengths in both response modes; Isolation on command at any moment, again and again."""

    async def bench(ctx, bench):
        for turn in range(12):
            bench.set(asks=0.6, answers=0.7 if turn % 2 else 0.15, takes=(0.2, 0.9)[turn % 3 == 0])
            await bench.run(40 + 7 * turn)
            assert not ctx.get(bench.isolation.status.isolated)
            await bench.pulse("enter")
            await bench.run(150)
            assert ctx.get(bench.isolation.status.cause.as_value()) == 0b100
            assert ctx.get(bench.isolation.drop)
            await bench.leave()
        bench.set(asks=0, answers=1)
        await bench.run(600, lambda: all(port.done for port in bench.ports))
        for port in bench.ports:
            assert port.done
            assert port.answered > 30 and port.dummied > 30

    simulate(ports, seed, bench)


@pytest.mark.req("RAS-006", "RAS-065", "RAS-066", "RAS-067", "RAS-070")
@pytest.mark.parametrize("limit", [1, 20, 200])
def test_a_watchdog_over_its_limit_isolates_all_ports(limit):
    """The oldest Request without an answer says when; those that are answered in time never do."""

    async def bench(ctx, bench):
        ctx.set(bench.isolation.control.limit, limit)
        bench.set(answers=0)
        status, silent = bench.isolation.status, bench.ports[1]
        bench.ports[0].asks = 0
        await bench.run(100, lambda: bool(silent.model.outstanding))
        since = min(record.since for record in silent.model.outstanding.values())
        silent.model.limit = limit
        await bench.run(limit + 40, lambda: bool(ctx.get(status.isolated)))
        assert limit < bench.begun - since <= limit + TAGS + 4
        assert ctx.get(status.cause.as_value()) == 0b001
        assert ctx.get(status.port) == 1
        assert (0, ctx.get(status.tag)) in silent.model.expired(bench.now)
        bench.set(asks=0.3)
        await bench.run(300, lambda: all(port.dummied > 5 for port in bench.ports))
        assert all(port.dummied > 5 for port in bench.ports), "Isolation is for all ports"

    simulate(2, 1, bench)


@pytest.mark.req("RAS-064", "RAS-065", "RAS-067")
@pytest.mark.parametrize("seed", range(2))
def test_a_request_that_was_answered_in_time_is_no_reason(seed):
    """Answers come about when the watchdogs bark: the tag that is told has a Request that is over its time."""

    async def bench(ctx, bench):
        status, port = bench.isolation.status, bench.ports[0]
        bench.set(asks=0.5, answers=0.25, takes=1)
        ctx.set(bench.isolation.control.limit, 18)
        port.model.limit = 18
        late = []

        def barks():
            late.append(port.model.expired(bench.now + 1))
            return bool(ctx.get(status.event))

        for _ in range(60):
            await bench.run(200, barks)
            # Before what the cycle of the event brings: that may be the answer.
            assert (0, ctx.get(status.tag)) in late[-2]
            await bench.run(30)
            await bench.leave()

    simulate(1, seed, bench)


@pytest.mark.req("RAS-064", "RAS-066")
@pytest.mark.parametrize("limit", [0, 150])
def test_no_watchdog_barks_when_every_answer_comes_in_time_or_time_has_no_limit(limit):
    async def bench(ctx, bench):
        ctx.set(bench.isolation.control.limit, limit)
        if limit:
            bench.set(asks=0.1, answers=1, takes=1)
        else:
            bench.set(answers=0)
        await bench.run(700)
        assert not ctx.get(bench.isolation.status.isolated)
        assert ctx.get(bench.isolation.status.cause.as_value()) == 0

    simulate(1, 2, bench)


@pytest.mark.req("UPLI-265", "UPLI-270", "RAS-097")
@pytest.mark.parametrize("seed", range(4))
def test_isolate_on_one_port_isolates_all_and_answers_nothing(seed):
    """Its tag, whatever it is, belongs to no Request; no device sees it."""

    async def bench(ctx, bench):
        bench.set(answers=0.4)
        await bench.run(60)
        bench.ports[seed % 2].isolates = 1
        await bench.run(60, lambda: bool(ctx.get(bench.isolation.status.isolated)))
        assert ctx.get(bench.isolation.status.cause.as_value()) == 0b010
        await bench.run(200)
        assert all(port.dummied for port in bench.ports)
        assert ctx.get(bench.isolation.status.strays) == 0
        await bench.leave()
        assert ctx.get(bench.isolation.status.cause.as_value()) == 0
        bench.set(asks=0, answers=1)
        await bench.run(600, lambda: all(port.done for port in bench.ports))
        assert all(port.done and port.answered for port in bench.ports)

    simulate(2, seed, bench)


@pytest.mark.parametrize("after", [1, 5, RECEIVED])
def test_an_event_while_isolation_is_being_left_begins_it_anew(after):
    """It is left when all that the agent may have received has had time to come, and not a cycle earlier."""

    async def bench(ctx, bench):
        status = bench.isolation.status
        bench.set(asks=0)
        await bench.run(TAGS + 2)
        await bench.pulse("enter")
        await bench.pulse("clear")
        await bench.run(after)
        assert ctx.get(status.isolated), "beats of before may still come"
        await bench.pulse("enter")
        await bench.run(4 * RECEIVED)
        assert ctx.get(status.isolated)
        await bench.leave()

    simulate(1, 4, bench)


def test_an_event_in_the_cycle_of_clear_wins():
    async def bench(ctx, bench):
        await bench.run(30)
        await bench.pulse("enter")
        await bench.run(20)
        ctx.set(bench.isolation.control.enter, 1)
        await bench.pulse("clear")
        ctx.set(bench.isolation.control.enter, 0)
        await bench.run(300)
        assert ctx.get(bench.isolation.status.isolated)
        assert ctx.get(bench.isolation.status.cause.as_value()) == 0b100
        await bench.leave()

    simulate(1, 3, bench)


def test_a_response_without_a_request_is_dropped_and_counted():
    async def bench(ctx, bench):
        bench.set(asks=0, takes=0)
        port = bench.ports[0]
        await bench.run(TAGS + 2)
        port.writes.append(upli.WrRspBeat(tag=3))
        port.reads.append(upli.RdRspBeat(tag=2000, data=bytes(64)))
        await bench.run(30)
        assert not port.writes and not port.reads, "it waits for nobody"
        assert ctx.get(bench.isolation.status.strays) == 2

    simulate(1, 3, bench)


def test_tags_and_buffers_that_cannot_be():
    for tags in (1, 2049, "8"):
        with pytest.raises(ConfigError, match="tags"):
            Isolation(1, tags, 4)
    with pytest.raises(ConfigError, match="received"):
        Isolation(1, 8, 0)
