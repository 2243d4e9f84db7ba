"""Rules for link states, as the slots of both directions show them (UALink_200 §6.7.1, §6.7.4.2)."""

from ...model.dl.endpoint import IDLE, REMOTE_FAULT, SlotKind
from ...model.dl.link_state import CONTROL_FLITS_TO_IDLE, NOP_FLITS_TO_UP, RECEIVED_FLITS_TO_UP
from .flit_rules import Report
from .options import CheckerOptions

__all__ = ["LinkRules"]


class LinkRules:
    """Follows the link state of the device.

    Attributes
    ----------
    down : the device sends no DL flits.
    up : it has sent a payload flit since it was down.
    control_run : control flits in a row that it was given.
    contained : the last flit had inverted CRC.
    local_fault, remote_fault : what the RS tells the device; set by whoever watches the RS.
    """

    def __init__(self, report: Report, options: CheckerOptions):
        self._report = report
        self._options = options
        self.local_fault = self.remote_fault = False
        self.reset()

    def reset(self) -> None:
        """Out of reset."""
        self.down, self.up = True, False
        self._idle_slots = CONTROL_FLITS_TO_IDLE  # none went before
        self._nops = 0
        self._good_run = self._best_run = 0
        self.control_run = 0
        self._overdue = 0  # flits sent since four control flits were heard
        self._fault_slots = 0
        self.contained = False

    @property
    def up_expected(self) -> bool:
        """What the standard asks for before Up has happened."""
        return self.up or (self._nops >= NOP_FLITS_TO_UP and self._best_run >= RECEIVED_FLITS_TO_UP)

    def received(self, good: bool, kind: SlotKind | None) -> None:
        """One slot that the device was given; ``kind`` None is a flit with good or bad CRC."""
        if kind is not None and kind is not SlotKind.LOST:
            self.control_run += 1
            return
        self.control_run = 0
        self._overdue = 0
        self._good_run = self._good_run + 1 if good else 0
        self._best_run = max(self._best_run, self._good_run)

    def sent_control(self, kind: SlotKind) -> None:
        """An Idle or remote fault slot."""
        if kind not in (IDLE, REMOTE_FAULT):
            return  # inserted below the DL
        if not self.down:
            self.down, self.up = True, False
            self._idle_slots = 0
            # Flits of the time before may be on their way to the device.
            self.control_run = 0
        self.contained = False
        self._idle_slots += 1
        self._nops = self._good_run = self._best_run = self._overdue = 0
        self._check_fault(kind)

    def _check_fault(self, kind: SlotKind | None) -> None:
        expected = REMOTE_FAULT if self.local_fault else IDLE if self.remote_fault else None
        wrong = kind is not expected if expected else kind is REMOTE_FAULT
        self._fault_slots = self._fault_slots + 1 if wrong else 0
        if self._fault_slots > self._options.latency:
            self._report(
                "link_fault", f"{kind.value if kind else 'a DL flit'}, {self.local_fault=}, {self.remote_fault=}"
            )
            self._fault_slots = 0

    def sent_flit(self, payload: bool, inverted: bool) -> None:
        """A DL flit."""
        if self.contained:
            self._report("containment")
        self.contained = inverted
        if self.down:
            self.down = False
            if self._idle_slots < CONTROL_FLITS_TO_IDLE:
                self._report("link_idle", f"{self._idle_slots} slots")
        self._check_fault(None)
        if payload and not self.up:
            if self._nops < NOP_FLITS_TO_UP:
                self._report("link_nops", f"{self._nops} NOP flits")
            if self._best_run < RECEIVED_FLITS_TO_UP:
                self._report("link_early", f"{self._best_run} in a row")
            self.up = True
        self._nops += not payload
        if self.control_run >= CONTROL_FLITS_TO_IDLE and self.up:
            self._overdue += 1
            if self._overdue > self._options.latency:
                self._report("link_down", f"{self.control_run} control flits, then {self._overdue} flits")
                self._overdue = 0
