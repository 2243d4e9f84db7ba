"""What stands between two reconciliation sublayers: two PCS with alignment, rate matching, and blocks that get lost."""

import random
from collections import deque
from collections.abc import Callable

from support.phy.rs_stream import spoilt
from ualink_sim.model.phy import rs_blocks as codes

FAULTS = (codes.LOCAL_FAULT, codes.REMOTE_FAULT, codes.LINK_INTERRUPTION)


class Wire:
    """One direction: ``send`` some blocks, ``receive`` as many as asked for or none.

    Slots with a marker become AM flits. In control flits idles are deleted, and inserted where an idle or an ordered
    set came before; of two equal ordered sets in a row one may be deleted. ``matching`` is the most of a control flit.
    ``fate(number of the slot)`` may be "lost": all its headers are invalid. ``cut`` lets Local Fault ordered sets come
    in place of everything.
    """

    def __init__(
        self, rng: random.Random, rate: int, matching: int, fate: Callable[[int], str | None] = lambda n: None
    ):
        self.rng, self.rate, self.matching, self.fate = rng, rate, matching, fate
        self.cut = False
        self.slots = 0
        self._slot: list[int] = []
        self._waiting: deque[int] = deque()

    def send(self, blocks: list[int]) -> None:
        """The next beat of the sender."""
        self._slot += blocks
        if len(self._slot) < codes.BLOCKS:
            return
        slot, self._slot = self._slot, []
        if slot[0] == codes.START:
            assert slot[:9].count(codes.START) == codes.START_BLOCKS
            slot = codes.alignment_flit(slot, self.rate)
        if self.fate(self.slots) == "lost":
            slot = [spoilt(self.rng.getrandbits(66), self.rng) for _ in slot]
        elif codes.is_control(slot[0]):
            slot = self._matched(slot)
        self.slots += 1
        self._waiting.extend([codes.LOCAL_FAULT] * len(slot) if self.cut else slot)

    def _matched(self, slot: list[int]) -> list[int]:
        """Idles inserted if few wait and deleted if many do, at random by as much as is asked for."""
        slot = list(slot)
        few = len(self._waiting) < 60
        for _ in range(self.rng.randrange(self.matching + 1)):
            n = self.rng.randrange(codes.MARKER_BLOCKS[self.rate], len(slot))
            if few:
                slot.insert(n + 1, codes.IDLE)
            elif slot[n] == codes.IDLE or (slot[n] in FAULTS and slot[n - 1] == slot[n]):
                del slot[n]
        return slot

    def receive(self, size: int = 8) -> list[int] | None:
        """The next word for the receiver, if so many blocks have come."""
        if len(self._waiting) < size:
            return None
        return [self._waiting.popleft() for _ in range(size)]
