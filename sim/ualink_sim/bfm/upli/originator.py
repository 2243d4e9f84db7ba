"""A UPLI Originator as a bus model: issues Requests with tags, collects Responses (UALink_200 §2.4, §2.7)."""

from collections import deque

from cocotb.triggers import Event, First, Timer

from ..common.agent import BusModel, ModelTimeoutError
from ..common.arguments import check_beat, check_number
from .bus import UPLIBus
from .channel import Beat
from .connection import Connection, Handshake
from .options import OriginatorOptions
from .receiver import ChannelReceiver
from .responses import ResponseCollector
from .sender import ChannelSender
from .slots import Slots
from .transaction import Transaction

__all__ = ["ResetError", "Transaction", "UPLIOriginator"]

SHOWN = 8
"""Requests that a time-out names; of the others it gives the number."""


class ResetError(RuntimeError):
    """A reset terminated the transaction that was waited for."""


class UPLIOriginator(BusModel):
    """Drives the Originator's side of ``bus``: call ``tick`` once per cycle, on the falling edge, or ``start`` it.

    Attributes
    ----------
    options : how it asks; others than before take effect with ``reset``, but for those that are functions.
    issued : the transactions in order of issue, for whoever wants to empty it.
    """

    def __init__(self, bus: UPLIBus, options: OriginatorOptions | None = None):
        self.bus = bus
        self.options = options or OriginatorOptions()
        self._start()

    def _start(self) -> None:
        bus, options = self.bus, self.options
        self.ports = ports = options.ports
        self.req = ChannelSender(bus.req, ports)
        self.orig_data = ChannelSender(bus.orig_data, ports)
        self.rd_rsp, self.wr_rsp = (
            ChannelReceiver(getattr(bus, name), Slots(ports), pool=pool, vc=vc, hold=lambda: self.options.hold())
            for name, (pool, vc) in options.credits.items()
        )
        handshake = Handshake(bus.orig_clk_req, bus.comp_clk_ack, bus.comp_clk_req, bus.orig_clk_ack)
        self.connection = Connection(handshake, options.request_delay, options.acknowledge_delay)
        self.responses = ResponseCollector(ports)
        self.cycle = 0
        self._progress = 0
        self.issued: list[Transaction] = []
        self._tags = [deque(range(options.outstanding)) for _ in range(ports)]
        self._waiting: list[deque[Transaction]] = [deque() for _ in range(ports)]
        self._burst: list[deque[Beat]] = [deque() for _ in range(ports)]
        self._next_issue = [0] * ports

    def reset(self) -> list[Transaction]:
        """Start again with nothing: no connection, no credits. Returns the transactions that this terminates."""
        lost = [*self.responses.outstanding, *(waiting for queue in self._waiting for waiting in queue)]
        self._start()
        for transaction in lost:
            transaction.terminated = True
            if transaction.ended is not None:
                transaction.ended.set()
        return lost

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing is in flight."""
        return not any(self._waiting) and not self.responses.busy

    @property
    def backlog(self) -> int:
        """Requests that wait to be issued."""
        return sum(map(len, self._waiting))

    def submit(self, transaction: Transaction) -> None:
        """Queue ``transaction`` on its port; its tag is chosen when it is issued. ValueError: it cannot be sent."""
        me = type(self).__name__
        check_number(me, "port", transaction.port, 0, self.ports - 1)
        check_beat(me, "req", transaction.request)
        for beat in transaction.data:
            check_beat(me, "orig_data", beat)
        self._waiting[transaction.port].append(transaction)

    async def complete(self, transaction: Transaction) -> Transaction:
        """Submit ``transaction`` and wait for its Response; ResetError when a reset terminates it.

        ModelTimeoutError when the model does not move: nobody has started it, or its clock stands still.
        """
        transaction.ended = ended = Event()
        self.submit(transaction)
        while not ended.is_set():
            before = self.moves, self.cycle
            await First(ended.wait(), Timer(self.standstill_us, unit="us"))
            if not ended.is_set() and (self.moves, self.cycle) == before:
                raise self._stands_still()
        if transaction.terminated:
            raise ResetError(f"a reset terminated the Request {transaction.request}")
        return transaction

    def tick(self) -> list[Transaction]:
        """One cycle; returns the transactions that completed in it."""
        self.cycle = cycle = self.cycle + 1
        self.req.sample(cycle)
        self.orig_data.sample(cycle)
        completed = []
        for receiver in (self.rd_rsp, self.wr_rsp):
            beat = receiver.sample(cycle)
            if beat is not None:
                transaction = self.responses.take(cycle, receiver.channel, beat)
                if transaction is not None:
                    completed.append(transaction)
        if self.responses.busy:
            self.responses.check(cycle)
        for transaction in completed:
            request = transaction.request
            self._tags[request["port_id"]].append(request["tag"])
            if transaction.ended is not None:
                transaction.ended.set()
        self._connect()
        if completed or self.idle:
            self._progress = cycle
        else:
            self._check_progress()
        return completed

    def _check_progress(self) -> None:
        """Nothing was issued or completed since ``_progress``, though something waits."""
        limit = self.options.time_out
        if limit and self.cycle - self._progress > limit:
            raise ModelTimeoutError(f"{type(self).__name__}: nothing for {limit:,} cycles; {self.pending()}")

    def pending(self) -> str:
        """The Requests that are outstanding, those that wait, and what they may wait for."""
        lost = [
            f"port {request['port_id']} tag {request['tag']} command {request['cmd']:02X}h "
            f"to accelerator {request['dst_phys_acc_id']} at {request['addr']:#x}"
            for request in (transaction.request for transaction in self.responses.outstanding)
        ]
        more = f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
        without = f"{len(lost)} without a Response" + (f": {'; '.join(lost[:SHOWN])}{more}" if lost else "")
        closed = [
            name
            for name, is_open in (("CompClkAck", self.connection.outbound), ("CompClkReq", self.connection.inbound))
            if not is_open
        ]
        missing = f", {' and '.join(closed)} never came" if closed else ""
        return f"{without}; {self.backlog} not issued{missing}"

    def _connect(self) -> None:
        """Follow the handshake, and send what it allows."""
        connection = self.connection
        connection.tick()
        if not self.rd_rsp.open:
            self.req.credits.open = self.orig_data.credits.open = connection.inbound
            self.rd_rsp.open = self.wr_rsp.open = connection.open
        if connection.outbound:
            self.rd_rsp.drive_credits()
            self.wr_rsp.drive_credits()
            if connection.inbound:
                self._send(self.cycle % self.ports)

    def _send(self, slot: int) -> None:
        burst, waiting = self._burst[slot], self._waiting[slot]
        request = None
        if waiting and self._tags[slot] and self.cycle >= self._next_issue[slot]:
            head = waiting[0]
            vc = head.request["vc"]
            if self.req.affords(slot, vc, 1) and (
                not head.data or (not burst and self.orig_data.affords(slot, vc, len(head.data)))
            ):
                request = waiting.popleft()
        if request is not None:
            self._issue(request, slot)
            burst.extend(request.data)
        else:
            self.req.idle()
        if burst:
            self.orig_data.drive({**burst.popleft(), "port_id": slot})
        else:
            self.orig_data.idle()

    def _issue(self, transaction: Transaction, slot: int) -> None:
        tag = self._tags[slot].popleft()
        transaction.request = {**transaction.request, "tag": tag, "port_id": slot}
        transaction.issued = self.cycle
        self._progress = self.cycle
        self._next_issue[slot] = self.cycle + 1 + self.options.gap()
        self.issued.append(transaction)
        self.responses.add(transaction)
        self.req.drive(transaction.request)
