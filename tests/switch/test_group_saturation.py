"""Throughput of groups of 16 and 32 ports that all send to all (UALink_200 §10.9.3).

The matchers of all banks are the real ones, with as many ports. A plane of 32 ports has 128 buffers, too many to
simulate here, so ``Plane`` stands for them; ``test_shared_buffer.py`` shows that buffers do what it says.
"""

import random
from collections import deque

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from switch.test_saturation import DEPTHS, LINE_RATE
from switch.test_shares import SharesModel
from ualink.switch.grid import Grid
from ualink.switch.matching.matcher import Matcher

LATER = 2
"""Cycles from an accepted grant to the one from which on the first beat is no longer in the buffer."""


class Plane:
    """Ingress ports that always have a transfer of ``beats`` beats for a port at random, in order, and their buffers.

    An item is there once its last beat has come. ``matchers`` see with data what is there and not accepted.
    """

    def __init__(self, ports, beats, seed):
        self.ports, self.beats, self.random = ports, beats, random.Random(seed)
        self.banks = Grid(ports, ports).columns
        self.matchers = [Matcher(ports, len(egresses)) for egresses in self.banks]
        self.buffers = [
            [SharesModel(len(egresses), DEPTHS.rd_rsp, DEPTHS.shared) for egresses in self.banks] for _ in range(ports)
        ]
        self.there = [[[0] * len(egresses) for egresses in self.banks] for _ in range(ports)]
        self.sending = [(self.random.randrange(ports), beats) for _ in range(ports)]
        self.leaving = deque()  # (cycle, ingress, bank, place) of beats
        self.sent = 0

    def show(self, ctx):
        for number, matcher in enumerate(self.matchers):
            for n in range(self.ports):
                waits = sum(bool(items) << k for k, items in enumerate(self.there[n][number]))
                ctx.set(matcher.with_data[n], waits)
                ctx.set(matcher.more[n], sum((items > 1) << k for k, items in enumerate(self.there[n][number])))

    def sample(self, ctx, cycle):
        """What is accepted in this cycle, and what is read."""
        for number, matcher in enumerate(self.matchers):
            for n in range(self.ports):
                accepted = ctx.get(matcher.accept[n])
                if accepted:
                    place = accepted.bit_length() - 1
                    self.there[n][number][place] -= 1
                    self.leaving.extend((cycle + LATER + beat, n, number, place) for beat in range(self.beats))

    def move(self, cycle):
        """The other beats of this cycle: they leave the buffers, and others come."""
        for _ in range(len(self.leaving)):
            when, n, number, place = self.leaving.popleft()
            if when <= cycle:
                self.buffers[n][number].levels[place] -= 1
                self.sent += 1
            else:
                self.leaving.append((when, n, number, place))
        for n, (destination, left) in enumerate(self.sending):
            number, place = destination % len(self.banks), destination // len(self.banks)
            buffer = self.buffers[n][number]
            if not buffer.room(place):
                continue
            buffer.levels[place] += 1
            self.sending[n] = destination, left - 1
            if left == 1:
                self.there[n][number][place] += 1
                self.sending[n] = self.random.randrange(self.ports), self.beats


def saturate(ports, beats, warm_up, cycles):
    """Beats sent by each egress port per cycle."""
    plane = Plane(ports, beats, f"group {ports} {beats}")
    m = Module()
    m.submodules += plane.matchers

    async def bench(ctx):
        for matcher in plane.matchers:
            every = 2**matcher.egresses - 1
            ctx.set(matcher.room, every)
            ctx.set(matcher.data_room, every)
            for row in matcher.beats:
                for signal in row:
                    ctx.set(signal, beats - 1)
        for cycle in range(warm_up + cycles):
            if cycle == warm_up:
                plane.sent = 0
            plane.show(ctx)
            plane.sample(ctx, cycle)
            plane.move(cycle)
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return plane.sent / cycles / ports


@pytest.mark.req("SW-038", "SW-085")
@pytest.mark.parametrize("ports", [16, 32])
@pytest.mark.parametrize(("beats", "warm_up"), [(1, 300), (4, 500)])
def test_uniform_random_in_groups_of_16_and_32(beats, warm_up, ports):
    """More than links can bring, from every port to ports drawn at random."""
    assert saturate(ports, beats, warm_up, 200) >= LINE_RATE
