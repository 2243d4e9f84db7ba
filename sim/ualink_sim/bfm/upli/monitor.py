"""A passive monitor: gathers the transactions on a UPLI interface and checks both sides (UALink_200 §2.5-2.8, §4)."""

from collections.abc import Callable, Sequence

from ..common.agent import BusModel
from ..common.arguments import PORTS, check_choice, check_function
from .beat_reader import BeatReader
from .bus import ChannelBus, UPLIBus, reader
from .channel import FIELDS, Beat
from .credit_reader import CreditReader, CreditReturn
from .requests import RequestCollector
from .responses import ResponseCollector
from .rules import ProtocolError
from .slots import Slots
from .transaction import Transaction

__all__ = ["UPLIMonitor"]

HANDSHAKE = ("orig_clk_req", "comp_clk_ack", "comp_clk_req", "orig_clk_ack")


class _Channel(BeatReader):
    """A channel with its credit return, as an onlooker sees both."""

    def __init__(self, bus: ChannelBus, slots: Slots):
        super().__init__(bus, slots)
        self.credits = CreditReader(bus, self.ports)
        self.init_done = self.credits.init_done
        self._returned: Sequence[CreditReturn] = ()
        handle = bus.fields.get("auth_tag")
        self._auth_tag = reader(handle, self.channel) if handle is not None else None

    def take_credits(self, cycle: int) -> None:
        """Count the credits that the sender gets in this cycle, before its beat that may already spend them."""
        self._returned = self.credits.sample(cycle)
        for port, pool, vc, count, _ in self._returned:
            self.accounts.grant(port, pool, vc, count)

    def sample(self, cycle: int) -> Beat | None:
        beat = super().sample(cycle)
        if beat is None and self._auth_tag is not None and self._auth_tag():
            raise ProtocolError(self.channel, "auth_tag")
        for port, pool, vc, count, initial in self._returned:
            if not initial:
                self.accounts.settle(port, pool, vc, count)
        return beat


class UPLIMonitor(BusModel):
    """Watches ``bus`` and drives nothing: ``start`` it, or call ``tick`` in the ReadOnly phase of every falling edge.

    Attributes
    ----------
    ports : 1, 2 or 4.
    on_transaction : called with each transaction that completes.
    check_fields : hold Requests against the rules for command, address and length.
    completed : the transactions that have completed, in that order, for whoever wants to empty it.
    responses : what is outstanding, and whether ISOLATE has come.
    """

    passive = True

    def __init__(
        self,
        bus: UPLIBus,
        *,
        ports: int = 1,
        on_transaction: Callable[[Transaction], None] = lambda transaction: None,
        check_fields: bool = True,
    ):
        check_choice(type(self).__name__, "ports", ports, PORTS)
        check_function(type(self).__name__, "on_transaction", on_transaction, "nothing and takes a transaction")
        self.bus = bus
        self.ports = ports
        self.on_transaction = on_transaction
        self.completed: list[Transaction] = []
        self._check_fields = check_fields
        self._handshake = [reader(getattr(bus, name), "handshake") for name in HANDSHAKE]
        self.reset()

    def pending(self) -> str:
        """Requests without a Response."""
        return f"{len(self.responses.outstanding)} Requests without a Response"

    def reset(self) -> None:
        """Forget what is outstanding; ``completed`` stays."""
        ports = self.ports
        request_slots = Slots(ports)
        slots = (request_slots, request_slots, Slots(ports), Slots(ports))
        self.channels = {name: _Channel(getattr(self.bus, name), group) for name, group in zip(FIELDS, slots)}
        self.requests = RequestCollector(ports, check_fields=self._check_fields)
        self.responses = ResponseCollector(ports)
        self.cycle = 0
        self._before = [0, 0, 0, 0]
        self._issued: dict[int, Transaction] = {}

    def tick(self) -> list[Transaction]:
        """One cycle; returns the transactions that completed in it."""
        self.cycle = cycle = self.cycle + 1
        self._follow_handshake()
        channels = self.channels
        for channel in channels.values():
            channel.take_credits(cycle)
        beats = {name: channel.sample(cycle) for name, channel in channels.items()}
        self._take_requests(cycle, beats["req"], beats["orig_data"])
        completed = []
        for name in ("rd_rsp", "wr_rsp"):
            beat = beats[name]
            transaction = self.responses.take(cycle, name, beat) if beat is not None else None
            if transaction is not None:
                completed.append(transaction)
        self.responses.check(cycle)
        for transaction in completed:
            self.on_transaction(transaction)
        self.completed += completed
        return completed

    def _follow_handshake(self) -> None:
        now = [read() for read in self._handshake]
        if self.cycle == 1:
            self._check_reset_state(now)
        if now == self._before and self.cycle > 1:
            return
        if any(before > after for before, after in zip(self._before, now)):
            raise ProtocolError("handshake", "handshake_sticky", dict(zip(HANDSHAKE, now)))
        orig_req, comp_ack, comp_req, orig_ack = self._before = now
        if comp_ack > orig_req or orig_ack > comp_req:
            raise ProtocolError("handshake", "handshake_order", dict(zip(HANDSHAKE, now)))
        outward, homeward = bool(orig_req and comp_ack), bool(comp_req and orig_ack)
        for name, channel in self.channels.items():
            channel.credits.open = homeward if name in ("req", "orig_data") else outward
            channel.open = outward and homeward

    def _check_reset_state(self, handshake: list[int]) -> None:
        if any(handshake):
            raise ProtocolError("handshake", "reset_state", dict(zip(HANDSHAKE, handshake)))
        for name in FIELDS:
            bus = getattr(self.bus, name)
            for handle in (bus.vld, bus.credit.vld, bus.credit.init_done):
                if reader(handle, name)():
                    raise ProtocolError(name, "reset_state", getattr(handle, "_name", ""))

    def _take_requests(self, cycle: int, request: Beat | None, data: Beat | None) -> None:
        """A Request counts as outstanding from its own cycle; its data are filled in when they are complete."""
        if request is not None:
            transaction = Transaction(request, port=request["port_id"], issued=cycle)
            self.responses.add(transaction)
            self._issued[id(request)] = transaction
        for whole, data_beats in self.requests.take(cycle, request, data):
            self._issued.pop(id(whole)).data = data_beats
