"""Coverage of half-flits: swaps, messages, poison, authentication (UALink_200 §5.1.1, §5.1.2, §5.3)."""

from ...model.tl.fields import Request
from ...model.tl.sequence import NOP_MESSAGE, OwedHalfFlit
from ...model.upli.transactions import ReqCmd
from .field_coverage import Hit
from .observed import Due, Half, ObservedFlit
from .options import TLOptions

__all__ = ["SequenceCoverage"]

MESSAGES = "§5.1.2 messages"
SWAPS = "§5.1.1 swap flits"
UPPER = "§5.1.1 upper half"


class SequenceCoverage:
    """Told of flits that the checker has seen."""

    def __init__(self, hit: Hit, options: TLOptions):
        self._hit = hit
        self._options = options
        self.reset()

    def reset(self) -> None:
        """The link restarts: no beat is under way."""
        self._low_was_in = 0

    def sent(self, seen: ObservedFlit) -> None:
        """A flit of the device."""
        if seen.swap:
            self._swap(seen)
        self._upper(seen.upper)
        if self._options.authentication:
            self._authentication(seen)
        if all(half.message == NOP_MESSAGE for half in seen.halves):
            self._hit(MESSAGES, "NOP in both halves")
        for half in seen.halves:
            if half.message == NOP_MESSAGE:
                self._nop_message(seen, half)
            elif half.is_release and half.due in (Due.CONTROL, Due.NOP):
                self._hit(
                    MESSAGES, f"release {'in a control slot' if half.due is Due.CONTROL else 'for a MANDATORY NOP'}"
                )
            if half.due is Due.DATA and half.owed is not None and (half.poisoned or not half.is_message):
                self._data(seen, half, half.owed)

    def _swap(self, seen: ObservedFlit) -> None:
        uwm = self._options.uwm_has_byte_enables
        if seen.lower.is_message:
            what = "message in its place"
        elif any(control.half_flits(uwm) for _, control in seen.fields):
            what = "fields with data"
        elif seen.requests + seen.responses:
            what = "fields without data"
        else:
            what = "Flow Control only" if seen.fields else "NOP"
        self._hit(SWAPS, what)
        upper = seen.upper
        if upper.is_message:
            self._hit(SWAPS, "poison" if upper.poisoned else "message delays the last half-flit")
        else:
            self._hit(SWAPS, upper.due.value)

    def _upper(self, half: Half) -> None:
        if half.is_message:
            return
        if half.due is Due.DATA:
            assert half.owed is not None
            last = 2 * half.owed.field.data_beats() - 1
            where = {0: "first data", last: "last data"}.get(half.owed.index, "data in the middle")
            self._hit(UPPER, where)
        else:
            names = {Due.BYTE_ENABLES: "byte enables", Due.TAGS: "AuthTags", Due.NOP: "MANDATORY NOP"}
            self._hit(UPPER, names[half.due])

    def _authentication(self, seen: ObservedFlit) -> None:
        group, tags = "§5.1.1 authentication", seen.requests + seen.responses
        if tags:
            self._hit(group, f"{tags} tags")
            if tags < len(seen.fields):
                self._hit(group, "tags beside Flow Control")
        elif seen.fields:
            if seen.swap:
                self._hit(group, "swap with Flow Control only")
            elif seen.upper.due is Due.NOP and not seen.upper.is_message:
                self._hit(group, "Flow Control only, MANDATORY NOP")

    def _nop_message(self, seen: ObservedFlit, half: Half) -> None:
        if half.due is Due.CONTROL:
            self._hit(MESSAGES, "NOP in the control slot of a swap flit" if seen.swap else "NOP in a control slot")
        elif half.due is Due.NOP:
            self._hit(MESSAGES, "NOP for a MANDATORY NOP")
        else:
            self._hit(MESSAGES, f"NOP in {'a lower' if half is seen.lower else 'an upper'} data slot")
            assert half.owed is not None
            if half.owed.is_be:
                self._hit(MESSAGES, "NOP before byte enables")
            elif half.owed.index % 2:
                self._hit(MESSAGES, "NOP between two halves of a beat")

    def _data(self, seen: ObservedFlit, half: Half, owed: OwedHalfFlit) -> None:
        if owed.index % 2 == 0:
            self._low_was_in = seen.number
        elif half.poisoned:
            control, beats, beat = owed.field, owed.field.data_beats(), owed.index // 2
            what = "response data"
            if isinstance(control, Request):
                operands = control.req_cmd in (ReqCmd.ATOMIC_R, ReqCmd.ATOMIC_NR)
                what = "operands" if operands else "request data"
            where = "only" if beats == 1 else "first" if beat == 0 else "last" if beat == beats - 1 else "middle"
            self._hit(
                "§5.3 poison", f"{what}, {where} beat, {'one flit' if self._low_was_in == seen.number else 'two flits'}"
            )
