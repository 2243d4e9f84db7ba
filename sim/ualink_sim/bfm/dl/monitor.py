"""What one direction of a link carries, put together again by whoever watches it (UALink_200 §6)."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...model.dl.decode_messages import Message, MessageStream, Payload, Unknown
from ...model.dl.endpoint import LOST, Slot, SlotKind
from ...model.dl.link_state import CONTROL_FLITS_TO_IDLE
from ...model.dl.messages import DLMessage
from ...model.dl.packing import Unpacker
from ...model.dl.replay import ReplayReceiver, Verdict
from .observed import ObservedFlit

__all__ = ["LinkMonitor", "Observation"]


@dataclass
class Observation:
    """One slot: the flit in it, if any, what its receiver makes of it, and what it completes.

    ``messages`` are the messages that begin in it, ``uart`` the payload dwords of UART messages.
    """

    number: int
    slot: Slot
    flit: ObservedFlit | None = None
    verdict: Verdict | None = None
    tl_flits: list[tuple[bytes, int]] = field(default_factory=list)
    messages: list[DLMessage] = field(default_factory=list)
    uart: list[int] = field(default_factory=list)


class LinkMonitor:
    """Give it every slot of one direction, as the receiver there gets it.

    Attributes
    ----------
    on_slot : called with each ``Observation``.
    tl_flits, messages, uart : all that has arrived in order, for whoever wants to empty it.
    unknown : dwords that begin no message of Rev 1.0.
    format_errors : segment headers that promised a TL flit where none can start.
    """

    def __init__(
        self, on_slot: Callable[[Observation], None] = lambda observation: None, crc_covers_zero_field: bool = True
    ):
        self.on_slot = on_slot
        self._crc_covers_zero_field = crc_covers_zero_field
        self.tl_flits: list[tuple[bytes, int]] = []
        self.messages: list[DLMessage] = []
        self.uart: list[int] = []
        self.unknown: list[int] = []
        self.slots = 0
        self.reset()

    @property
    def format_errors(self) -> list[str]:
        """What the unpacker found impossible."""
        return self._unpacker.format_errors

    def reset(self) -> None:
        """Link down: what comes next is a new stream."""
        self._receiver = ReplayReceiver()
        self._unpacker = Unpacker()
        self._stream = MessageStream()
        self._control_run = 0

    def slot(self, slot: Slot) -> Observation:
        """The next slot."""
        self.slots += 1
        seen = Observation(self.slots, slot)
        if isinstance(slot, SlotKind) and slot is not LOST:
            self._control_run += 1
            if self._control_run == CONTROL_FLITS_TO_IDLE:
                self.reset()
        else:
            self._control_run = 0
            self._flit(seen)
        self.on_slot(seen)
        return seen

    def _flit(self, seen: Observation) -> None:
        header = None
        if isinstance(seen.slot, bytes):
            seen.flit = ObservedFlit(seen.slot, self._crc_covers_zero_field)
            header = seen.flit.header if seen.flit.good else None
        seen.verdict = self._receiver.receive(header)
        if seen.flit is None or header is None or not header.payload or seen.verdict is not Verdict.ACCEPT:
            return
        for event in self._unpacker.unpack(seen.flit.flit):
            if event[0] == "flit":
                seen.tl_flits.append((event[1], event[2]))
            else:
                self._dword(seen, event[1])
        self.tl_flits += seen.tl_flits
        self.messages += seen.messages
        self.uart += seen.uart

    def _dword(self, seen: Observation, dword: int) -> None:
        match self._stream.receive(dword):
            case Message(message=message):
                seen.messages.append(message)
            case Payload():
                seen.uart.append(dword)
            case Unknown():
                self.unknown.append(dword)
