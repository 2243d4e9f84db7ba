"""Bits of what a switch core holds, flipped one at a time under traffic, and what becomes of it."""

import re

from amaranth.hdl import Value

from support.switch.drop_bench import READ, WRITE, Bench
from support.upsets import Memory, Place, collect, name_of
from ualink.upli.channels import CHANNEL_LAYOUTS, CODE_LAYOUTS, CODED_LAYOUTS, PROTECTED_BITS

__all__ = ["UpsetBench"]

ITEM_SIZES = sorted((layout.size for layout in CODED_LAYOUTS.values()), reverse=True)
AGENTS = ("ingress", "egress")
TO_ITSELF = re.compile(r"bank_(\d+)_0\.(?:requests|data|buffer)_\1\.")
"""Buffers between the two ports of a station, which is one port here."""
HELD_BACK = re.compile(r"\.queue_0\.\w+\.narrow\.storage$")
"""Memories of agents to which beats come only when three wait before them, which the core does not take."""
POISON = {"orig_data": "error", "rd_rsp": "data_error"}


class UpsetBench(Bench):
    """Episodes: traffic, one upset, traffic, Drop Mode cleared where there is any, traffic until all is through.

    ``everything`` : all registers and memories; ``places`` : those of the core, and of its agents, that can hold a
        coded beat, by width.
    ``tables`` : the copies of the route tables.
    ``seen`` : what one episode has shown: ``("upset", side, station, kind)``, ``("dropping", side, station)`` of the
    core's agents, and ``("pins", station, kind)``: the station has met an error on the interface.
    """

    def __init__(self, seed):
        super().__init__(seed)
        self.design, registers, memories = collect(self.switch)
        self.everything = [*registers, *memories]
        self.places = [
            place
            for place in self.everything
            if self.item_bits(place) and "station" not in place.path[0] and not TO_ITSELF.search(name_of(place))
        ]
        self.tables = [place for place in memories if place.path[-1].startswith("table_")]
        self.seen: set[tuple] = set()
        self.rate = 0.6

    def item_bits(self, place: Place) -> int:
        """Bits of the beat in a row of ``place``, which are its lowest; 0: there is no room for one."""
        return next((size for size in ITEM_SIZES if size <= place.bits), 0)

    async def watch(self, ctx, cycles: int, more=True):
        for _ in range(cycles):
            for n, station in enumerate(self.stations):
                for side in AGENTS:
                    upset = getattr(self.switch, f"{side}_upset")[n]
                    self.seen |= {("upset", side, n, kind) for kind in ("control", "data") if ctx.get(upset[kind])}
                    if ctx.get(getattr(self.switch, f"{side}_dropping")[n]):
                        self.seen.add(("dropping", side, n))
                for agent in (station.originator, station.completer):
                    for kind in ("data", "control", "protocol"):
                        if ctx.get(getattr(agent, f"{kind}_event")):
                            self.seen.add(("pins", n, kind))
            await self.step(ctx, more=more)

    def rows(self, ctx, place: Memory) -> list[int]:
        return [ctx.get(Value.cast(place.rows[row])) for row in range(place.depth)]

    def bits_of(self, place: Place, of_data: bool | None) -> list[int]:
        """The bits of a beat in ``place``: those of data and byte enables, the others, or all."""
        size = self.item_bits(place)
        if of_data is None:
            return list(range(size))
        channel = next(name for name, layout in CODED_LAYOUTS.items() if layout.size == size)
        parts = [*CODED_LAYOUTS[channel], *((f"code.{name}", field) for name, field in CODE_LAYOUTS[channel])]
        bits = []
        for name, field in parts:
            first = field.offset + (CODED_LAYOUTS[channel]["code"].offset if name.startswith("code.") else 0)
            if name != "code" and (name.removeprefix("code.") in PROTECTED_BITS) == of_data:
                bits += range(first, first + field.width)
        return bits

    async def strike(self, ctx, place: Place, of_data: bool | None) -> int:
        """Flip a bit of the beat in ``place``, of a row that was written a moment ago if it is a memory, as soon as
        there is one; the number of the bit."""
        if isinstance(place, Memory):
            target = Value.cast(place.rows[await self.fresh_row(ctx, place)])
        else:
            await self.watch(ctx, 1)
            target = Value.cast(place.signal)
        bit = self.rng.choice(self.bits_of(place, of_data))
        ctx.set(target, ctx.get(target) ^ 1 << bit)
        return bit

    async def fresh_row(self, ctx, place: Memory) -> int:
        """A row that was written in the cycle before; where beats must be held back for that, what arrives is taken
        slowly until then. Most Requests have no data meanwhile: data have so few places that others would not come.
        """
        usual = self.rate, self.commands
        if HELD_BACK.search(name_of(place)):
            self.rate, self.commands = 0.2, (READ, READ, READ, WRITE)
        before = self.rows(ctx, place)
        for _ in range(200):
            await self.watch(ctx, 1)
            fresh = [row for row, (old, new) in enumerate(zip(before, self.rows(ctx, place))) if old != new]
            if fresh:
                self.rate, self.commands = usual
                return self.rng.choice(fresh)
        raise AssertionError(f"nothing comes to {place.path}")

    async def clear(self, ctx):
        """As firmware does, until no agent drops: each time after all that was under way has gone."""
        for _ in range(4):
            if not self.dropping(ctx):
                return
            await self.clear_once(ctx)
        raise AssertionError("an agent stays in Drop Mode")

    async def clear_once(self, ctx):
        """After all that was under way has gone."""
        await self.watch(ctx, 50)
        for value in (1, 0):
            for side in AGENTS:
                for n in range(2):
                    ctx.set(getattr(self.switch, f"{side}_clear")[n], value)
            await self.watch(ctx, 1)
        await self.watch(ctx, 3)

    async def settle(self, ctx):
        """Until all is through and no agent drops any more."""
        if not self.dropping(ctx):
            # What was struck behind others may show when these have gone.
            await self.drain(ctx)
        await self.clear(ctx)
        await self.drain(ctx)
        assert not self.dropping(ctx), "one upset shows once"

    def dropping(self, ctx) -> bool:
        levels = [getattr(self.switch, f"{side}_dropping")[n] for side in AGENTS for n in range(2)]
        return any(ctx.get(level) for level in levels)

    async def episode(self, ctx, place: Place, of_data: bool | None = None, *, tries: int = 1) -> tuple[int, int]:
        """Items that did not arrive, and beats that arrived poisoned, after one upset, or ``tries`` at most until one
        of them shows."""
        self.seen = set()
        self.begin()
        await self.watch(ctx, 8 + self.rng.randrange(12))
        for _ in range(tries):
            await self.strike(ctx, place, of_data)
            await self.watch(ctx, 25)
            if self.seen:
                break
        await self.settle(ctx)
        lost, poisoned = self.account()
        if lost:
            await self.later(ctx)
        return lost, poisoned

    async def route_episode(self, ctx, table: Memory, bit: int) -> tuple[int, int]:
        """The station whose ``table`` it is, and items that did not arrive, after an upset of ``bit`` of the entry by
        which its items go; firmware writes the entry again before it clears Drop Mode."""
        n = next(int(name.removeprefix("route_table_")) for name in table.path if name.startswith("route_table_"))
        self.seen = set()
        self.begin()
        await self.watch(ctx, 8 + self.rng.randrange(12))
        row = Value.cast(table.rows[1 - n])
        ctx.set(row, ctx.get(row) ^ 1 << bit)
        await self.watch(ctx, 25)
        route = self.switch.route
        ctx.set(self.switch.route_station, n)
        ctx.set(route.index, 1 - n)
        ctx.set(route.write_data, {"deny": 0, "egress_station": 1 - n, "egress_port": 0})
        ctx.set(route.write, 1)
        await self.watch(ctx, 1)
        ctx.set(route.write, 0)
        await self.clear(ctx)
        await self.drain(ctx)
        lost, poisoned = self.account()
        assert not poisoned
        await self.later(ctx)
        return n, lost

    async def later(self, ctx):
        """Traffic that must suffer nothing any more."""
        self.begin()
        await self.watch(ctx, 30)
        await self.drain(ctx)
        assert self.account() == (0, 0), "what comes later suffers nothing"

    def begin(self):
        for key in self.keys:
            self.sent[key], self.got[key] = [], []

    async def drain(self, ctx):
        while any(self.waiting.values()):
            await self.watch(ctx, 1, more=False)
        came = -1
        while came != (came := sum(map(len, self.got.values()))):
            await self.watch(ctx, 40, more=False)

    def account(self) -> tuple[int, int]:
        """Items lost and beats poisoned; all else has arrived as it was sent, in order, once, each with its own."""
        lost = poisoned = 0
        for n in range(2):
            sent = {beat["tag"]: beat for beat in self.sent[1 - n, "req"]}
            data = iter(self.sent[1 - n, "orig_data"])
            of_tag = {
                tag: [next(data) for _ in range(beat["num_beats"] + 1)] for tag, beat in sent.items() if writes(beat)
            }
            came = iter(self.got[n, "orig_data"])
            arrived = []
            for request in self.got[n, "req"]:
                tag = request["tag"]
                assert agrees("req", request, sent[tag]), "a Request is as it was"
                arrived.append(tag)
                for beat in of_tag.get(tag, ()):
                    poisoned += self.same_or_poison("orig_data", next(came), beat)
            assert next(came, None) is None, "no data without a Request"
            assert arrived == [tag for tag in sent if tag in set(arrived)], "in order, none twice"
            lost += len(sent) - len(arrived)
            for channel in ("rd_rsp", "wr_rsp"):
                wanted = [beat for beat in self.sent[1 - n, channel]]
                for beat in self.got[n, channel]:
                    while not self.is_for(channel, beat, wanted[0]):
                        # A transfer is lost whole.
                        lost += 1
                        del wanted[: wanted[0].get("num_beats", 0) + 1]
                    poisoned += self.same_or_poison(channel, beat, wanted.pop(0))
                lost += sum(not beat.get("offset", 0) for beat in wanted)
                assert not wanted or not wanted[0].get("offset", 0), "a transfer that begins ends"
        return lost, poisoned

    def is_for(self, channel, beat, wanted) -> bool:
        return beat["tag"] == wanted["tag"] or bool(wanted.get("offset", 0))

    def same_or_poison(self, channel, beat, sent) -> int:
        if agrees(channel, beat, sent):
            return 0
        poison = POISON[channel]
        free = {"data", poison, "byte_en", "auth_tag"}
        assert beat[poison], "wrong data are never good"
        assert agrees(channel, beat, sent, free), "a poisoned beat is one of its transfer"
        return 1


def writes(request) -> bool:
    return request["cmd"] == WRITE


def agrees(channel, beat, sent, but=()) -> bool:
    return all(beat[name] == sent.get(name, 0) for name, _ in CHANNEL_LAYOUTS[channel] if name not in but)
