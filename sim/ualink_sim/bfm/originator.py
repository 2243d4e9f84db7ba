"""A UPLI Originator as a bus model: issues Requests with tags, collects Responses (UALink_200 §2.4, §2.7)."""

from collections import deque
from dataclasses import dataclass, field

from .bus import UPLIBus
from .channel import Beat, ChannelReceiver, ChannelSender, ProtocolError

__all__ = ["Transaction", "UPLIOriginator"]

TAGS = 2048


@dataclass(eq=False)
class Transaction:
    """One Request with its data beats on the way in, and its Response beats on the way out.

    ``issued`` and ``completed`` are tick numbers, ``response`` the beats in order of arrival.
    """

    request: Beat
    data: list[Beat] = field(default_factory=list)
    port: int = 0
    response: list[Beat] = field(default_factory=list)
    issued: int | None = None
    completed: int | None = None

    @property
    def done(self) -> bool:
        return self.completed is not None

    @property
    def status(self) -> int:
        """RdRspStatus or WrRspStatus, the same on every beat of a response."""
        return self.response[0]["status"]


class UPLIOriginator:
    """Drives the Originator's side of ``bus``; call ``tick`` once per cycle, on the falling edge, out of reset.

    ``outstanding`` bounds the Requests in flight per port (at most the 2,048 tags that a port has). ``issued`` gathers
    the transactions as they are issued, for whoever wants to empty it.
    """

    def __init__(
        self,
        bus: UPLIBus,
        *,
        ports: int = 1,
        rd_rsp_pool: int = 64,
        wr_rsp_pool: int = 64,
        outstanding: int = TAGS,
        hold=lambda: 0,
    ):
        self.bus = bus
        self.ports = ports
        self.req = ChannelSender(bus.req, ports)
        self.orig_data = ChannelSender(bus.orig_data, ports)
        self.rd_rsp = ChannelReceiver(bus.rd_rsp, ports, pool=rd_rsp_pool, hold=hold)
        self.wr_rsp = ChannelReceiver(bus.wr_rsp, ports, pool=wr_rsp_pool, hold=hold)
        self.cycle = 0
        self.issued: list[Transaction] = []
        self._tags = [deque(range(min(outstanding, TAGS))) for _ in range(ports)]
        self._waiting: list[deque[Transaction]] = [deque() for _ in range(ports)]
        self._flight: list[dict[int, Transaction]] = [{} for _ in range(ports)]
        self._burst: list[deque[Beat]] = [deque() for _ in range(ports)]
        self._completed: list[Transaction] = []
        bus.orig_clk_req.value = 0
        bus.orig_clk_ack.value = 0
        self._connection = [
            0,
            0,
            0,
        ]  # OrigClkReq, OrigClkAck as driven; 1 in the last place once both directions are open

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing is in flight."""
        return not any(self._waiting) and not any(self._flight)

    @property
    def backlog(self) -> int:
        """Requests that wait to be issued."""
        return sum(map(len, self._waiting))

    def submit(self, transaction: Transaction) -> None:
        """Queue ``transaction`` on its port; its tag is chosen when it is issued."""
        self._waiting[transaction.port].append(transaction)

    def tick(self) -> list[Transaction]:
        """One cycle; returns the transactions that completed in it."""
        self.cycle += 1
        self._completed = []
        self.req.sample()
        self.orig_data.sample()
        self._take(self.rd_rsp.sample())
        self._take(self.wr_rsp.sample())
        if self._connect():
            self._send(self.cycle % self.ports)
        return self._completed

    def _connect(self) -> bool:
        """Run both handshake machines; true when beats may flow."""
        request, acknowledge, opened = self._connection
        if opened:
            self.rd_rsp.drive_credits()
            self.wr_rsp.drive_credits()
            return True
        bus = self.bus
        outbound = request and int(bus.comp_clk_ack.value)
        if outbound:
            self.rd_rsp.drive_credits()
            self.wr_rsp.drive_credits()
        if not request:
            bus.orig_clk_req.value = 1
        if not acknowledge and int(bus.comp_clk_req.value):
            bus.orig_clk_ack.value = 1
            acknowledge = 1
        self._connection = [1, acknowledge, int(bool(outbound and acknowledge))]
        return False

    def _send(self, slot: int) -> None:
        burst, waiting = self._burst[slot], self._waiting[slot]
        request = None
        if waiting and self._tags[slot]:
            head = waiting[0]
            vc = head.request["vc"]
            if self.req.affords(slot, vc, 1) and (
                not head.data or (not burst and self.orig_data.affords(slot, vc, len(head.data)))
            ):
                request = waiting.popleft()
        if request is not None:
            tag = self._tags[slot].popleft()
            request.request = {**request.request, "tag": tag, "port_id": slot}
            request.issued = self.cycle
            self.issued.append(request)
            self._flight[slot][tag] = request
            self.req.drive(request.request)
            burst.extend(request.data)
        else:
            self.req.idle()
        if burst:
            self.orig_data.drive({**burst.popleft(), "port_id": slot})
        else:
            self.orig_data.idle()

    def _take(self, beat: Beat | None) -> None:
        if beat is None:
            return
        port, tag = beat["port_id"], beat["tag"]
        transaction = self._flight[port].get(tag)
        if transaction is None:
            raise ProtocolError(f"a response to tag {tag} of port {port}, which is not outstanding: {beat}")
        received = transaction.response
        if received and received[-1]["num_beats"] and beat["offset"] != received[-1]["offset"] + 1:
            raise ProtocolError(f"beat {beat['offset']} of a multi-beat read response follows {received[-1]['offset']}")
        received.append(beat)
        if beat.get("last", 1):
            transaction.completed = self.cycle
            del self._flight[port][tag]
            self._tags[port].append(tag)
            self._completed.append(transaction)
