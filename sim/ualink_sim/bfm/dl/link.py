"""cocotb: a link partner, or an onlooker, on a device's beat streams."""

from collections.abc import Callable

from ..common.agent import BusModel
from ..common.arguments import check_function, check_number
from .beats import BeatReceiver, BeatSender, DLBus
from .monitor import LinkMonitor
from .partner import LinkPartner, Watcher

__all__ = ["BeatLink", "BeatWatch"]


class BeatLink(BusModel):
    """Plugs ``partner`` into ``bus``: it drives what the device receives, takes what it sends, and plays the RS.

    Parameters
    ----------
    gap : function: cycles without a beat before each beat to the device.
    stall : function: true in a cycle in which no beat of the device is taken.
    port : the port of a station's beats that is meant.

    Attributes
    ----------
    local_fault : show a local fault to the device; a remote fault is shown while the partner sends it.
    """

    def __init__(
        self,
        bus: DLBus,
        partner: LinkPartner,
        *,
        gap: Callable[[], int] = lambda: 0,
        stall: Callable[[], bool] = lambda: False,
        port: int = 0,
    ):
        check_function(type(self).__name__, "gap", gap, "cycles")
        check_function(type(self).__name__, "stall", stall, "whether to stall")
        check_number(type(self).__name__, "port", port, 0, 3)
        self.bus = bus
        self.partner = partner
        self.local_fault = False
        self._stall = stall
        self._sender = BeatSender(bus.rx_valid, bus.rx_payload, gap, port)
        self._receiver = BeatReceiver(bus.tx_valid, None, bus.tx_payload, port=port)
        self._remote_fault = False
        bus.rx_payload.value = 0
        self.reset()

    def pending(self) -> str:
        """State of the partner's link, and how far it has come."""
        partner, end = self.partner, self.partner.endpoint
        channel = "online" if end.online else "offline"
        return (
            f"{partner.slots_given} slots given, {partner.slots_taken} taken, the partner's link is "
            f"{end.link.state.name}, channel 0 {channel}, {len(end.tl_flits)} TL flits wait"
        )

    def reset(self) -> None:
        """Nothing is under way."""
        self._sender.reset()
        self._receiver.reset()
        self._ready = False
        self.bus.tx_ready.value = 0
        self._faults = (True, True)  # none shown so far
        self._show_faults()
        self.partner.reset()

    def _show_faults(self) -> None:
        faults = self.local_fault, self._remote_fault and not self.local_fault
        if faults == self._faults:
            return
        self._faults = faults
        self.bus.local_fault.value, self.bus.remote_fault.value = map(int, faults)
        for watcher in self.partner.watchers:
            watcher.show_fault(*faults)

    def tick(self) -> None:
        """One cycle."""
        # What is valid now moves with the coming edge if it is ready then; ``valid`` does not depend on ``ready``.
        ready = not self._stall()
        if ready != self._ready:
            self.bus.tx_ready.value = int(ready)
            self._ready = ready
        taken = self._receiver.tick() if ready else None
        if self._sender.free:
            self._sender.load(self.partner.next_slot())
        given = self._sender.tick()
        if given is not None:
            self._remote_fault = self.partner.is_remote_fault(given)
            self.partner.given(given)
        self._show_faults()
        if taken is not None:
            self.partner.take(taken)


class BeatWatch(BusModel):
    """Drives nothing: rebuilds both directions of a device and tells ``watchers`` (checker, coverage) and monitors.

    Attributes
    ----------
    sent, received : a ``LinkMonitor`` of each direction, seen from the device.
    """

    passive = True

    def __init__(self, bus: DLBus, *watchers: Watcher, port: int = 0):
        check_number(type(self).__name__, "port", port, 0, 3)
        self.bus = bus
        self.watchers = watchers
        self.sent, self.received = LinkMonitor(), LinkMonitor()
        self._tx = BeatReceiver(bus.tx_valid, bus.tx_ready, bus.tx_payload, port=port)
        self._rx = BeatReceiver(bus.rx_valid, None, bus.rx_payload, incoming=True, port=port)

    def reset(self) -> None:
        """Nothing is under way."""
        self._tx.reset()
        self._rx.reset()
        self.sent.reset()
        self.received.reset()
        for watcher in self.watchers:
            watcher.reset()

    def tick(self) -> None:
        """One cycle."""
        given, taken = self._rx.tick(), self._tx.tick()
        if given is None and taken is None:
            return
        for watcher in self.watchers:
            watcher.show_fault(bool(int(self.bus.local_fault.value)), bool(int(self.bus.remote_fault.value)))
            if given is not None:
                watcher.received(given)
            if taken is not None:
                watcher.sent(taken)
        if given is not None:
            self.received.slot(given)
        if taken is not None:
            self.sent.slot(taken)
