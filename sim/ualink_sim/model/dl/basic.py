"""Basic messages of one side: device ID, port number, TL rate (UALink_200 §6.4.2)."""

from collections.abc import Collection
from dataclasses import dataclass, field

from .arbiter import RoundRobin
from .messages import DeviceId, DLMessage, NoOp, PortNumber, TLRateNotification

__all__ = ["FULL_RATE", "BasicService", "Exchange"]

FULL_RATE = 31_250
TYPES: tuple[type[DLMessage], ...] = (TLRateNotification, DeviceId, PortNumber)
DEVICE_TYPES = (0, 1)
OWN_PORT_NUMBERS = 1 << 10


@dataclass
class Exchange:
    """Own Requests and those of the partner of one type: independent sequences (UALink_200 §6.4.2.1.2)."""

    asking: bool = False
    owed: int = 0
    unanswered: int = 0
    answered: bool = False


@dataclass
class BasicService:
    """One side. ``device`` and ``port`` are what it tells about itself, ``rate`` its TL clock in units of 50 kHz.

    Answers go before an own Request of their type: only they have a deadline. The types take turns.
    """

    device: DeviceId = field(default_factory=DeviceId)
    port: PortNumber = field(default_factory=PortNumber)
    rate: int = FULL_RATE
    partner_device: DeviceId = field(default_factory=DeviceId)
    partner_port: PortNumber = field(default_factory=PortNumber)
    partner_rate: int = FULL_RATE
    errors: int = 0

    def __post_init__(self):
        self.exchanges = {kind: Exchange() for kind in TYPES}
        self._turns = RoundRobin(TYPES)

    def ask(self, kind: type[DLMessage]) -> None:
        """Firmware wants a Request sent; one that has not been chosen yet serves for both."""
        exchange = self.exchanges[kind]
        exchange.asking, exchange.answered = True, False

    def choose(self) -> DLMessage | None:
        """Level 1 of the arbitration: the message of this class that competes next; None if there is none."""
        kind = self._turns.choose([kind for kind, e in self.exchanges.items() if e.owed or e.asking])
        if kind is None:
            return None
        exchange = self.exchanges[kind]
        if exchange.owed:
            exchange.owed -= 1
            return self._message(kind, ack=1)
        exchange.asking = False
        return self._message(kind, ack=0)

    def sent(self, message: DLMessage) -> None:
        """``message`` has gone into a segment; an own Request can be answered from now on."""
        if not getattr(message, "ack", 0):
            self.exchanges[type(message)].unanswered += 1

    def receive(self, message: DLMessage, unsent: Collection[DLMessage] = ()) -> None:
        """Take in a message, while ``unsent`` have been chosen and not sent yet."""
        if isinstance(message, NoOp) or type(message) not in self.exchanges:
            return
        exchange = self.exchanges[type(message)]
        if not getattr(message, "ack", 0):
            exchange.owed += 1
        elif not exchange.unanswered:
            self.errors += 1
            return
        else:
            exchange.unanswered -= 1
            kind = type(message)
            waits = exchange.asking or any(type(own) is kind and not getattr(own, "ack", 0) for own in unsent)
            exchange.answered = exchange.answered or not waits
        self._learn(message)

    def _learn(self, message: DLMessage) -> None:
        match message:
            case TLRateNotification(ack=0, rate=0):
                self.errors += 1
            case TLRateNotification(ack=0, rate=rate):
                self.partner_rate = rate
            case DeviceId(id=number, type=kind, valid=valid):
                self.partner_device = DeviceId(id=number if valid else 0, type=kind, valid=valid)
                self.errors += kind not in DEVICE_TYPES
            case PortNumber(port_number=number, valid=valid):
                self.partner_port = PortNumber(port_number=number if valid else 0, valid=valid)

    def _message(self, kind: type[DLMessage], ack: int) -> DLMessage:
        if kind is TLRateNotification:
            return TLRateNotification(ack=ack, rate=0 if ack else self.rate)
        if kind is DeviceId:
            own = self.device
            return DeviceId(ack=ack, id=own.id if own.valid else 0, type=own.type, valid=own.valid)
        number = self.port.port_number % OWN_PORT_NUMBERS if self.port.valid else 0
        return PortNumber(ack=ack, port_number=number, valid=self.port.valid)
