"""Follows the half-flits of one direction (UALink_200 §5.1.1, §5.1.2, §5.3): what a receiver would make of them."""

from collections import deque
from collections.abc import Callable
from typing import NoReturn

from ...model.tl.fields import HALF_FLIT_BYTES, ControlField
from ...model.tl.sequence import INITIAL_CREDIT_RELEASE_COMPLETE, NOP_MESSAGE, OwedHalfFlit
from .control_half_flit import BadField, parse_control_half_flit
from .observed import Due, Half, ObservedFlit
from .options import TLOptions

__all__ = ["Follower", "Report"]

Report = Callable[..., None]
"""Called with a rule's name and a detail where the rule is broken."""

MAX_TAGS = 4


class _LostError(Exception):
    """What comes next cannot be told."""


class Follower:
    """Reports what is wrong with the sequence; ``lost`` once it cannot be followed any more, until ``reset``.

    Attributes
    ----------
    owed : Data half-flits still to come.
    flits : number of flits so far.
    """

    def __init__(self, report: Report, options: TLOptions):
        self._report = report
        self._options = options
        self.flits = 0
        self.reset()

    def reset(self) -> None:
        """The link restarts: lower slot, nothing owed (ruling D18)."""
        self.owed: deque[OwedHalfFlit] = deque()
        self.lost = False
        self._serial = 0
        self._low_poisoned = False

    def push(self, flit: bytes, message_bits: int) -> ObservedFlit | None:
        """Take one flit; None when it cannot be followed."""
        if len(flit) != 2 * HALF_FLIT_BYTES or not 0 <= message_bits < 4:
            raise ValueError(f"{len(flit)} bytes and message bits {message_bits}; a TL flit has 64 and two")
        self.flits += 1
        if self.lost:
            return None
        try:
            return self._flit(flit[:HALF_FLIT_BYTES], flit[HALF_FLIT_BYTES:], message_bits & 1, message_bits >> 1)
        except _LostError:
            return None

    def _fatal(self, rule: str, detail: object = "") -> NoReturn:
        self.lost = True
        self._report(rule, detail)
        raise _LostError

    def _flit(self, lower: bytes, upper: bytes, m0: int, m1: int) -> ObservedFlit:
        before = len(self.owed)
        if before >= 2:
            low = self._data_slot(lower, m0)
            return ObservedFlit(self.flits, low, self._data_slot(upper, m1), (), before)
        low = Half(Due.CONTROL, lower, bool(m0))
        fields = self._control_slot(low)
        tagged = [control for _, control in fields if control.is_request or control.is_response]
        if not self._options.authentication:
            tagged = []
        if before == 1:
            if tagged:
                self._fatal("swap_tagged", tagged[0])
            high = self._data_slot(upper, m1)
            self._owe(fields)
            return ObservedFlit(self.flits, low, high, fields, before)
        self._owe(fields)
        if tagged:
            high = self._tags_slot(upper, m1, len(tagged))
        elif self.owed:
            high = self._data_slot(upper, m1)
        else:
            high = self._nop_slot(upper, m1)
        return ObservedFlit(self.flits, low, high, fields, before)

    def _control_slot(self, half: Half) -> tuple[tuple[int, ControlField], ...]:
        if half.is_message:
            self._message(half)
            return ()
        try:
            fields = parse_control_half_flit(half.content, self._options.encryption)
        except BadField as error:
            self._fatal(error.rule, error)
        for sector, control in fields:
            if not control.FTYPE:
                continue
            sent = int.from_bytes(half.content[4 * sector : 4 * (sector + control.sectors)], "little")
            if sent != control.encode():
                self._report("spare", f"sector {sector}: {sent ^ control.encode():x}")
        return fields

    def _owe(self, fields: tuple[tuple[int, ControlField], ...]) -> None:
        uwm = self._options.uwm_has_byte_enables
        for _, control in fields:
            count = control.half_flits(uwm)
            for index in range(count):
                is_be = index == count - 1 and control.has_byte_enables(uwm)
                self.owed.append(OwedHalfFlit(control, self._serial, index, is_be))
            self._serial += bool(count)

    def _tags_slot(self, content: bytes, m: int, tags: int) -> Half:
        if tags > MAX_TAGS:
            self._fatal("tag_count", f"{tags} fields")
        if m:
            self._fatal("tags_message")
        if any(content[8 * tags :]):
            self._report("unused_tags", f"{tags} fields")
        return Half(Due.TAGS, content, False)

    def _nop_slot(self, content: bytes, m: int) -> Half:
        half = Half(Due.NOP, content, bool(m))
        if m:
            self._message(half)
        elif any(content):
            self._fatal("mandatory_nop", content[::-1].hex().lstrip("0"))
        return half

    def _data_slot(self, content: bytes, m: int) -> Half:
        owed = self.owed[0]
        half = Half(Due.BYTE_ENABLES if owed.is_be else Due.DATA, content, bool(m), owed)
        if m and not half.poisoned:
            self._message(half)
            return half
        if m and owed.is_be:
            self._fatal("poison_byte_enables", owed.field)
        self.owed.popleft()
        if owed.is_be:
            return half
        if owed.index % 2 and self._low_poisoned != half.poisoned:
            self._report("poison_pair", f"beat {owed.index // 2} of {owed.field}")
        self._low_poisoned = half.poisoned
        return half

    def _message(self, half: Half) -> None:
        """A message that takes a slot of its own."""
        if half.poisoned:
            self._fatal("poison_slot", f"{half.due.value} is due")
        if half.message not in (NOP_MESSAGE, INITIAL_CREDIT_RELEASE_COMPLETE):
            self._report("message_type", f"{half.message:#04x}")
            return
        defined = 1 if half.is_release else 0
        if int.from_bytes(half.content[1:], "little") & ~defined:
            self._report("spare", f"payload of message {half.message:#04x}")
