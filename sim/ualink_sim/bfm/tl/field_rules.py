"""Rules for what fields and byte enables of one direction say (UALink_200 §5.1.1, §5.5, §5.6, §5.9, §5.10)."""

from collections import Counter

from ...model.tl.byte_enables import byte_enable_slots
from ...model.tl.credits import Account, combine
from ...model.tl.fields import (
    CompressedReadResponse,
    CompressedRequest,
    ControlField,
    FlowControl,
    Request,
    Response,
    UncompressedRequest,
    UncompressedResponse,
)
from ...model.upli.transactions import ReqCmd
from .follower import Report
from .observed import Due, Half, ObservedFlit
from .options import TLOptions, limit_of

__all__ = ["FieldRules"]


class FieldRules:
    """Checks the fields of each flit in the order of the wire.

    Attributes
    ----------
    loaded : the rows and ways of the receiver's Address Cache that have been loaded.
    """

    def __init__(self, report: Report, options: TLOptions):
        self._report = report
        self._options = options
        self.loaded: set[tuple[int, int]] = set()
        self.reset()

    def reset(self) -> None:
        """The link restarts. What the Address Cache holds stays (UALink_200 §5.6.2)."""

    def sent(self, seen: ObservedFlit) -> None:
        """A flit of the direction that is checked."""
        self._half_flit([control for _, control in seen.fields])
        for sector, control in seen.fields:
            if isinstance(control, Request):
                self._request(sector, control)
            elif isinstance(control, Response):
                self._response(sector, control)
        for half in seen.halves:
            if half.due is Due.BYTE_ENABLES and not half.is_message:
                self._byte_enables(half)

    def _half_flit(self, fields: list[ControlField]) -> None:
        returned: Counter[Account] = Counter()
        for control in fields:
            if isinstance(control, FlowControl):
                returned.update(combine([control]).keys())
        for (kind, bucket), times in returned.items():
            if times > 1:
                self._report("fc_duplicate", f"{kind} of {'the Pool' if bucket is None else f'VC {bucket}'}")
        for name, count in Counter(map(limit_of, fields)).items():
            if count > self._options.limits[name]:
                self._report("backoff", f"{count} {name}; {self._options.limits[name]} allowed")

    def _request(self, sector: int, control: Request) -> None:
        if isinstance(control, UncompressedRequest):
            if control.cmd in (ReqCmd.ATOMIC_R, ReqCmd.ATOMIC_NR) and control.num_beats:
                self._report("atomic_beats", f"sector {sector}: NUMBEATS {control.num_beats}")
            if control.cload and self._inside(sector, control, control.cway):
                self.loaded.add((self._row(control), control.cway))
            return
        assert isinstance(control, CompressedRequest)
        if control.meta_data & self._options.meta_data_mask:
            self._report("compressed_meta_data", f"sector {sector}: METADATA {control.meta_data:03b}")
        inside = self._inside(sector, control, control.cway)
        if inside and (self._row(control), control.cway) not in self.loaded:
            self._report("never_loaded", f"sector {sector}: row {self._row(control)}, way {control.cway}")

    def _row(self, control: Request) -> int:
        return getattr(control, self._options.tx_row_member)

    def _inside(self, sector: int, control: Request, way: int) -> bool:
        rows, ways = self._options.tx_rows, self._options.tx_ways
        inside = self._row(control) < rows and way < ways
        if not inside:
            self._report("cache_size", f"sector {sector}: row {self._row(control)}, way {way} of {rows} x {ways}")
        return inside

    def _response(self, sector: int, control: Response) -> None:
        if self._options.encryption and not isinstance(control, UncompressedResponse):
            self._report("encrypted_response", f"sector {sector}: FTYPE {control.FTYPE:x}h")
        if isinstance(control, CompressedReadResponse):
            return
        length, offset, last = (getattr(control, name, 0) for name in ("len", "offset", "last"))
        wrong = {"OFFSET": offset} if control.is_read and length else {}
        if not control.is_read:
            wrong = {"LEN": length, "OFFSET": offset, "LAST": last}
        for name, value in wrong.items():
            if value:
                self._report("response_members", f"sector {sector}: {name} {value}")

    def _byte_enables(self, half: Half) -> None:
        assert half.owed is not None
        control = half.owed.field
        assert isinstance(control, UncompressedRequest | CompressedRequest)
        address = control.addr << 6 if isinstance(control, CompressedRequest) else control.byte_address
        inside = set(byte_enable_slots(address, control.data_beats(), control.req_cmd, self._options.byte_enable_slots))
        for slot in range(4):
            if slot not in inside and any(half.content[8 * slot : 8 * slot + 8]):
                self._report("byte_enables", f"block {slot}, transfer in {sorted(inside)}")
