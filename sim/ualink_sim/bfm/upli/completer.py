"""A UPLI Completer as a bus model: takes Requests, asks a handler, sends Responses (UALink_200 §2.4, §2.7)."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from ..common.agent import BusModel
from ..common.arguments import check_function
from .bus import UPLIBus
from .channel import Beat
from .connection import Connection, Handshake
from .options import CompleterOptions
from .receiver import ChannelReceiver
from .requests import RequestCollector
from .sender import ChannelSender
from .slots import Slots

__all__ = ["Handler", "UPLICompleter"]

Handler = Callable[[Beat, list[Beat]], tuple[str, list[Beat]]]
"""Takes a Request and its data beats; gives ``"rd_rsp"`` or ``"wr_rsp"`` and the beats less port and pool."""


class UPLICompleter(BusModel):
    """Drives the Completer's side of ``bus``: call ``tick`` once per cycle, on the falling edge, or ``start`` it.

    Responses go in the order in which they are due; those due in one cycle in the order of their Requests.

    Attributes
    ----------
    handler : see ``Handler``; ``MemoryHandler`` is one.
    options : how it answers; others than before take effect with ``reset``, but for those that are functions.
    """

    def __init__(self, bus: UPLIBus, handler: Handler, options: CompleterOptions | None = None):
        check_function(type(self).__name__, "handler", handler, "the Response to a Request and its data")
        self.bus = bus
        self.handler = handler
        self.options = options or CompleterOptions()
        self._start()

    def _start(self) -> None:
        bus, options = self.bus, self.options
        self.ports = ports = options.ports
        slots = Slots(ports)
        self.req, self.orig_data = (
            ChannelReceiver(getattr(bus, name), slots, pool=pool, vc=vc, hold=lambda: self.options.hold())
            for name, (pool, vc) in options.credits.items()
        )
        self.rd_rsp = ChannelSender(bus.rd_rsp, ports)
        self.wr_rsp = ChannelSender(bus.wr_rsp, ports)
        handshake = Handshake(bus.comp_clk_req, bus.orig_clk_ack, bus.orig_clk_req, bus.comp_clk_ack)
        self.connection = Connection(handshake, options.request_delay, options.acknowledge_delay)
        self.requests = RequestCollector(ports, check_fields=options.check_fields)
        self.cycle = 0
        # Per channel and port, earliest due first: (cycle in which it is due, running number, beats to send together).
        self._ready: dict[str, list[list[tuple[int, int, list[Beat]]]]] = {
            name: [[] for _ in range(ports)] for name in ("rd_rsp", "wr_rsp")
        }
        self._numbers = count()
        self._burst: list[deque[Beat]] = [deque() for _ in range(ports)]

    def reset(self) -> None:
        """Start again with nothing: no connection, no credits, no Response owed."""
        self._start()

    @property
    def idle(self) -> bool:
        """No Request is half received and no Response waits."""
        return not (self.requests.busy or any(self._burst) or any(map(any, self._ready.values())))

    def pending(self) -> str:
        """Requests that are half received, and Responses that wait."""
        waiting = sum(len(queue) for queues in self._ready.values() for queue in queues) + sum(map(bool, self._burst))
        return f"{waiting} Responses wait, {'a Request lacks data' if self.requests.busy else 'no Request lacks data'}"

    def tick(self) -> None:
        """One cycle."""
        self.cycle = cycle = self.cycle + 1
        self.rd_rsp.sample(cycle)
        self.wr_rsp.sample(cycle)
        request, data = self.req.sample(cycle), self.orig_data.sample(cycle)
        if request is not None or data is not None or self.requests.busy:
            for complete in self.requests.take(cycle, request, data):
                self._answer(*complete)
        self._connect()

    def _connect(self) -> None:
        """Follow the handshake, and send what it allows."""
        connection = self.connection
        connection.tick()
        if not self.req.open:
            self.rd_rsp.credits.open = self.wr_rsp.credits.open = connection.inbound
            self.req.open = self.orig_data.open = connection.open
        if connection.outbound:
            self.req.drive_credits()
            self.orig_data.drive_credits()
            if connection.inbound:
                slot = self.cycle % self.ports
                self._send_read_response(slot)
                self._send_write_response(slot)

    def _answer(self, request: Beat, data: list[Beat]) -> None:
        channel, beats = self.handler(request, data)
        options = self.options
        due = self.cycle + (options.latency() if callable(options.latency) else options.latency)
        queue = self._ready[channel][request["port_id"]]
        order = options.single_beat(len(beats)) if channel == "rd_rsp" and len(beats) > 1 else None
        if order is None:
            heappush(queue, (due, next(self._numbers), beats))
            return
        for place, offset in enumerate(order):
            beat = {**beats[offset], "num_beats": 0, "last": int(place == len(beats) - 1)}
            heappush(queue, (due, next(self._numbers), [beat]))
            due += 1 + options.beat_gap()

    def _send_read_response(self, slot: int) -> None:
        burst, ready = self._burst[slot], self._ready["rd_rsp"][slot]
        if not burst and ready and ready[0][0] <= self.cycle:
            beats = ready[0][2]
            if self.rd_rsp.affords(slot, beats[0]["vc"], len(beats)):
                burst.extend(heappop(ready)[2])
        if burst:
            self.rd_rsp.drive({**burst.popleft(), "port_id": slot})
        else:
            self.rd_rsp.idle()

    def _send_write_response(self, slot: int) -> None:
        ready = self._ready["wr_rsp"][slot]
        if ready and ready[0][0] <= self.cycle and self.wr_rsp.affords(slot, ready[0][2][0]["vc"], 1):
            self.wr_rsp.drive({**heappop(ready)[2][0], "port_id": slot})
        else:
            self.wr_rsp.idle()
