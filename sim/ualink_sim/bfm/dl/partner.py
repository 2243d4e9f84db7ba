"""A link partner for a device under test: the executable DL around which faults can be injected (UALink_200 §6)."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from ...model.dl.endpoint import REMOTE_FAULT, DLEndpoint, Slot

__all__ = ["Fault", "LinkPartner", "Watcher"]

Fault = Callable[[int, Slot], Slot]
"""Given the number of a slot and the slot, what arrives in its place."""


class Watcher(Protocol):
    """A ``LinkChecker`` or a ``LinkCoverage``."""

    def received(self, slot: Slot) -> object:
        """A slot that the device was given."""

    def sent(self, slot: Slot) -> object:
        """A slot that the device sent."""

    def show_fault(self, local: bool = False, remote: bool = False) -> None:
        """What the RS shows to the device from now on."""

    def reset(self) -> None:
        """The device is in reset."""


class LinkPartner:
    """Joins a DL of the executable model to whatever moves slots to and from the device.

    Whoever moves them calls ``next_slot`` once per flit time for a slot to the device, ``given`` when the device has
    it, and ``take`` with each slot of the device.

    Attributes
    ----------
    endpoint : the DL: ``send``, ``delivered``, ``channels.want``, ``uart``, ``basic`` and so on.
    to_device, from_device : what happens to slots on the wire; by default nothing.
    watchers : told of what the device really was given and really sent.
    slots_given, slots_taken : counts of both.
    """

    def __init__(self, endpoint: DLEndpoint | None = None, *watchers: Watcher):
        self.endpoint = endpoint or DLEndpoint()
        self.watchers = watchers
        self.to_device: Fault = lambda number, slot: slot
        self.from_device: Fault = lambda number, slot: slot
        self.slots_given = self.slots_taken = 0

    def reset(self) -> None:
        """The device is in reset."""
        for watcher in self.watchers:
            watcher.reset()

    def next_slot(self) -> Slot:
        """What the device is to be given in this flit time."""
        slot = self.to_device(self.slots_given, self.endpoint.slot())
        self.slots_given += 1
        return slot

    def given(self, slot: Slot) -> None:
        """The device has been given all of ``slot``."""
        for watcher in self.watchers:
            watcher.received(slot)

    def take(self, slot: Slot) -> None:
        """The device has sent all of ``slot``."""
        for watcher in self.watchers:
            watcher.sent(slot)
        self.endpoint.receive(self.from_device(self.slots_taken, slot))
        self.slots_taken += 1

    async def run(self, send_flit: Callable[[Slot], Awaitable[None]], recv_flit: Callable[[], Awaitable[Slot]]) -> None:
        """Serve a device with an interface of whole flits, forever.

        ``await send_flit(slot)`` hands a slot to the device and returns when it has it; ``await recv_flit()`` gives the
        next slot of the device. Both carry 640 bytes, or a ``SlotKind`` in their place. One of each makes a flit time.
        """
        while True:
            slot = self.next_slot()
            await send_flit(slot)
            self.given(slot)
            self.take(await recv_flit())

    @staticmethod
    def is_remote_fault(slot: Slot) -> bool:
        """``slot`` tells of a fault at the partner."""
        return slot is REMOTE_FAULT
