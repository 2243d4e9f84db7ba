"""Coverage of link states, as the wire and the faults of the RS show them (UALink_200 §6.7.1)."""

from ...model.dl.endpoint import CONTROL_FLIT, REMOTE_FAULT, Slot
from ...model.dl.link_state import CONTROL_FLITS_TO_IDLE
from .checker import LinkChecker
from .replay_coverage import Hit

__all__ = ["LinkStateCoverage"]

GROUP = "§6.7.1 link states"


class LinkStateCoverage:
    """Infers the state of the device from what it sends and was given."""

    def __init__(self, hit: Hit, checker: LinkChecker):
        self._hit = hit
        self._checker = checker
        self.reset()

    def reset(self) -> None:
        """The device is in reset."""
        self._state = ""
        self._reason = ""

    def before_sent(self) -> None:
        """What the checker forgets with a link down."""
        link = self._checker.link
        if link.contained:
            self._reason = "error containment"
        elif link.control_run >= CONTROL_FLITS_TO_IDLE:
            self._reason = "control flits"
        else:
            self._reason = "no forward progress"

    def sent(self, slot: Slot) -> None:
        """A slot that the checker has seen."""
        if slot is CONTROL_FLIT:
            return
        link, before = self._checker.link, self._state
        if isinstance(slot, bytes):
            state = "Up" if link.up_expected else "NOP"
        elif not before or slot is REMOTE_FAULT or link.local_fault or link.remote_fault:
            state = "Fault"
        else:
            state = "Idle"
        if state == before:
            return
        self._state = state
        arc = f"{before} to {state}" if before else "reset: Fault"
        if arc == "Up to Idle":
            arc += f", {self._reason}"
            if self._reason == "no forward progress":
                self._hit("§6.6.6.8 forward progress", "time-out")
        elif arc == "Up to Fault":
            arc += ", local" if link.local_fault or slot is REMOTE_FAULT else ", remote"
        if arc in ("Fault to NOP", "Fault to Up", "NOP to Idle", "Idle to Up"):
            return  # a state too short to be seen
        self._hit(GROUP, arc)
