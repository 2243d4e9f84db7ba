"""A UPLI Completer as a bus model: takes Requests, asks a handler, sends Responses (UALink_200 §2.4, §2.7)."""

from collections import deque
from collections.abc import Callable

from .bus import UPLIBus
from .channel import Beat, ChannelReceiver, ChannelSender, ProtocolError

__all__ = ["UPLICompleter"]

Handler = Callable[[Beat, list[Beat]], tuple[str, list[Beat]]]
"""Takes a Request and its data beats; gives ``"rd_rsp"`` or ``"wr_rsp"`` and the beats less port and pool."""


class UPLICompleter:
    """Drives the Completer's side of ``bus``; call ``tick`` once per cycle, on the falling edge, out of reset.

    ``latency`` is the number of cycles from the last beat of a Request to the first of its Response.
    """

    def __init__(
        self,
        bus: UPLIBus,
        handler: Handler,
        *,
        ports: int = 1,
        req_pool: int = 64,
        orig_data_pool: int = 128,
        latency: int = 1,
        hold=lambda: 0,
    ):
        self.bus = bus
        self.ports = ports
        self.handler = handler
        self.latency = latency
        self.req = ChannelReceiver(bus.req, ports, pool=req_pool, hold=hold)
        self.orig_data = ChannelReceiver(bus.orig_data, ports, pool=orig_data_pool, hold=hold)
        self.rd_rsp = ChannelSender(bus.rd_rsp, ports)
        self.wr_rsp = ChannelSender(bus.wr_rsp, ports)
        self.cycle = 0
        self._open: list[tuple[Beat, list[Beat]] | None] = [None] * ports
        self._received: list[deque[tuple[Beat, list[Beat]]]] = [deque() for _ in range(ports)]
        self._ready: dict[str, list[deque]] = {name: [deque() for _ in range(ports)] for name in ("rd_rsp", "wr_rsp")}
        self._burst: list[deque[Beat]] = [deque() for _ in range(ports)]
        bus.comp_clk_req.value = 0
        bus.comp_clk_ack.value = 0
        self._connection = [0, 0, 0]

    @property
    def idle(self) -> bool:
        """No Request is half received and no Response waits."""
        queues = [*self._ready["rd_rsp"], *self._ready["wr_rsp"], *self._burst]
        return not any(queues) and not any(self._received)

    def tick(self) -> None:
        """One cycle."""
        self.cycle += 1
        self.rd_rsp.sample()
        self.wr_rsp.sample()
        self._take(self.req.sample(), self.orig_data.sample())
        if self._connect():
            slot = self.cycle % self.ports
            self._send_read_response(slot)
            self._send_write_response(slot)

    def _connect(self) -> bool:
        request, acknowledge, opened = self._connection
        if opened:
            self.req.drive_credits()
            self.orig_data.drive_credits()
            return True
        bus = self.bus
        inbound = request and int(bus.orig_clk_ack.value)
        if inbound:
            self.req.drive_credits()
            self.orig_data.drive_credits()
        if not request:
            bus.comp_clk_req.value = 1
        if not acknowledge and int(bus.orig_clk_req.value):
            bus.comp_clk_ack.value = 1
            acknowledge = 1
        self._connection = [1, acknowledge, int(bool(inbound and acknowledge))]
        return False

    def _take(self, request: Beat | None, data: Beat | None) -> None:
        """Note what came; Requests are answered in the order in which they came, once their data are complete."""
        if request is not None:
            port = request["port_id"]
            if request["cmd"] >> 5 & 1:
                if self._open[port] is not None:
                    raise ProtocolError(f"a Request with data on port {port} before the data of the last one ended")
                if data is None or data["port_id"] != port:
                    raise ProtocolError(f"a Request with data on port {port} without its first OrigData beat")
                self._open[port] = (request, [])
                self._received[port].append(self._open[port])
            else:
                self._received[port].append((request, []))
        if data is not None:
            self._take_data(data)
        for received in self._received:
            while received and len(received[0][1]) == self._beats(received[0][0]):
                self._answer(*received.popleft())

    @staticmethod
    def _beats(request: Beat) -> int:
        return request["num_beats"] + 1 if request["cmd"] >> 5 & 1 else 0

    def _take_data(self, data: Beat) -> None:
        port = data["port_id"]
        owner = self._open[port]
        if owner is None:
            raise ProtocolError(f"an OrigData beat on port {port} that belongs to no Request")
        request, beats = owner
        beats.append(data)
        last = len(beats) == self._beats(request)
        if data["offset"] != len(beats) - 1 or data["last"] != last or data["vc"] != request["vc"]:
            raise ProtocolError(f"OrigData beat {len(beats)} of {self._beats(request)} has wrong fields: {data}")
        if last:
            self._open[port] = None

    def _answer(self, request: Beat, data: list[Beat]) -> None:
        channel, beats = self.handler(request, data)
        self._ready[channel][request["port_id"]].append((self.cycle + self.latency, beats))

    def _send_read_response(self, slot: int) -> None:
        burst, ready = self._burst[slot], self._ready["rd_rsp"][slot]
        if not burst and ready and ready[0][0] <= self.cycle:
            beats = ready[0][1]
            if self.rd_rsp.affords(slot, beats[0]["vc"], len(beats)):
                burst.extend(ready.popleft()[1])
        if burst:
            self.rd_rsp.drive({**burst.popleft(), "port_id": slot})
        else:
            self.rd_rsp.idle()

    def _send_write_response(self, slot: int) -> None:
        ready = self._ready["wr_rsp"][slot]
        if ready and ready[0][0] <= self.cycle and self.wr_rsp.affords(slot, ready[0][1][0]["vc"], 1):
            self.wr_rsp.drive({**ready.popleft()[1][0], "port_id": slot})
        else:
            self.wr_rsp.idle()
