"""A UPLI Originator as a bus model: issues Requests with tags, collects Responses (UALink_200 §2.4, §2.7)."""

from collections import deque
from collections.abc import Callable

from cocotb.triggers import Event, First, Timer

from ..common.agent import BusModel, ModelTimeoutError
from ..common.arguments import PORTS, check_beat, check_choice, check_credits, check_function, check_number
from .bus import UPLIBus
from .channel import Beat
from .connection import Connection
from .receiver import ChannelReceiver
from .responses import ResponseCollector
from .sender import ChannelSender
from .slots import Slots
from .transaction import Transaction

__all__ = ["ResetError", "Transaction", "UPLIOriginator"]

TAGS = 2048
SHOWN = 8
"""Requests that a time-out names; of the others it gives the number."""


class ResetError(RuntimeError):
    """A reset terminated the transaction that was waited for."""


class UPLIOriginator(BusModel):
    """Drives the Originator's side of ``bus``: call ``tick`` once per cycle, on the falling edge, or ``start`` it.

    Attributes
    ----------
    ports : 1, 2 or 4.
    rd_rsp_pool, wr_rsp_pool, rd_rsp_vc, wr_rsp_vc : credits released per port, in the Pool and for each VC.
    outstanding : bound on the Requests in flight per port, at most the 2,048 tags that a port has.
    hold : called per received beat, cycles for which its credit is kept back.
    gap : called per issued Request, cycles for which its port issues none.
    request_delay, acknowledge_delay : cycles before OrigClkReq and OrigClkAck rise.
    time_out : ModelTimeoutError after so many cycles in which something waits or is in flight and nothing is issued or
        completes; 0: never.
    issued : the transactions in order of issue, for whoever wants to empty it.
    """

    def __init__(
        self,
        bus: UPLIBus,
        *,
        ports: int = 1,
        rd_rsp_pool: int = 64,
        wr_rsp_pool: int = 64,
        rd_rsp_vc: tuple[int, int, int, int] = (0, 0, 0, 0),
        wr_rsp_vc: tuple[int, int, int, int] = (0, 0, 0, 0),
        outstanding: int = TAGS,
        hold: Callable[[], int] = lambda: 0,
        gap: Callable[[], int] = lambda: 0,
        request_delay: int = 0,
        acknowledge_delay: int = 0,
        time_out: int = 100_000,
    ):
        me = type(self).__name__
        check_choice(me, "ports", ports, PORTS)
        check_credits(me, "rd_rsp", rd_rsp_pool, rd_rsp_vc)
        check_credits(me, "wr_rsp", wr_rsp_pool, wr_rsp_vc)
        check_number(me, "outstanding", outstanding, 1, TAGS)
        check_function(me, "hold", hold, "cycles")
        check_function(me, "gap", gap, "cycles")
        for name, cycles in (("request_delay", request_delay), ("acknowledge_delay", acknowledge_delay)):
            check_number(me, name, cycles, 0)
        check_number(me, "time_out", time_out, 0)
        self.bus = bus
        self.ports = ports
        self.outstanding = outstanding
        self.time_out = time_out
        self.hold = hold
        self.gap = gap
        self._credits = {"rd_rsp": (rd_rsp_pool, rd_rsp_vc), "wr_rsp": (wr_rsp_pool, wr_rsp_vc)}
        self.request_delay = request_delay
        self.acknowledge_delay = acknowledge_delay
        self._start()

    def _start(self) -> None:
        bus, ports = self.bus, self.ports
        self.req = ChannelSender(bus.req, ports)
        self.orig_data = ChannelSender(bus.orig_data, ports)
        self.rd_rsp, self.wr_rsp = (
            ChannelReceiver(getattr(bus, name), Slots(ports), pool=pool, vc=vc, hold=lambda: self.hold())
            for name, (pool, vc) in self._credits.items()
        )
        self.connection = Connection(
            bus.orig_clk_req,
            bus.comp_clk_ack,
            bus.comp_clk_req,
            bus.orig_clk_ack,
            request_delay=self.request_delay,
            acknowledge_delay=self.acknowledge_delay,
        )
        self.responses = ResponseCollector(ports)
        self.cycle = 0
        self._progress = 0
        self.issued: list[Transaction] = []
        self._tags = [deque(range(self.outstanding)) for _ in range(ports)]
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
        elif self.time_out and cycle - self._progress > self.time_out:
            raise ModelTimeoutError(f"{type(self).__name__}: nothing for {self.time_out:,} cycles; {self.pending()}")
        return completed

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
        self._next_issue[slot] = self.cycle + 1 + self.gap()
        self.issued.append(transaction)
        self.responses.add(transaction)
        self.req.drive(transaction.request)
