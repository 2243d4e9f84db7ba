"""From the half-flits of a receiver to UPLI beats: what a receiving TL drives (UALink_200 §5.5, §2.7.7, §2.7.8)."""

from collections import deque
from dataclasses import dataclass, field

from ..upli.transactions import ALL_LANES, OrigDataBeat, RdRspBeat, Request, WrRspBeat
from .byte_enables import BYTE_ENABLE_SLOTS, decode_byte_enables
from .compression import AddressCache, expand_request, expand_response
from .fields import (
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    ControlField,
    UncompressedRequest,
    UncompressedResponse,
)
from .rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT, CatchBuffer
from .sequence import ControlFields, DataHalfFlit, Event, Tags

__all__ = ["Reassembler", "ReceivedReadResponse", "ReceivedRequest", "ReceivedWriteResponse"]


@dataclass(frozen=True)
class ReceivedRequest:
    """A whole Request with its OrigData beats; ReqAddr[56:20] is 0 unless ``address_known``."""

    request: Request
    beats: tuple[OrigDataBeat, ...]
    address_known: bool = True


@dataclass(frozen=True)
class ReceivedReadResponse:
    """All beats that one Read Response field brought."""

    beats: tuple[RdRspBeat, ...]


@dataclass(frozen=True)
class ReceivedWriteResponse:
    """A Write Response."""

    beat: WrRspBeat


Received = ReceivedRequest | ReceivedReadResponse | ReceivedWriteResponse


@dataclass
class _Pending:
    control: ControlField
    expanded: UncompressedRequest | UncompressedResponse
    owed: int
    halves: list[DataHalfFlit] = field(default_factory=list)
    tag: int = 0
    address_known: bool = True
    caught: bool = False

    @property
    def arrived(self) -> bool:
        return len(self.halves) == self.owed

    @property
    def complete(self) -> bool:
        return self.arrived and not self.caught


class Reassembler:
    """Collects the events of ``tl_sequence.ReceiveSequence`` into whole Requests and Responses.

    Requests come out in order; Responses as soon as they are whole. Bytes of a poisoned beat are 0 (ruling D30).
    ``cache`` None expands Compressed Requests with region 0, for streams without an address cache at hand; so does an
    entry that was loaded before a stream joined in mid-course (``reset``). Data of fields not seen is passed over.

    ``literal_catch_buffers`` takes §5.7 and figure 5-6 at their word: a field leaves its catch buffer only with a later
    flit, so the last ones stay there until empty flits push them on. ``byte_enable_slots`` is ruling D04.

    ``delivered`` : the fields of what the last flit made whole.
    """

    def __init__(
        self,
        cache: AddressCache | None = None,
        uwm_has_byte_enables: bool = True,
        literal_catch_buffers: bool = False,
        byte_enable_slots: str = "address",
    ):
        if byte_enable_slots not in BYTE_ENABLE_SLOTS:
            raise ValueError(f"byte_enable_slots is {byte_enable_slots!r}; it must be one of {BYTE_ENABLE_SLOTS}")
        self.cache = cache
        self.uwm_has_byte_enables = uwm_has_byte_enables
        self.byte_enable_slots = byte_enable_slots
        self.delivered: list[ControlField] = []
        self._literal = literal_catch_buffers
        self._catch: tuple[CatchBuffer[_Pending], CatchBuffer[_Pending]] = (
            CatchBuffer(REQUEST_LIMIT),
            CatchBuffer(RESPONSE_LIMIT),
        )
        self.reset()

    def restart(self) -> None:
        """The link restarts: forget what has arrived in part. What the address cache holds stays (TL-225)."""
        self._requests: deque[_Pending] = deque()
        self._responses: list[_Pending] = []
        self._filling: deque[_Pending] = deque()
        for catch in self._catch:
            catch.reset()

    def reset(self, from_start: bool = True) -> None:
        """Restart with an empty cache; ``from_start``: the stream that follows is the first since the reset."""
        self._from_start = from_start
        self.restart()
        if self.cache is not None:
            self.cache.clear()

    def push(self, events: list[Event]) -> list[Received]:
        """Take the events of one TL flit; what became whole. FieldError for a compressed one that the cache lacks."""
        new = [self._control(event) for event in events if isinstance(event, ControlFields)]
        if self._literal:
            self._shift([item for items in new for item in items])
        for event in events:
            if isinstance(event, Tags):
                waiting = [*self._requests, *self._responses]
                for control, tag in event.tags:
                    next(item for item in waiting if item.control is control).tag = tag
            elif isinstance(event, DataHalfFlit) and self._filling and self._filling[0].control is event.owed.field:
                self._filling[0].halves.append(event)
                if self._filling[0].arrived:
                    self._filling.popleft()
        whole = []
        while self._requests and self._requests[0].complete:
            whole.append(self._requests.popleft())
        whole += [item for item in self._responses if item.complete]
        self._responses = [item for item in self._responses if not item.complete]
        self.delivered = [item.control for item in whole]
        return [self._request(item) if item.control.is_request else self._response(item) for item in whole]

    def _shift(self, new: list[_Pending]) -> None:
        """One flit: each catch buffer lets one entry go, then takes the new ones."""
        requests = [item for item in new if item.control.is_request]
        responses = [item for item in new if item.control.is_response]
        for catch, entries in zip(self._catch, (requests, responses)):
            for item in entries:
                item.caught = True
            retired = catch.flit(entries)
            if retired is not None:
                retired.caught = False

    def _control(self, event: ControlFields) -> list[_Pending]:
        new = []
        for _, control in event.fields:
            owed = control.half_flits(self.uwm_has_byte_enables)
            if isinstance(control, UncompressedRequest | CompressedRequest):
                known, expanded = self._expand(control)
                item = _Pending(control, expanded, owed, address_known=known)
                self._requests.append(item)
            elif isinstance(control, UncompressedResponse | CompressedReadResponse | CompressedResponse):
                item = _Pending(control, expand_response(control), owed)
                self._responses.append(item)
            else:
                continue
            new.append(item)
            if owed:
                self._filling.append(item)
        return new

    def _expand(self, control: UncompressedRequest | CompressedRequest) -> tuple[bool, UncompressedRequest]:
        """Whether the whole address is known, and the Request in full."""
        if self.cache is not None and (self._from_start or self.cache.holds(control)):
            return True, self.cache.receive(control)
        if isinstance(control, UncompressedRequest):
            return True, control
        return False, expand_request(control, 0)

    def _data(self, item: _Pending) -> list[tuple[bytes, bool]]:
        pairs = [item.halves[2 * n : 2 * n + 2] for n in range(item.expanded.data_beats())]
        beats = []
        for low, high in pairs:
            poisoned = low.poisoned or high.poisoned
            beats.append((bytes(64) if poisoned else low.data + high.data, poisoned))
        return beats

    def _request(self, item: _Pending) -> ReceivedRequest:
        taken = item.expanded
        assert isinstance(taken, UncompressedRequest)
        data = self._data(item)
        enables = [ALL_LANES] * len(data)
        if item.halves and item.halves[-1].owed.is_be:
            enables = decode_byte_enables(
                taken.byte_address, len(data), item.halves[-1].data, taken.cmd, self.byte_enable_slots
            )
        beats = tuple(
            OrigDataBeat(data=d, byte_en=enables[n], offset=n, last=n == len(data) - 1, error=bad, vc=taken.vchan)
            for n, (d, bad) in enumerate(data)
        )
        request = Request(
            cmd=taken.cmd,
            addr=taken.byte_address,
            len=taken.len,
            attr=taken.attr,
            num_beats=taken.num_beats,
            tag=taken.tag,
            src_phys_acc_id=taken.src_acc_id,
            dst_phys_acc_id=taken.dst_acc_id,
            asi=taken.asi,
            meta_data=taken.meta_data,
            vc=taken.vchan,
            auth_tag=item.tag,
        )
        return ReceivedRequest(request, beats, item.address_known)

    def _response(self, item: _Pending) -> ReceivedReadResponse | ReceivedWriteResponse:
        taken = item.expanded
        assert isinstance(taken, UncompressedResponse)
        ids = {
            "tag": taken.tag,
            "status": taken.status,
            "src_phys_acc_id": taken.src_acc_id,
            "dst_phys_acc_id": taken.dst_acc_id,
            "vc": taken.vchan,
            "auth_tag": item.tag,
        }
        if not taken.is_read:
            return ReceivedWriteResponse(WrRspBeat(**ids))
        data = self._data(item)
        burst = len(data) > 1
        return ReceivedReadResponse(
            tuple(
                RdRspBeat(
                    tag=taken.tag,
                    data=d,
                    status=taken.status,
                    offset=n if burst else taken.offset,
                    num_beats=taken.len,
                    last=n == taken.len if burst else bool(taken.last),
                    data_error=bad,
                    src_phys_acc_id=taken.src_acc_id,
                    dst_phys_acc_id=taken.dst_acc_id,
                    vc=taken.vchan,
                    auth_tag=item.tag,
                )
                for n, (d, bad) in enumerate(data)
            )
        )
