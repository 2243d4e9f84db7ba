"""cocotb: checkers and coverage on both directions of a link, without driving anything."""

from ..common.agent import BusModel
from .bus import FlitReader, TLBus, read
from .partner import Watcher

__all__ = ["FlitWatch"]


class FlitWatch(BusModel):
    """Watches the device on ``bus``: tells ``watchers`` of the device, and ``partner_watchers`` of its partner.

    To a partner what the device was given is what it has sent, and the other way.

    Attributes
    ----------
    sent, received : flits with their message bits, seen from the device, for whoever wants to empty them.
    """

    passive = True

    def __init__(self, bus: TLBus, *watchers: Watcher, partner_watchers: tuple[Watcher, ...] = ()):
        self.bus = bus
        self.watchers, self.partner_watchers = watchers, partner_watchers
        self.sent: list[tuple[bytes, int]] = []
        self.received: list[tuple[bytes, int]] = []
        self._tx = FlitReader(bus.tx_valid, bus.tx_ready, bus.tx_data, bus.tx_message)
        self._rx = FlitReader(bus.rx_valid, bus.rx_ready, bus.rx_data, bus.rx_message)
        self._online = False

    def reset(self) -> None:
        """The link restarts."""
        self._online = False
        self._tx.reset()
        self._rx.reset()
        for watcher in (*self.watchers, *self.partner_watchers):
            watcher.reset()

    def tick(self) -> None:
        """One cycle."""
        if self.bus.online is not None and not read(self.bus.online, len(self.sent)):
            if self._online:
                self.reset()
            return
        self._online = True
        given, taken = self._rx.tick(), self._tx.tick()
        if given is not None:
            self.received.append(given)
            for watcher in self.watchers:
                watcher.received(*given)
            for watcher in self.partner_watchers:
                watcher.sent(*given)
        if taken is not None:
            self.sent.append(taken)
            for watcher in self.watchers:
                watcher.sent(*taken)
            for watcher in self.partner_watchers:
                watcher.received(*taken)
