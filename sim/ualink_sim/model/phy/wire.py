"""What somebody reads who taps the wires of a lane: the bits of one direction, and the flit slots in them.

A link of one lane with the PCS of boards (``phy_pcs``) below the reconciliation sublayer (UALink_200 §7.2, §7.3).
"""

from collections.abc import Iterator
from typing import NamedTuple

from .pcs import BLOCK_BITS, BLOCKS_PER_FLIT, HeaderLock, MarkerLock
from .rs_blocks import ALIGNMENT
from .rs_receive import Received, Receiver

__all__ = ["WireReader", "WireSlot"]

_BLOCK = (1 << BLOCK_BITS) - 1
_PAYLOAD = (1 << 64) - 1
_HISTORY_BITS = 58


class WireSlot(NamedTuple):
    """A slot that has ended: the number of the bit behind its last one, counted from the first bit of the wire."""

    end: int
    received: Received


class WireReader:
    """Give it the bits of one direction in the order in which they are sent.

    Parameters
    ----------
    marker_blocks, marker_interval : blocks that a marker takes, and flit slots from one to the next.
    idle_interval : flit slots from one Idle flit to the next.

    Attributes
    ----------
    aligned : the markers are where they have to be.
    bad_headers : sync headers 00 and 11 while ``aligned``.
    losses : how often ``aligned`` was lost.
    """

    def __init__(self, marker_blocks: int, marker_interval: int, idle_interval: int):
        self._marker_blocks, self._marker_interval, self._idle_interval = marker_blocks, marker_interval, idle_interval
        self._bits = self._count = self._read = 0
        self._headers = HeaderLock()
        self._history = (1 << _HISTORY_BITS) - 1
        self.bad_headers = self.losses = 0
        self._begin()

    def _begin(self) -> None:
        self._markers = MarkerLock(1, self._marker_interval * BLOCKS_PER_FLIT)
        self._receiver = Receiver(self._idle_interval)
        self._marker_left = 0

    @property
    def aligned(self) -> bool:
        """Header and marker locks are there."""
        return self._markers.locked

    def feed(self, bits: int, count: int) -> Iterator[WireSlot]:
        """The next ``count`` bits, the first one lowest; slots that end in them."""
        self._bits |= bits << self._count
        self._count += count
        # One bit more than a block: a header that is no good may cost one.
        while self._count > BLOCK_BITS:
            block = self._bits & _BLOCK
            valid = (block ^ block >> 1) & 1 == 1
            taken = BLOCK_BITS + self._headers.header(valid)
            self._bits >>= taken
            self._count -= taken
            self._read += taken
            received = self._block(block, valid)
            if received is not None:
                yield WireSlot(self._read, received)

    def _block(self, block: int, valid: bool) -> Received | None:
        was_aligned = self.aligned
        if not self._headers.locked:
            if was_aligned:
                self.losses += 1
            if was_aligned or self._markers.lane is not None:
                self._begin()
            return None
        if self._markers.block(block):
            self._marker_left = self._marker_blocks
        if was_aligned and not self.aligned:
            self.losses += 1
            self._begin()
        self.bad_headers += was_aligned and not valid
        if self._marker_left:
            self._marker_left -= 1
            return self._receiver.block(ALIGNMENT)
        clear = self._descrambled(block)
        return self._receiver.block(clear) if self.aligned else None

    def _descrambled(self, block: int) -> int:
        """The block, its payload descrambled: out[n] = in[n] ^ in[n - 39] ^ in[n - 58] (IEEE 802.3 49.2.10)."""
        payload = block >> 2
        line = self._history | payload << _HISTORY_BITS
        self._history = line >> 64
        return block & 3 | ((payload ^ line >> _HISTORY_BITS - 39 ^ line) & _PAYLOAD) << 2
