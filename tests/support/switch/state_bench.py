"""Bits of what a switch core remembers besides beats, flipped one at a time: nothing wrong leaves as good."""

import re
from collections import Counter
from itertools import islice

from support.shared_simulator import SharedSimulator
from support.switch.upsets import POISON, UpsetBench, agrees, writes
from support.upsets import Memory, Place, flip, name_of

__all__ = ["StateBench"]

COUNTED = re.compile(r"high_water|flow_|deny_log|under_way|\.egress_\d")
"""What management counts, and the egress ports: Drop Mode asks it, or it is asked nothing."""


CLEARS = 3
"""Times that firmware clears Drop Mode at the most: what an upset leaves behind for good shows again and again."""


class StateBench(UpsetBench):
    """Episodes from reset: traffic, one upset, traffic, and if an agent is in Drop Mode firmware clears it, traffic.

    ``states`` : all registers and memories of planes of the core from the route table to the egress ports but those
    that hold beats, by kind, which is their path without numbers; of a kind are no two registers of one module that
    have no name. ``lost`` : an item was missing in the last episode.
    """

    def __init__(self, seed):
        super().__init__(seed)
        held = {id(place) for place in self.places}
        self.states: dict[str, list[Place]] = {}
        unnamed: Counter[str] = Counter()
        for place in self.everything:
            name = name_of(place)
            if name.endswith("$signal"):
                unnamed[name] += 1
                name += chr(ord("a") + unnamed[name] - 1)
            in_plane = re.match(r"core\.(requests|read_responses|write_responses)\.", name)
            if in_plane and id(place) not in held and not COUNTED.search(name):
                self.states.setdefault(re.sub(r"\d+", "", name), []).append(place)
        self._shared = SharedSimulator(self.design)
        self.lost = False

    def strike_state(self, kind: str) -> str:
        """An episode with an upset of a place of ``kind``; says of which."""
        self.waiting = {key: [] for key in self.keys}
        self.sent = {key: [] for key in self.keys}
        self.got = {key: [] for key in self.keys}
        self.offered = dict.fromkeys(self.keys)
        self.number, self.seen, self.rate = 0, set(), self.rng.choice((0.3, 0.6, 1))
        story = []

        async def body(ctx):
            await self.open_routes(ctx)
            await self.watch(ctx, 40 + self.rng.randrange(40))
            place = self.rng.choice(self.states[kind])
            row = self.written_row(ctx, place) if isinstance(place, Memory) else None
            story.append(flip(ctx, self.rng, place, row))
            await self.watch(ctx, 60)
            for _ in range(CLEARS):
                if not self.dropping(ctx):
                    break
                await self.clear_once(ctx)
                await self.watch(ctx, 40)

        self._shared.run_all(body)
        self.judge()
        return story[0]

    def written_row(self, ctx, place: Memory) -> int:
        rows = self.rows(ctx, place)
        return self.rng.choice([n for n, row in enumerate(rows) if row] or [0])

    def judge(self) -> None:
        """All that has arrived and is not poisoned was sent here, and comes in order, none of it twice."""
        self.lost = False
        for n in range(2):
            requests = {beat["tag"]: beat for beat in self.sent[1 - n, "req"]}
            beats = iter(self.sent[1 - n, "orig_data"])
            own = {tag: list(islice(beats, more(beat))) for tag, beat in requests.items() if writes(beat)}
            came = iter(self.got[n, "orig_data"])
            self._in_order("req", n, lambda beat: beat["tag"])
            for request in self.got[n, "req"]:
                for beat, wanted in zip(islice(came, more(request)), own.get(request["tag"], ())):
                    assert beat["error"] or agrees("orig_data", beat, wanted), "wrong data are never good"
            self._in_order("rd_rsp", n, lambda beat: (beat["tag"], beat["offset"]))
            self._in_order("wr_rsp", n, lambda beat: beat["tag"])

    def _in_order(self, channel: str, n: int, name) -> None:
        wanted = {name(beat | {"offset": beat.get("offset", 0)}): beat for beat in self.sent[1 - n, channel]}
        order = list(wanted)
        for beat in self.got[n, channel]:
            if POISON.get(channel) and beat[POISON[channel]]:
                continue
            assert name(beat) in order, f"{channel}: nobody sent it, or it came before"
            assert agrees(channel, beat, wanted[name(beat)]), f"{channel}: as it was sent"
            self.lost |= name(beat) != order[0]
            del order[: order.index(name(beat)) + 1]


def more(request) -> int:
    """Its beats of data."""
    return request["num_beats"] + 1 if writes(request) else 0
