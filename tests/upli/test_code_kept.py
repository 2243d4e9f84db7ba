"""A bit flips in what an agent holds of a beat: whoever takes the beat from the device next finds it wrong.

CI strikes the agents of one port; ``make soak`` (UALINK_SOAK=1) those of several, the lean ones, those of which it is
chosen how many ports are used, and each register of the interface.
"""

import functools
import os
import random
import re

import pytest

from support.shared_simulator import SharedSimulator
from support.upli.upset_bench import GOES_ROUND, OF_PORTS, WAITING, WAITING_ON_THE_INTERFACE, UpsetBench
from support.upsets import collect, name_of
from ualink.config import Credits, UPLIConfig
from ualink.lib.ports_used import RESTART_CYCLES
from ualink.upli.commands import ReqCmd
from ualink.upli.departure import DUE_LAYOUT
from ualink.upli.originator import Originator

WHOLE = bool(os.environ.get("UALINK_SOAK"))

PROMPT = UPLIConfig(req=Credits(pool=6), orig_data=Credits(pool=6), rd_rsp=Credits(pool=18), wr_rsp=Credits(pool=4))
SLOW = PROMPT.replace(prompt_data=False)
UNHURRIED = PROMPT.replace(unhurried=True)
OF_PORTS_RUNS = {"slow": (SLOW, 2, False), "one_of_four": (PROMPT, 1, True), "two_of_four": (PROMPT, 2, True)}
OF_PORTS_RUNS["four"] = (UNHURRIED, 4, False)
EVERY = {"prompt": (PROMPT, 1, False), "lean": (SLOW.replace(lean=True), 1, False)} | OF_PORTS_RUNS
RUNS = EVERY if WHOLE else {"prompt": EVERY["prompt"]}
ALL = pytest.mark.parametrize("run", RUNS)

PINS = r"^(near\.(rd_rsp|wr_rsp)|far\.(req|orig_data))\.\w+$"


def bench_of(run):
    config, ports, choosable = EVERY[run]
    return UpsetBench(config, ports, run, choosable=choosable)


def some(places, rng):
    """One of those registers of the interface that are of one channel, all other places."""
    pins: dict[tuple, list] = {}
    others = []
    for place in places:
        of_channel = pins.setdefault(place.path[:2], []) if re.search(PINS, name_of(place)) else others
        of_channel.append(place)
    return others + [rng.choice(group) for group in pins.values()]


@pytest.mark.soak
@pytest.mark.req("RAS-007", "RAS-009", "RAS-014", "RAS-015", "RAS-016", "RAS-108")
@ALL
def test_each_store_of_beats(run):
    """An upset in each register and memory in which beats are is found, whenever it is one, and nothing comes out wrong
    that is not poisoned."""
    bench = bench_of(run)
    stores = bench.always if WHOLE else some(bench.always, random.Random(run))

    async def story(ctx):
        unseen = [name_of(place) for place in stores if not await bench.until_found(ctx, place)]
        assert not unseen

    bench.run(story)


@pytest.mark.soak
@pytest.mark.req("RAS-014", "RAS-015", "RAS-016", "RAS-108")
@pytest.mark.parametrize("run", [run for run, (_, ports, _) in RUNS.items() if ports == 1])
def test_a_beat_that_waits_on_the_interface(run):
    """Of what no parity covers: each upset is found, however long the beat has waited."""
    bench = bench_of(run)
    places = bench.find(WAITING_ON_THE_INTERFACE)
    assert len(places) == 7

    async def story(ctx):
        for place in places:
            side, channel = place.path[0], place.path[1].removesuffix("_departure")
            (waiting,) = bench.find(rf"^{side}\.{channel}_departure\.waiting$")

            def strike(ctx, place=place, waiting=waiting):
                assert ctx.get(waiting.signal)
                return bench.flip(ctx, place)

            for more in range(10 if WHOLE else 1):
                assert await bench.attempt(ctx, strike, stalled=WAITING + more), name_of(place)

    bench.run(story)


class WaitingRequest:
    """A Request of port 0 in an Originator which waits for data that do not come."""

    def __init__(self, ports, choosable):
        self._ports = ports
        self._dut = Originator(PROMPT, 4 if choosable else ports, coded=True, choosable=choosable)
        fragment, registers, _ = collect(self._dut)
        self._simulator = SharedSimulator(fragment)
        (self._due,) = (place.signal for place in registers if name_of(place) == "req_departure.due")

    def told(self, code, bit=None):
        """Whether an error is told when ``code`` came with it, or when ``bit`` of what is decided by has changed."""
        seen = []

        async def told(ctx):
            dut, ports = self._dut, self._ports

            async def cycles(number):
                for _ in range(number):
                    await ctx.tick()
                    ctx.set(dut.slot, (ctx.get(dut.slot) + 1) % ports)

            if dut.choosable:
                ctx.set(dut.used, ports)
                # All copies of it come to agree.
                await cycles(RESTART_CYCLES)
            ctx.set(dut.req[0].p.cmd, ReqCmd.WRITE)
            ctx.set(dut.req[0].p.code.control, code)
            ctx.set(dut.req[0].valid, 1)
            while not ctx.get(dut.req[0].ready):
                await cycles(1)
            await cycles(1)
            ctx.set(dut.req[0].valid, 0)
            await cycles(4 * ports)
            if bit is not None:
                ctx.set(self._due, ctx.get(self._due) ^ 1 << bit)
            await cycles(ports + 2)
            seen.append(ctx.get(dut.errors.control.req))
            # Drop Mode frees its place.
            ctx.set(dut.drop, 1)
            await cycles(2 * ports)
            while ports > 1 and ctx.get(dut.slot) != ports - 1:
                await cycles(1)
            assert ctx.get(dut.req[0].ready) and ctx.get(dut.dropped[0].req) == 0

        self._simulator.run_all(told)
        return seen[0]


waiting_request = functools.cache(WaitingRequest)
"""Making its simulator takes longer than the test."""


@pytest.mark.req("RAS-014", "RAS-015", "RAS-016", "RAS-108")
@pytest.mark.parametrize(("ports", "choosable"), [(1, False), (2, False), (4, False), (1, True), (2, True), (4, True)])
def test_a_request_that_waits_for_data_that_do_not_come(ports, choosable):
    """An upset makes one with data of a Request without: it is told, though the Request goes nowhere."""
    even = ReqCmd.WRITE.value.bit_count() % 2
    assert not waiting_request(ports, choosable).told(even)
    assert waiting_request(ports, choosable).told(1 - even)


@pytest.mark.req("RAS-014")
@pytest.mark.parametrize("choosable", [False, True])
@pytest.mark.parametrize("bit", range(DUE_LAYOUT.size))
def test_what_is_decided_by_while_a_beat_waits(bit, choosable):
    """Of one port, whose beat waits on the pins: an upset of it may let the beat wait for ever, and is told."""
    assert waiting_request(1, choosable).told(ReqCmd.WRITE.value.bit_count() % 2, bit)


@pytest.mark.soak
@pytest.mark.req("RAS-007", "RAS-014", "RAS-108")
def test_what_goes_round_the_memories():
    """A beat that leaves in the second cycle after it came is in no memory yet."""
    bench = bench_of("prompt")
    places = bench.find(GOES_ROUND)
    assert places

    async def story(ctx):
        for place in places:
            (source,) = bench.find(re.escape(name_of(place)).replace("older", "source$"))

            def given(ctx, source=source):
                return ctx.get(source.signal) >> 1 & 1

            found = [
                await bench.attempt(ctx, lambda ctx, place=place: bench.flip(ctx, place), when=given) for _ in range(12)
            ]
            assert any(found), name_of(place)

    bench.run(story)


@pytest.mark.soak
@pytest.mark.req("RAS-007", "RAS-014", "RAS-108")
@pytest.mark.parametrize("run", OF_PORTS_RUNS if WHOLE else ["slow"])
def test_a_beat_that_has_waited_for_its_slot(run):
    """What is given of several ports, where it counts: in few cycles after a stall."""
    bench = bench_of(run)
    places = bench.find(OF_PORTS)
    assert len(places) == 4

    async def story(ctx):
        for place in places:
            departure = re.escape(".".join(place.path[:-1]))
            marks = [mark.signal for mark in bench.find(rf"^{departure}\.(there|there_0|stale)$")]
            for delay in range(30):
                cycles = iter(range(delay % 15))

                def given(ctx, cycles=cycles, marks=marks):
                    return next(cycles, None) is None and all(map(ctx.get, marks))

                if await bench.attempt(
                    ctx, lambda ctx, place=place: bench.flip(ctx, place), stalled=WAITING, when=given
                ):
                    break
            else:
                raise AssertionError(name_of(place))

    bench.run(story)
