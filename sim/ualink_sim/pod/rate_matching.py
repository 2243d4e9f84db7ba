"""Rate matching of a receiver in a simulated pod (UALink_200 §7.3.5)."""

from ualink.config import PhyConfig

from .block_beats import BEAT_BITS, BLOCK_BITS, BLOCKS, IDLE_BEAT, REMOTE_FAULT_BEAT

__all__ = ["RateMatcher", "most_ppm"]

BLOCKS_PER_FLIT = 80
WAITING = 3 * BLOCKS
"""Blocks that wait when the next come, in the middle: more than the 17 that 200 ppm make in 1,024 flit slots."""

CHANGES = 3
"""Most blocks that are inserted into a beat of control blocks, or deleted from it. Of equal ordered sets fewer than
every other one may go (IEEE 802.3 82.2.3.9)."""

_BEAT = (1 << BEAT_BITS) - 1
_IDLE = IDLE_BEAT & (1 << BLOCK_BITS) - 1


def most_ppm(config: PhyConfig) -> int:
    """How far apart two clocks may be: what waits must last from one control flit to the next, and all control flits
    must have room for what is inserted and deleted. Of an alignment marker only the beats behind it count."""
    slots = config.marker_slots
    idles = slots // config.control_interval - 1
    beats = (idles * BLOCKS_PER_FLIT + BLOCKS_PER_FLIT - config.marker_blocks) // BLOCKS
    return int(1e6 / BLOCKS_PER_FLIT * min(CHANGES * beats / slots, WAITING / config.control_interval))


class RateMatcher:
    """Blocks come at the rate of the transmitter and go at that of the receiver, eight at a time; in beats of Idle or
    of ordered sets blocks are deleted while too many wait, and Idle blocks are inserted while too few do."""

    def __init__(self) -> None:
        self.inserted = self.deleted = 0
        self._blocks = self._count = 0
        self._begun = False

    def restart(self) -> None:
        """What waits is discarded."""
        self._blocks = self._count = 0
        self._begun = False

    def put(self, beat: int) -> None:
        """A beat has come."""
        count = BLOCKS
        if beat in (IDLE_BEAT, REMOTE_FAULT_BEAT):
            surplus = self._count - WAITING
            if self._begun and surplus > 0:
                gone = min(surplus, CHANGES)
                self.deleted += gone
                count -= gone
                beat &= (1 << BLOCK_BITS * count) - 1
            elif self._begun and surplus < 0:
                for _ in range(min(-surplus, CHANGES)):
                    beat |= _IDLE << BLOCK_BITS * count
                    self.inserted += 1
                    count += 1
        self._blocks |= beat << BLOCK_BITS * self._count
        self._count += count

    def get(self) -> int | None:
        """The next beat; None while there is none, as in the beginning until enough wait."""
        self._begun = self._begun or self._count >= WAITING + BLOCKS
        if not self._begun or self._count < BLOCKS:
            return None
        beat = self._blocks & _BEAT
        self._blocks >>= BEAT_BITS
        self._count -= BLOCKS
        return beat
