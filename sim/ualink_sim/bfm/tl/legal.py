"""Legal traffic at random: every form, place and order that the standard allows (UALink_200 §5)."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ...model.tl.fields import UncompressedRequest
from ...model.tl.sequence import NOP_MESSAGE, POISONED_DATA, message_half_flit
from .endpoint import TLEndpoint
from .options import TLOptions
from .packing import KINDS
from .random_items import ItemWeights, RandomItems
from .transfers import ResponseItem

__all__ = ["LegalTraffic", "RandomPacking", "Weights"]

Choice = TypeVar("Choice")

MOODS = {
    "mixed": dict.fromkeys(KINDS, 3) | {"nop": 1},
    "requests": {"compressed_request": 4, "uncompressed_request": 4, "flow_control": 1, "nop": 1},
    "compressed requests": {"compressed_request": 1},
    "responses": {"compressed_response": 6, "uncompressed_response": 4, "nop": 1},
    "compressed responses": {"compressed_response": 1},
    "flow control": {"flow_control": 1},
    "sparse": dict.fromkeys(KINDS, 1) | {"nop": 30},
    "empty": {},
}
"""What a Control half-flit is to be full of: weights of the kinds that are tried at each sector."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How random traffic is spread; probabilities unless said otherwise.

    ``moods`` : weights of what Control half-flits are full of (``MOODS``). ``message`` : a NOP message in a slot where
    one may stand. ``unusual_message`` : as well where it delays a swapped half-flit or stands for a NOP half-flit
    (ruling D09). ``load`` : CLOAD with an Uncompressed Request. ``forget`` : an entry of the Tx Address Cache is
    forgotten before a flit, or now and then all of them. ``hold``, ``resume`` : from a flit on freed buffers are kept,
    or returned again. ``phase`` : a flit begins a new phase, in which new items are like each other. ``items`` : what
    is sent.
    """

    moods: Mapping[str, int] = field(
        default_factory=lambda: {
            "mixed": 4,
            "requests": 2,
            "compressed requests": 2,
            "responses": 2,
            "compressed responses": 2,
            "flow control": 2,
            "sparse": 2,
            "empty": 2,
        }
    )
    message: float = 0.05
    unusual_message: float = 0.05
    load: float = 0.6
    forget: float = 0.02
    hold: float = 0.01
    resume: float = 0.02
    phase: float = 0.03
    items: ItemWeights = field(default_factory=ItemWeights)


class RandomPacking:
    """Any legal choice, by ``weights``."""

    def __init__(self, rng: random.Random, weights: Weights | None = None):
        self._rng = rng
        self._weights = weights or Weights()
        self._mood: Mapping[str, int] = MOODS["mixed"]

    def new_mood(self) -> None:
        """What the next Control half-flit is to be full of."""
        moods = self._weights.moods
        self._mood = MOODS[self._rng.choices(list(moods), list(moods.values()))[0]]

    def order(self) -> Iterable[str]:
        """Kinds of the mood in random order, up to a NOP field."""
        left = dict(self._mood)
        while left:
            kind = self._rng.choices(list(left), list(left.values()))[0]
            if kind == "nop":
                return
            del left[kind]
            yield kind

    def pick(self, choices: Sequence[Choice]) -> Choice:
        """Any."""
        return self._rng.choice(choices)

    def turns(self, items: list[ResponseItem]) -> list[ResponseItem]:
        """Any."""
        return self._rng.sample(items, len(items))

    def count(self, most: int) -> int:
        """All, or some."""
        return most if self._rng.random() < 0.7 else self._rng.randint(1, most)

    def include(self, kind: str) -> bool:
        """Half of them."""
        return self._rng.random() < 0.5

    def load_way(self, end: TLEndpoint, control: UncompressedRequest) -> int | None:
        """Any way, or none; any Request may load (ruling D26)."""
        return self._rng.randrange(end.options.tx_ways) if self._rng.random() < self._weights.load else None

    def message(self, slot: str, swap: bool) -> bytes | None:
        """A NOP message."""
        unusual = swap or slot == "NOP"
        chance = self._weights.unusual_message if unusual else self._weights.message
        return message_half_flit(NOP_MESSAGE) if self._rng.random() < chance else None

    def release_here(self, slot: str) -> bool:
        """Sooner or later."""
        return self._rng.random() < 0.3

    def empty(self) -> bool:
        """Flits without anything are legal."""
        return True


class LegalTraffic(TLEndpoint):
    """An endpoint that never runs out of random items to send; ``quiet`` stops new ones, what waits still goes."""

    DEPTH = 10

    def __init__(self, options: TLOptions | None = None, seed: int = 0, weights: Weights | None = None):
        self.rng = random.Random(seed)
        self.weights = weights or Weights()
        self.quiet = False
        options = options or TLOptions()
        self._items = RandomItems(self.rng, options, self.weights.items)
        self._random = RandomPacking(self.rng, self.weights)
        super().__init__(options, self._random)

    def _refill(self) -> None:
        if self.rng.random() < self.weights.phase:
            self._items.data = self.rng.random() < 0.6
        while len(self.requests) < self.DEPTH:
            self.send(self._items.request())
        while len(self.responses) < self.DEPTH:
            self.send(self._items.response())

    def plan(self):
        """Keep the queues full, forget a cache entry now and then."""
        if not self.quiet:
            self._refill()
        entries = self.tx_cache.entries
        if entries and self.rng.random() < self.weights.forget:
            forgotten = list(entries) if self.rng.random() < 0.1 else [self.rng.choice(list(entries))]
            for key in forgotten:
                del entries[key]
        chance = self.weights.resume if self.hold else self.weights.hold
        self.hold ^= self.rng.random() < chance
        self._random.new_mood()
        return super().plan()

    def commit(self, plan):
        """Put a plan on the wire; what stands beside the type of a poison message means nothing (UALink_200 §5.3)."""
        flit, message_bits = super().commit(plan)
        halves = [flit[:32], flit[32:]]
        for number in range(2):
            if message_bits >> number & 1 and halves[number][0] == POISONED_DATA:
                halves[number] = message_half_flit(POISONED_DATA, self.rng.randbytes(31))
        return b"".join(halves), message_bits
