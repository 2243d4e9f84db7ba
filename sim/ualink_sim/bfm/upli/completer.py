"""A UPLI Completer as a bus model: takes Requests, asks a handler, sends Responses (UALink_200 §2.4, §2.7)."""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count

from ..common.agent import BusModel
from ..common.arguments import PORTS, check_choice, check_credits, check_function, check_number
from .bus import UPLIBus
from .channel import Beat
from .connection import Connection
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
    ports : 1, 2 or 4.
    req_pool, orig_data_pool, req_vc, orig_data_vc : credits released per port, in the Pool and for each VC.
    latency : cycles from the last beat of a Request to its Response, or a function called per Request that gives them.
    hold : called per received beat, cycles for which its credit is kept back.
    single_beat : called with the number of beats of each longer Read Response; gives the order of its offsets to send
        it in Single Beat mode, or None for Multi-Beat mode.
    beat_gap : called per beat of a Response in Single Beat mode, cycles before the next one.
    check_fields : hold Requests against the rules for command, address and length.
    request_delay, acknowledge_delay : cycles before CompClkReq and CompClkAck rise.
    """

    def __init__(
        self,
        bus: UPLIBus,
        handler: Handler,
        *,
        ports: int = 1,
        req_pool: int = 64,
        orig_data_pool: int = 128,
        req_vc: tuple[int, int, int, int] = (0, 0, 0, 0),
        orig_data_vc: tuple[int, int, int, int] = (0, 0, 0, 0),
        latency: int | Callable[[], int] = 1,
        hold: Callable[[], int] = lambda: 0,
        single_beat: Callable[[int], Sequence[int] | None] = lambda beats: None,
        beat_gap: Callable[[], int] = lambda: 0,
        check_fields: bool = True,
        request_delay: int = 0,
        acknowledge_delay: int = 0,
    ):
        me = type(self).__name__
        check_choice(me, "ports", ports, PORTS)
        check_credits(me, "req", req_pool, req_vc)
        check_credits(me, "orig_data", orig_data_pool, orig_data_vc)
        check_function(me, "handler", handler, "the Response to a Request and its data")
        if not callable(latency):
            check_number(me, "latency", latency, 0)
        for name, function, gives in (
            ("hold", hold, "cycles"),
            ("single_beat", single_beat, "an order of offsets or None"),
            ("beat_gap", beat_gap, "cycles"),
        ):
            check_function(me, name, function, gives)
        for name, cycles in (("request_delay", request_delay), ("acknowledge_delay", acknowledge_delay)):
            check_number(me, name, cycles, 0)
        self.bus = bus
        self.handler = handler
        self.ports = ports
        self.latency = latency
        self.hold = hold
        self.single_beat = single_beat
        self.beat_gap = beat_gap
        self._check_fields = check_fields
        self._credits = {"req": (req_pool, req_vc), "orig_data": (orig_data_pool, orig_data_vc)}
        self.request_delay = request_delay
        self.acknowledge_delay = acknowledge_delay
        self._start()

    def _start(self) -> None:
        bus, ports = self.bus, self.ports
        slots = Slots(ports)
        self.req, self.orig_data = (
            ChannelReceiver(getattr(bus, name), slots, pool=pool, vc=vc, hold=lambda: self.hold())
            for name, (pool, vc) in self._credits.items()
        )
        self.rd_rsp = ChannelSender(bus.rd_rsp, ports)
        self.wr_rsp = ChannelSender(bus.wr_rsp, ports)
        self.connection = Connection(
            bus.comp_clk_req,
            bus.orig_clk_ack,
            bus.orig_clk_req,
            bus.comp_clk_ack,
            request_delay=self.request_delay,
            acknowledge_delay=self.acknowledge_delay,
        )
        self.requests = RequestCollector(ports, check_fields=self._check_fields)
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
        due = self.cycle + (self.latency() if callable(self.latency) else self.latency)
        queue = self._ready[channel][request["port_id"]]
        order = self.single_beat(len(beats)) if channel == "rd_rsp" and len(beats) > 1 else None
        if order is None:
            heappush(queue, (due, next(self._numbers), beats))
            return
        for place, offset in enumerate(order):
            beat = {**beats[offset], "num_beats": 0, "last": int(place == len(beats) - 1)}
            heappush(queue, (due, next(self._numbers), [beat]))
            due += 1 + self.beat_gap()

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
