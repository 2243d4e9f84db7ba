"""Banks and an egress port of a switch core, around what merges rows."""

import random
from dataclasses import dataclass

from amaranth.hdl import Value

__all__ = ["EgressRoom", "Row", "Transfer"]

LATE = "late_"
"""Begins the name of what is told in the cycle after."""


@dataclass(frozen=True)
class Transfer:
    """Values of an arrival, cycle by cycle, those that are told late with ``LATE`` before their names."""

    cycles: list[dict[str, int]]
    with_data: bool

    @property
    def told(self):
        return [{name.removeprefix(LATE): value for name, value in cycle.items()} for cycle in self.cycles]


class Row:
    """A bank: what is granted while there is room comes three cycles later, beat after beat. Requests without data are
    granted between beats of others.

    One that says it has data, and comes without beside a later beat of another one, looks as if its first beat went on
    with that transfer: the rest of that is wrong, and ``told`` says so from then on.
    """

    def __init__(self, arrival, transfers, seed, rate=0.8):
        self.arrival, self.waiting, self.rate = arrival, list(transfers), rate
        self.random = random.Random(f"row {seed}")
        self.coming: dict[int, dict[str, int]] = {}
        self.cycle = self.free = 0
        self.later: dict[int, dict[str, int]] = {}  # beats of the last transfer with data but the first, by cycle

    @property
    def busy(self) -> bool:
        return bool(self.waiting or self.coming)

    async def process(self, ctx):
        members = [name for name in self.arrival.signature.members if not name.endswith("room")]
        while True:
            if self.waiting and self.random.random() < self.rate:
                self.grant(ctx)
            values = self.coming.pop(self.cycle, {})
            for name in members:
                ctx.set(Value.cast(getattr(self.arrival, name)), values.get(name, 0))
            await ctx.tick()
            self.cycle += 1

    def grant(self, ctx):
        """The oldest transfer, if there is room and its beats are the only ones."""
        transfer = self.waiting[0]
        rooms = [self.arrival.room]
        if transfer.with_data and "data_room" in self.arrival.signature.members:
            rooms.append(self.arrival.data_room)
        if not all(map(ctx.get, rooms)) or (transfer.with_data and self.free > self.cycle):
            return
        self.waiting.pop(0)
        if not transfer.with_data and transfer.cycles[0].get("with_data") and self.cycle + 3 in self.later:
            for cycle, values in self.later.items():
                if cycle >= self.cycle + 3:
                    values["late_beat_wrong"] = 1
        for cycle, values in enumerate(transfer.cycles, self.cycle + 3):
            for name, value in values.items():
                late = name.startswith(LATE)
                self.coming.setdefault(cycle + late, {})[name.removeprefix(LATE)] = value
        if transfer.with_data:
            self.free = self.cycle + len(transfer.cycles)
            self.later = dict(enumerate(transfer.cycles[1:], self.cycle + 4))


class EgressRoom:
    """Has room in a cycle with probability ``rate``. ``came`` is what comes, cycle by cycle, each with what is told of
    it in the cycle after."""

    LATER = ("wrong", "beat_wrong", "poison")

    def __init__(self, arrival, rate):
        self.arrival, self.rate, self.random = arrival, rate, random.Random(f"egress {rate}")
        self.came: list[dict[str, int]] = []

    async def process(self, ctx):
        members = self.arrival.signature.members
        told = [name for name in members if not name.endswith("room")]
        values = [Value.cast(getattr(self.arrival, name)) for name in told]
        while True:
            for name in members:
                if name.endswith("room"):
                    ctx.set(getattr(self.arrival, name), self.random.random() < self.rate)
            _, _, *sample = await ctx.tick().sample(*values)
            now = dict(zip(told, sample))
            if self.came:
                self.came[-1] |= {name: now[name] for name in self.LATER if name in now}
            self.came.append(now)
