"""Coverage of control fields: their places, what they say, and the address caches (UALink_200 §5.1.1, §5.6)."""

from collections.abc import Callable

from ...model.tl.compression import REGION_BITS
from ...model.tl.fields import (
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    ControlField,
    FlowControl,
    Request,
    Response,
    UncompressedRequest,
    UncompressedResponse,
)
from ...model.upli.transactions import ReqCmd, is_reserved
from .checker import LinkChecker
from .observed import ObservedFlit

__all__ = ["FieldCoverage", "Hit"]

Hit = Callable[[str, str], None]
"""Called with a group and a bin."""

CACHES = "§5.6 address caches"

_NAMES = {
    ReqCmd.READ: "Read",
    ReqCmd.WRITE: "Write",
    ReqCmd.WRITE_FULL: "WriteFull",
    ReqCmd.UPLI_WRITE_MESSAGE: "UPLI Write Message",
    ReqCmd.ATOMIC_R: "AtomicR",
    ReqCmd.ATOMIC_NR: "AtomicNR",
}
_VENDOR_DEFINED = {0b00: "vendor defined read", 0b10: "vendor defined write", 0b11: "vendor defined atomic"}


def _kind(control: ControlField) -> str:
    match control:
        case FlowControl():
            return "Flow Control"
        case UncompressedRequest():
            return "Uncompressed Request"
        case CompressedRequest():
            return "Compressed Request"
        case UncompressedResponse(rd_wr=1):
            return "Uncompressed Read Response"
        case UncompressedResponse():
            return "Uncompressed Write Response"
        case CompressedResponse(rd_wr=0):
            return "Compressed Write Response"
        case CompressedResponse(len=length) if length:
            return "Compressed Multi-Beat Read Response"
    return "Compressed Single-Beat Read Response"


class FieldCoverage:
    """Told of flits that the checker has seen."""

    def __init__(self, hit: Hit, checker: LinkChecker):
        self._hit = hit
        self._options = checker.options
        self.reset()

    def reset(self) -> None:
        """The link restarts with empty caches."""
        self._entries: dict[tuple[int, int], int] = {}
        self._replaced: set[tuple[int, int]] = set()
        self._used: set[tuple[int, int]] = set()

    def sent(self, seen: ObservedFlit) -> None:
        """A flit of the device."""
        fresh: set[tuple[int, int]] = set()
        for sector, control in seen.fields:
            self._hit("§5.1.1 places of fields", f"{_kind(control)} in {sector}")
            if isinstance(control, UncompressedRequest):
                self._uncompressed_request(control, fresh)
            elif isinstance(control, CompressedRequest):
                self._compressed_request(control, fresh)
            elif isinstance(control, Response) and control.is_read:
                self._read_response(control)

    def _uncompressed_request(self, control: UncompressedRequest, fresh: set[tuple[int, int]]) -> None:
        if not is_reserved(control.cmd):
            known = control.cmd in _NAMES
            name = _NAMES[ReqCmd(control.cmd)] if known else _VENDOR_DEFINED[control.cmd >> 4]
            counted = control.data_beats() and control.cmd not in (ReqCmd.ATOMIC_R, ReqCmd.ATOMIC_NR)
            self._hit("§5.1.1 Requests", f"{name}, {control.data_beats()} beats" if counted else name)
        if not control.cload:
            return
        key, region = self._key(control, control.cway), control.byte_address >> REGION_BITS
        self._hit(CACHES, f"load way {control.cway}")
        if self._entries.get(key, region) != region:
            self._hit(CACHES, "load another address")
            self._replaced.add(key)
        if key in self._used:
            self._hit(CACHES, "reload after a use")
        self._entries[key] = region
        fresh.add(key)

    def _compressed_request(self, control: CompressedRequest, fresh: set[tuple[int, int]]) -> None:
        self._hit("§5.1.1 Requests", f"compressed {_NAMES[ReqCmd(control.req_cmd)]}, LEN {control.len}")
        key = self._key(control, control.cway)
        self._hit(CACHES, f"use way {control.cway}")
        if key in fresh:
            self._hit(CACHES, "use in the same half-flit")
        if key in self._replaced:
            self._hit(CACHES, "use after another address")
        self._used.add(key)

    def _key(self, control: Request, way: int) -> tuple[int, int]:
        return getattr(control, self._options.tx_row_member), way

    def _read_response(self, control: Response) -> None:
        group = "§5.1.1 Read Responses"
        if isinstance(control, UncompressedResponse):
            self._hit(group, f"uncompressed, {control.data_beats()} beats")
            if control.status:
                self._hit(group, "not OKAY, with its data")
        elif isinstance(control, CompressedReadResponse):
            self._hit(group, f"single beat, offset {control.offset}")
        elif control.data_beats() > 1:
            self._hit(group, f"compressed, {control.data_beats()} beats")
