"""cocotb: a link partner at the TL flit interface of a device (UALink_200 §5)."""

from collections.abc import Callable
from typing import Protocol

from ..common.agent import BusModel
from ..common.arguments import check_function
from .bus import FlitReader, TLBus, read
from .endpoint import TLEndpoint

__all__ = ["FlitPartner", "Watcher"]


class Watcher(Protocol):
    """A ``LinkChecker`` or a ``LinkCoverage``."""

    def received(self, flit: bytes, message_bits: int) -> object:
        """A flit that the device was given."""

    def sent(self, flit: bytes, message_bits: int) -> object:
        """A flit that the device sent."""

    def reset(self) -> None:
        """The link restarts."""


class FlitPartner(BusModel):
    """Gives the flits of ``endpoint`` to the device on ``bus``, and those of the device to ``endpoint``.

    Parameters
    ----------
    watchers : told of every flit that the device was given and of every one that it sent.
    gap : function: cycles without a flit before each flit to the device.
    stall : function: true in a cycle in which no flit of the device is taken.

    Attributes
    ----------
    online : channel 0 of the link is online; while it is not, nothing moves and both ends restart (ruling D18).
    given, taken : counts of flits.
    """

    def __init__(
        self,
        bus: TLBus,
        endpoint: TLEndpoint,
        *watchers: Watcher,
        gap: Callable[[], int] = lambda: 0,
        stall: Callable[[], bool] = lambda: False,
    ):
        check_function(type(self).__name__, "gap", gap, "cycles")
        check_function(type(self).__name__, "stall", stall, "whether to stall")
        self.bus = bus
        self.endpoint = endpoint
        self.watchers = watchers
        self.online = True
        self.given = self.taken = 0
        self._gap, self._stall = gap, stall
        self._reader = FlitReader(bus.tx_valid, bus.tx_ready, bus.tx_data, bus.tx_message)
        bus.rx_data.value = 0
        bus.rx_message.value = 0
        self.reset()

    def reset(self) -> None:
        """The link restarts."""
        self._reader.reset()
        self._flit: tuple[bytes, int] | None = None
        self._pause = 0
        self.bus.rx_valid.value = 0
        self.bus.tx_ready.value = 0
        if self.bus.online is not None:
            self.bus.online.value = 0
        self._started = False
        self.endpoint.reset()
        for watcher in self.watchers:
            watcher.reset()

    def pending(self) -> str:
        """What the endpoint has in hand, and how far it has come."""
        end = self.endpoint
        errors = f", errors: {'; '.join(end.errors)}" if end.errors else ""
        return (
            f"{self.given} flits given, {self.taken} taken, {len(end.requests)} Requests and {len(end.responses)} "
            f"Responses wait, {'credits are there' if end.credits.ready else 'no initial credits have come'}{errors}"
        )

    def tick(self) -> None:
        """One cycle."""
        if not self.online:
            if self._started:
                self.reset()
            return
        if not self._started:
            self._started = True
            if self.bus.online is not None:
                self.bus.online.value = 1
            return
        # What is valid now moves with the coming edge if it is ready then; ``valid`` does not depend on ``ready``.
        ready = not self._stall()
        self.bus.tx_ready.value = int(ready)
        taken = self._reader.tick(ready)
        self._give()
        if taken is not None:
            self.taken += 1
            for watcher in self.watchers:
                watcher.sent(*taken)
            self.endpoint.receive(*taken)

    def _give(self) -> None:
        """Offer a flit to the device, which takes it with the coming edge if it is ready."""
        if self._pause:
            self._pause -= 1
        elif self._flit is None:
            self._flit = self.endpoint.flit()
            if self._flit is not None:
                data, message = self._flit
                self.bus.rx_data.value = int.from_bytes(data, "little")
                self.bus.rx_message.value = message
        self.bus.rx_valid.value = int(self._flit is not None)
        if self._flit is None or (self.bus.rx_ready is not None and not read(self.bus.rx_ready, self.given + 1)):
            return
        for watcher in self.watchers:
            watcher.received(*self._flit)
        self.given += 1
        self._flit = None
        self._pause = self._gap()
