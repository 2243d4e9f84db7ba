"""Which kind each half-flit is: transmit and receive automata of the TL (UALink_200 §5.1.1, §5.1.2, §5.3).

Nothing in a half-flit tells Control, Data and AuthTags apart, so both ends run the same sequence. ``owed`` holds the
Data half-flits that control fields already sent still bring; with fewer than two the next lower half is a control slot.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from .fields import HALF_FLIT_BYTES, ControlField, FieldError, decode_control_half_flit, encode_control_half_flit

__all__ = [
    "INITIAL_CREDIT_RELEASE_COMPLETE",
    "NOP_MESSAGE",
    "POISONED_DATA",
    "ControlFields",
    "DataHalfFlit",
    "Issue",
    "Message",
    "OwedHalfFlit",
    "ProtocolError",
    "ReceiveSequence",
    "SequenceError",
    "Tags",
    "TransmitSequence",
    "message_half_flit",
]

NOP_MESSAGE, INITIAL_CREDIT_RELEASE_COMPLETE, POISONED_DATA = 0x00, 0x01, 0x20
MAX_TAGS = 4
_ZERO = bytes(HALF_FLIT_BYTES)


class SequenceError(ValueError):
    """The transmitter was asked for something that the sequence does not allow in this flit."""


@dataclass(frozen=True)
class OwedHalfFlit:
    """One owed Data half-flit: number ``index`` of ``field``, which is the ``serial``-th data field since the start."""

    field: ControlField
    serial: int
    index: int
    is_be: bool


@dataclass(frozen=True)
class ControlFields:
    """The fields of a Control half-flit with their lowest sectors, ascending, NOP fields left out."""

    fields: tuple[tuple[int, ControlField], ...]


@dataclass(frozen=True)
class Tags:
    """Authentication tags with the Request or Response that each belongs to."""

    tags: tuple[tuple[ControlField, int], ...]


@dataclass(frozen=True)
class DataHalfFlit:
    """32 bytes of data, operands or byte enables; the bytes of a poisoned one are 0 (ruling D30)."""

    owed: OwedHalfFlit
    data: bytes
    poisoned: bool = False


@dataclass(frozen=True)
class Message:
    """A Message half-flit other than poison: type and 31 bytes of payload."""

    type: int
    payload: bytes


@dataclass(frozen=True)
class ProtocolError:
    """A broken rule; after a fatal one the receiver forwards nothing more (UALink_200 §5.3)."""

    reason: str
    fatal: bool = True


Event = ControlFields | Tags | DataHalfFlit | Message | ProtocolError


def message_half_flit(kind: int, payload: bytes = b"") -> bytes:
    """A Message half-flit: type in byte 0, payload above it, zeros to the end."""
    return (bytes([kind]) + payload).ljust(HALF_FLIT_BYTES, b"\0")


@dataclass(frozen=True)
class Issue:
    """A field to transmit at its lowest sector, with all that it brings.

    ``data`` is 64 bytes a beat, ``byte_enables`` the 32-byte image when the field has one, ``poisoned`` the numbers of
    corrupt beats, ``tag`` its authentication tag.
    """

    sector: int
    field: ControlField
    data: bytes = b""
    byte_enables: bytes = b""
    poisoned: frozenset[int] = frozenset()
    tag: int = 0


class _Sequence:
    """What both directions share. ``uwm_has_byte_enables`` is ruling D03; ``encryption``: the link may carry encrypted
    traffic."""

    def __init__(self, authentication: bool = False, uwm_has_byte_enables: bool = True, encryption: bool = False):
        self.authentication = authentication
        self.encryption = encryption
        self.uwm_has_byte_enables = uwm_has_byte_enables
        self.reset()

    def reset(self) -> None:
        """Restart as after reset: lower slot, nothing owed (ruling D18)."""
        self.owed: deque = deque()
        self._serial = 0

    @property
    def control_slot(self) -> bool:
        """True when the next lower half is a control slot."""
        return len(self.owed) < 2

    @property
    def swap(self) -> bool:
        """True when the last owed half-flit goes to the upper half beside the next control slot."""
        return len(self.owed) == 1

    def _owed_by(self, control: ControlField) -> list[OwedHalfFlit]:
        count = control.half_flits(self.uwm_has_byte_enables)
        if not count:
            return []
        has_be = control.has_byte_enables(self.uwm_has_byte_enables)
        self._serial += 1
        return [OwedHalfFlit(control, self._serial - 1, k, has_be and k == count - 1) for k in range(count)]

    def _tagged(self, fields: Sequence[tuple[int, ControlField]]) -> list[ControlField]:
        return [control for _, control in fields if control.is_request or control.is_response]


class TransmitSequence(_Sequence):
    """Puts control fields, their data, tags and messages into TL flits."""

    def send(
        self, issues: Sequence[Issue] = (), lower_message: bytes | None = None, upper_message: bytes | None = None
    ) -> tuple[bytes, int]:
        """The next TL flit and its message bits.

        ``issues`` go into the lower half, which must be a control slot without a message. A message (32 bytes, not
        poison) takes its slot and delays the sequence; it may not take the place of authentication tags.
        """
        issues = sorted(issues, key=lambda issue: issue.sector)
        fields = [(issue.sector, issue.field) for issue in issues]
        tagged = self._tagged(fields)
        for message in (lower_message, upper_message):
            if message is not None and message[0] == POISONED_DATA:
                raise SequenceError("a poison message stands for owed data; mark the beat of its Issue instead")
        if issues and (not self.control_slot or lower_message is not None):
            raise SequenceError("this lower half is not free for control fields")
        if self.authentication and len(tagged) > (0 if self.swap else MAX_TAGS):
            raise SequenceError(f"{len(tagged)} tagged fields in a Control half-flit, swap {self.swap}")
        control_slot, swap, with_tags = self.control_slot, self.swap, self.authentication and bool(tagged)
        if with_tags and upper_message is not None:
            raise SequenceError("a message cannot replace authentication tags")

        if lower_message is not None:
            lower = lower_message, 1
        elif control_slot:
            lower = encode_control_half_flit(fields, self.encryption), 0
        else:
            lower = self._pop()
        new = [half for issue in issues for half in self._halves(issue)]
        if not swap:
            self.owed.extend(new)
        if upper_message is not None:
            upper = upper_message, 1
        elif with_tags:
            upper = b"".join(i.tag.to_bytes(8, "little") for i in issues if i.field in tagged).ljust(32, b"\0"), 0
        elif self.owed:
            upper = self._pop()
        else:
            upper = _ZERO, 0
        if swap:
            self.owed.extend(new)
        return lower[0] + upper[0], lower[1] | upper[1] << 1

    def _pop(self) -> tuple[bytes, int]:
        return self.owed.popleft()

    def _halves(self, issue: Issue) -> list[tuple[bytes, int]]:
        owed = self._owed_by(issue.field)
        beats = issue.field.data_beats()
        if len(issue.data) != 64 * beats:
            raise SequenceError(f"{len(issue.data)} bytes of data for {beats} beats")
        has_be = any(half.is_be for half in owed)
        if len(issue.byte_enables) != (HALF_FLIT_BYTES if has_be else 0):
            raise SequenceError(f"{len(issue.byte_enables)} bytes of byte enables for {issue.field}")
        poison = message_half_flit(POISONED_DATA), 1
        halves = [
            poison if k // 2 in issue.poisoned else (issue.data[32 * k : 32 * k + 32], 0) for k in range(2 * beats)
        ]
        return [*halves, (issue.byte_enables, 0)] if has_be else halves


class ReceiveSequence(_Sequence):
    """Tells what each half of a received TL flit is; ``failed`` is set by the first fatal error until ``reset``."""

    def reset(self) -> None:
        super().reset()
        self.failed = False
        self._first_half_poisoned = False

    def receive(self, flit: bytes, message_bits: int) -> list[Event]:
        """Events of one TL flit; nothing after a fatal error."""
        if self.failed:
            return []
        events: list[Event] = []
        try:
            self._flit(flit[:HALF_FLIT_BYTES], flit[HALF_FLIT_BYTES:], message_bits & 1, message_bits >> 1, events)
        except FieldError as error:
            self.failed = True
            events.append(ProtocolError(str(error)))
        return events

    def _flit(self, lower: bytes, upper: bytes, m0: int, m1: int, events: list[Event]) -> None:
        if not self.control_slot:
            self._data_slot(lower, m0, events)
            self._data_slot(upper, m1, events)
            return
        fields: list[tuple[int, ControlField]] = []
        if m0:
            self._message(lower, events)
        else:
            fields = decode_control_half_flit(lower, self.encryption)
            crossing = [control for _, control in fields if getattr(control, "crosses_block", False)]
            events += [ProtocolError(f"{control} crosses 256 bytes", fatal=False) for control in crossing]
        tagged = self._tagged(fields) if self.authentication else []
        if len(tagged) > (0 if self.swap else MAX_TAGS):
            raise FieldError(f"{len(tagged)} tagged fields in one Control half-flit" + " of a swap flit" * self.swap)
        if fields:
            events.append(ControlFields(tuple(fields)))
        new = [half for _, control in fields for half in self._owed_by(control)]
        if self.swap:
            self._data_slot(upper, m1, events)
            self.owed.extend(new)
            return
        self.owed.extend(new)
        if tagged:
            if m1:
                raise FieldError("a message stands in the place of authentication tags")
            values = (int.from_bytes(upper[8 * n : 8 * n + 8], "little") for n in range(MAX_TAGS))
            events.append(Tags(tuple(zip(tagged, values))))
        elif self.owed:
            self._data_slot(upper, m1, events)
        elif m1:
            self._message(upper, events)
        elif upper != _ZERO:
            raise FieldError("the upper half must be a NOP half-flit here and is not zero")

    def _data_slot(self, half: bytes, m: int, events: list[Event]) -> None:
        if m and half[0] != POISONED_DATA:
            self._message(half, events)
            return
        owed: OwedHalfFlit = self.owed[0]
        if m and owed.is_be:
            raise FieldError("a poison message stands in the place of byte enables")
        self.owed.popleft()
        events.append(DataHalfFlit(owed, _ZERO if m else half, bool(m)))
        if owed.is_be:
            return
        if owed.index % 2 == 0:
            self._first_half_poisoned = bool(m)
        elif self._first_half_poisoned != bool(m):
            events.append(ProtocolError("one half of a beat is poisoned and the other is not", fatal=False))

    def _message(self, half: bytes, events: list[Event]) -> None:
        kind = half[0]
        if kind == POISONED_DATA:
            raise FieldError("a poison message stands where no data is due")
        if kind in (NOP_MESSAGE, INITIAL_CREDIT_RELEASE_COMPLETE):
            events.append(Message(kind, half[1:]))
        else:
            events.append(ProtocolError(f"message type {kind:#04x} is not legal", fatal=False))
