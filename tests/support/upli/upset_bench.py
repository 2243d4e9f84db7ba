"""The registers and memories in which the agents of a device hold beats, struck under traffic, and what comes of it."""

import random
import re

from amaranth.sim import Simulator

from support.upli.pair import POISON, Traffic, arrives_as
from support.upli.relay import Relay
from support.upsets import Memory, collect, flip
from ualink.upli.channels import CHANNEL_LAYOUTS, PROTECTED_BITS

__all__ = ["GOES_ROUND", "OF_PORTS", "WAITING", "WAITING_ON_THE_INTERFACE", "UpsetBench", "name_of"]

NO_ITEMS = {
    r"\.(connect|status|credits|\w*calendar|\w*burst)\.": "the state of a machine",
    r"^\w+\.(to_(come|drop)_\d|dropped__\d)$": "what is counted, and told",
    r"^(near\.(req|orig_data)|far\.(rd_rsp|wr_rsp))\.(control_error|data_error|turn_\d)$": "flags",
    r"^(near\.(req|orig_data)|far\.(rd_rsp|wr_rsp))\.(pool|room_\w+)$": "credits",
    r"_departure\.(taken_\d|there|there_\d|expects_\d|waiting|inside\w*)$": "whether something is there",
    r"_departure\.upset$": "told, and no more",
    r"\.upli__pool$": "which credit was spent",
    r"\.queue_\d\.(\w+\.)*(level|inside|waiting|readable|writ|read_|direct|free|fill|\$)\w*$": "a queue",
    r"\.queue_\d\.(\w+\.)*(oldest|others|third|newest|following|found|found_not|astray)$": "a queue",
    r"\.queue_\d\.(coming|due|upset|\w+_later)$": "which beat comes, and which leaves",
    r"\.queue_\d\.\w+\.wide\.(into|turn|source)$": "a queue",
    r"\.used_(here|branch)$": "how many ports are used, which stays while links are up",
}
"""Registers of agents in which no beat is."""

ON_THE_INTERFACE = r"\.upli__auth_tag$"
"""Is on the interface for one cycle, and no parity of UPLI covers it (ruling A-12 of UPLI)."""

WAITING_ON_THE_INTERFACE = r"(_departure\.kept|\.asi|\.uncovered_code)$"
"""What counts while a beat waits on the interface."""

FILLED_IN = r"^(near\.orig_data|far\.rd_rsp)\.(kept_\d|vc_code|auth_code|kept_code_\d)$"
"""What counts when a poisoned beat takes the place of another."""

GOES_ROUND = r"\.queue_\d\.\w+\.wide\.older$"
"""What is given in few cycles, those of which bit 1 of ``source`` beside it says so."""

OF_PORTS = r"_departure\.(place|ring_0)$"
"""What is given of several ports when it did not come just before."""

FILLED, WAITING = 50, 24
"""Slots without a beat taken until all queues are full, and until beats wait everywhere."""

MOST_WAITED = 400
"""Cycles until something is struck at last, counts it or not."""


def name_of(place) -> str:
    return ".".join(place.path)


def _matches(place, rules):
    return any(re.search(rule, name_of(place)) for rule in rules)


class UpsetBench:
    """A ``Relay`` under traffic; ``attempt`` strikes once and judges all that comes."""

    def __init__(self, config, ports, seed, *, choosable=False):
        self.relay = Relay(config, ports, choosable=choosable)
        self._fragment, registers, memories = collect(self.relay)
        self.inside = [place for place in (*registers, *memories) if place.path[0] in ("near", "far")]
        unused = [rf"\.(queue|place)_{port}\b" for port in range(ports, 4)]
        # Of several ports no beat waits on the pins.
        unused += [r"_departure\.due_code$"] if ports > 1 else []
        self.places = [place for place in self.inside if not _matches(place, (*NO_ITEMS, *unused))]
        some_cycles = [ON_THE_INTERFACE, WAITING_ON_THE_INTERFACE, FILLED_IN, GOES_ROUND]
        some_cycles += [OF_PORTS] if ports > 1 or choosable else []
        self.always = [place for place in self.places if not _matches(place, some_cycles)]
        self.traffic = Traffic(self.relay, config, seed, judge=False, offer=1.0)
        self.rng = random.Random(seed)

    def find(self, pattern: str) -> list:
        """The places inside, of beats or not, whose names match."""
        return [place for place in self.inside if _matches(place, (pattern,))]

    def flip(self, ctx, place, row=None) -> str:
        """Flip a bit of a beat in ``place``, or of what stands beside it."""
        return flip(ctx, self.rng, place, row)

    def run(self, story) -> None:
        async def bench(ctx):
            await self._warm_up(ctx)
            await story(ctx)

        simulator = Simulator(self._fragment)
        simulator.add_clock(1e-9)
        simulator.add_testbench(bench)
        simulator.run()

    async def _warm_up(self, ctx):
        """Until there are credits."""
        await self.traffic.run(ctx, 14 * self.relay.ports)

    async def attempt(self, ctx, strike, *, stalled=0, when=None) -> bool:
        """Strike once, while beats move or have been ``stalled`` for so many slots, as soon as ``when(ctx)`` once they
        move again; whether an agent found an error, as one did if anything that came is not what was sent. What came
        wrong is poisoned."""
        traffic, ports = self.traffic, self.relay.ports
        traffic.take = 0 if stalled else 0.9
        await traffic.run(ctx, (stalled or 4) * ports + self.rng.randrange(4))
        if when is not None:
            traffic.take = 0.9
        for _ in range(MOST_WAITED):
            if when is None or when(ctx):
                break
            await traffic.run(ctx, 1)
        where = strike(ctx)
        await traffic.run(ctx, 2)
        traffic.take = 1.0
        for _ in range(16):
            await traffic.run(ctx, 4 * ports, more=False)
            if not any(traffic.pending.values()) and traffic.accepted == traffic.received:
                break
        agents = self.relay.originator, self.relay.completer, *self.relay.inside
        found = any([ctx.get(agent.errors.as_value()) for agent in agents])
        for (channel, port), sent in traffic.accepted.items():
            _judge(channel, [arrives_as(channel, beat) for beat in sent], traffic.received[channel, port], found, where)
        if found:
            await traffic.reset(ctx)
            await self._warm_up(ctx)
        return found

    async def until_found(self, ctx, place, attempts=24) -> bool:
        """Strike ``place`` until that is found: a bit flips in vain where no beat is, or in data of a poisoned one."""
        for n in range(attempts):
            stalled = FILLED if isinstance(place, Memory) else n % 2 * WAITING
            if await self.attempt(ctx, lambda ctx: self.flip(ctx, place), stalled=stalled):
                return True
        return False


def _judge(channel, sent, received, found, where):
    """``received`` is what was ``sent``, in order; beats are missing or poisoned only if that was ``found``."""
    if sent == received:
        return
    assert found, where
    left = iter(sent)
    for beat in received:
        assert any(beat in (one, _poisoned(channel, one, beat)) for one in left), where


def _poisoned(channel, one, other):
    """``one``, poisoned, with data and byte enables of ``other``; None of what has no data.

    A later beat of a transfer has the AuthTag of ``other``, too, and its place in the transfer that is due: after an
    upset of whether a Request has data that is another's.
    """
    if channel not in POISON:
        return None
    layout = CHANNEL_LAYOUTS[channel]
    offset = layout["offset"]
    later = other >> offset.offset & (1 << offset.width) - 1
    any_bits = (*PROTECTED_BITS, "auth_tag", "offset", "last") if later else PROTECTED_BITS
    own = sum((1 << field.width) - 1 << field.offset for name, field in layout if name in any_bits)
    return one & ~own | other & own | 1 << layout[POISON[channel]].offset
