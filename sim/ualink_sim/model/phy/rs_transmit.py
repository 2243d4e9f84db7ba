"""What the reconciliation sublayer sends, slot by slot (UALink_200 §7.2.4, §7.2.6, §7.2.7, §7.3.5)."""

from enum import Enum

from .rs_blocks import BLOCKS, IDLE, MARKER_SLOTS, REMOTE_FAULT, START, START_BLOCKS, data_flit
from .rs_fault import LinkFault

__all__ = ["Offer", "Sequence", "Transmitter"]


class Sequence(Enum):
    """A flit code sequence that is sent."""

    DATA = "data"
    IDLE = "idle"
    IDLE_START = "idle start"
    FAULT = "fault"
    FAULT_START = "fault start"

    @property
    def is_start(self) -> bool:
        """A marker is put into it."""
        return self in (Sequence.IDLE_START, Sequence.FAULT_START)


class Offer(Enum):
    """What the DL offers for the slot: nothing, a DL flit, or that it has none because the link is down."""

    NOTHING = 0
    FLIT = 1
    LINK_DOWN = 2


class Transmitter:
    """Call ``observe`` when the received link fault may have changed, and ``slot`` for each slot.

    Attributes
    ----------
    number : of the slot to come, counted from the marker.
    """

    def __init__(self, rate: int, marker_interval: int | None = None, idle_interval: int = 1024) -> None:
        self._marker_slots = marker_interval or MARKER_SLOTS[rate]
        self._idle_interval = idle_interval
        self.number = 0
        self._link_fault = LinkFault.OK
        self._seen = LinkFault.OK

    def change_rate(self, rate: int, marker_interval: int | None = None) -> None:
        """From the slot to come on. A marker that the new rate had before takes the place of the next Idle flit."""
        self._marker_slots = marker_interval or MARKER_SLOTS[rate]

    def observe(self, link_fault: LinkFault) -> None:
        """A fault that comes and goes within a slot is in force in the next one."""
        self._link_fault = link_fault
        if link_fault:
            self._seen = link_fault

    def slot(self, offer: Offer, flit: bytes = b"") -> tuple[Sequence, list[int], bool, LinkFault]:
        """The next slot: its sequence, its blocks, whether the DL's slot is taken, and the fault in force.

        What the DL offers is taken, and lost if it is a flit, in slots of a fault: DL Fault must be reached. A slot of
        a DL whose link is down is always taken, so that flit times pass.
        """
        fault = self._link_fault or self._seen
        self._seen = LinkFault.OK
        marker = self.number == 0
        matching = self.number % self._idle_interval == 0
        self.number += 1
        overdue = self.number > self._marker_slots and self.number % self._idle_interval == 0
        if self.number == self._marker_slots or overdue:
            self.number = 0
        taken = offer is Offer.LINK_DOWN or (offer is Offer.FLIT and fault != LinkFault.OK)
        if fault is LinkFault.LOCAL:
            sequence = Sequence.FAULT_START if marker else Sequence.FAULT
        elif marker:
            sequence = Sequence.IDLE_START
        elif fault is LinkFault.OK and offer is Offer.FLIT and not matching:
            return Sequence.DATA, data_flit(flit), True, fault
        else:
            sequence = Sequence.IDLE
        blocks = [REMOTE_FAULT if fault is LinkFault.LOCAL else IDLE] * BLOCKS
        if sequence.is_start:
            blocks[:START_BLOCKS] = [START] * START_BLOCKS
        return sequence, blocks, taken, fault
