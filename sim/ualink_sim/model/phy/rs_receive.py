"""What the reconciliation sublayer makes of received blocks, one by one (UALink_200 §7.2.6 to §7.2.8).

Rulings P-02, P-04, P-05, P-15, P-26, P-29 and P-30 are decided here and in ``phy_rs_fault``.
"""

from dataclasses import dataclass
from enum import Enum

from .rs_blocks import ALIGNMENT, BLOCKS, flit_bytes, is_control, is_data, octets
from .rs_fault import LinkFaultMachine

__all__ = ["Heard", "Received", "Receiver"]

CONTROL_TYPES = (0x1E, 0x78, 0x4B)


class Heard(Enum):
    """What the DL is told of a slot."""

    GOOD = 0
    BAD = 1
    CONTROL = 2


@dataclass(frozen=True)
class Received:
    """A slot that has ended; ``flit`` of a GOOD one."""

    heard: Heard
    flit: bytes = b""


class State(Enum):
    """Of the receiver. CONTROL is also the state right behind a flit."""

    HUNT = 0
    CONTROL = 1
    DATA = 2
    BAD = 3
    """Within a slot with an invalid header: 80 blocks are counted, whatever they are."""
    ABORTED = 4
    """A control block has cut a flit short. Its slot is still counted, and the next block that is none starts a new."""


class Receiver:
    """Call ``block`` with every block.

    Attributes
    ----------
    fault : ``LinkFaultMachine``.
    state : ``State``.
    slot : flit slots since the marker, modulo the distance of control slots.
    """

    def __init__(self, control_interval: int = 1024, control_flit_blocks: int = 300) -> None:
        self.fault = LinkFaultMachine()
        self.state = State.HUNT
        self.slot = 0
        self._control_interval = control_interval
        self._control_blocks = control_flit_blocks // 4
        self._phase = 0
        self._alignment_left = 0
        self._left = 0
        self._blocks: list[int] = []
        self._run = 0
        self._in_control_slot = False
        self._owed = False

    def block(self, block: int) -> Received | None:
        """Take one block; a slot may end with it."""
        marker = block == ALIGNMENT and not self._alignment_left
        if marker:
            self._alignment_left = BLOCKS
            self._phase = self.slot = 0
        self.fault.block(block, in_alignment=self._alignment_left > 0)
        self._alignment_left = max(0, self._alignment_left - 1)
        received = self._slots(block, marker)
        self._phase += 1
        if self._phase == BLOCKS:
            self._phase = 0
            self.slot = (self.slot + 1) % self._control_interval
        return received

    def _slots(self, block: int, marker: bool) -> Received | None:
        if self.state is State.HUNT:
            if marker:
                self.state = State.CONTROL
                return self._control(block)
            return None
        if self.state in (State.CONTROL, State.ABORTED) and not is_control(block):
            self._start()
        if self.state is State.CONTROL:
            return self._control(block)
        if self.state is State.DATA and is_control(block):
            self.state = State.ABORTED
        elif not is_data(block) and not is_control(block):
            self.state = State.BAD
        self._blocks.append(block)
        self._left -= 1
        return None if self._left else self._end()

    def _start(self) -> None:
        if self.state is State.ABORTED and not self._in_control_slot:
            self._owed = True
        # The start of a slot is where one is known to begin: the nearest place in the count is it.
        if self._phase >= BLOCKS // 2:
            self.slot = (self.slot + 1) % self._control_interval
        self._phase = 0
        self._in_control_slot = self.slot == 0
        self.state = State.DATA
        self._left = BLOCKS
        self._blocks = []
        self._run = 0

    def _end(self) -> Received:
        good, owed = self.state is State.DATA, self._owed
        self.state = State.CONTROL
        self._owed = False
        if good and not owed:
            return Received(Heard.GOOD, flit_bytes(self._blocks))
        return Received(Heard.CONTROL if self._in_control_slot and not owed else Heard.BAD)

    def _control(self, block: int) -> Received | None:
        if octets(block)[0] in CONTROL_TYPES:
            self._run += 1
        if self._run < self._control_blocks:
            return None
        self._run = 0
        return Received(Heard.CONTROL)
