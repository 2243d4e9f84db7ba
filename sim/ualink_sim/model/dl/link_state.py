"""DL link states, a flit slot at a time (UALink_200 §6.7.1, Figure 6-23; rulings A-22 to A-25 (DL))."""

from enum import Enum

__all__ = [
    "CONTROL_FLITS_TO_IDLE",
    "IDLE_LIMIT",
    "NOP_FLITS_TO_UP",
    "RECEIVED_FLITS_TO_UP",
    "Heard",
    "LinkState",
    "LinkStateMachine",
]

NOP_FLITS_TO_UP = 10
RECEIVED_FLITS_TO_UP = 2
CONTROL_FLITS_TO_IDLE = 4
IDLE_LIMIT = 1024
"""Slots in Idle after which a partner that never showed control flits is no longer waited for."""


class LinkState(Enum):
    """The link is up in UP only; FAULT is the reset state."""

    FAULT = 0
    IDLE = 1
    NOP = 2
    UP = 3

    @property
    def sends_flits(self) -> bool:
        """NOP and UP: DL flits are sent and received ones count."""
        return self in (LinkState.NOP, LinkState.UP)


class Heard(Enum):
    """What a received slot was: a flit with good CRC, a bad or lost one, a control flit."""

    GOOD = 0
    BAD = 1
    CONTROL = 2


class LinkStateMachine:
    """Call ``hear`` for each received slot and ``advance`` before each transmitted one.

    Idle lasts ``idle_flit_times`` slots or more, and until four control flits in a row were heard since the link went
    down; a partner that never shows them is waited for ``IDLE_LIMIT`` slots (ruling A-23 (DL)).

    Attributes
    ----------
    state : what the slot now under way belongs to.
    slots : slots begun in this state.
    entered_down : the last ``advance`` entered Fault or Idle: everything that the link remembers is to be reset.
    """

    def __init__(self, idle_flit_times: int = 16):
        self.idle_flit_times = idle_flit_times
        self.reset()

    def reset(self) -> None:
        """Out of reset: Fault, nothing heard."""
        self.state = LinkState.FAULT
        self.slots = 0
        self.entered_down = False
        self._failed = False
        self._forget_partner()

    def _forget_partner(self) -> None:
        self._good_run = 0
        self._control_run = 0
        self._partner_down = False

    @property
    def up(self) -> bool:
        """The link is up."""
        return self.state is LinkState.UP

    def fail(self) -> None:
        """A containment event or a forward-progress time-out: to Idle with the next slot."""
        self._failed = self.state.sends_flits

    def hear(self, what: Heard) -> None:
        """Note one received slot."""
        if what is Heard.CONTROL:
            # Control slots do not break a run of good flits (ruling A-24 (DL)).
            self._control_run += 1
            if self._control_run >= CONTROL_FLITS_TO_IDLE and not self.state.sends_flits:
                self._partner_down = True
            return
        self._control_run = 0
        self._good_run = self._good_run + 1 if what is Heard.GOOD and self.state.sends_flits else 0

    def advance(self, *, local_fault: bool = False, remote_fault: bool = False, enable: bool = True) -> LinkState:
        """The slot before has ended; the state of the next one."""
        before = self.state
        self.state = LinkState.FAULT if local_fault or remote_fault else self._next(enable)
        self.slots = self.slots + 1 if self.state is before else 1
        self.entered_down = self.state is not before and not self.state.sends_flits
        if self.entered_down:
            self._failed = False
            if before.sends_flits:
                self._forget_partner()
        return self.state

    def _next(self, enable: bool) -> LinkState:
        match self.state:
            case LinkState.FAULT:
                return LinkState.IDLE
            case LinkState.IDLE:
                rested = self._partner_down and self.slots >= self.idle_flit_times
                return LinkState.NOP if enable and (rested or self.slots >= IDLE_LIMIT) else LinkState.IDLE
            case LinkState.NOP if self._failed:
                return LinkState.IDLE
            case LinkState.NOP:
                heard = self._good_run >= RECEIVED_FLITS_TO_UP
                return LinkState.UP if heard and self.slots >= NOP_FLITS_TO_UP else LinkState.NOP
        lost = self._control_run >= CONTROL_FLITS_TO_IDLE or self._failed
        return LinkState.IDLE if lost else LinkState.UP
