"""Requests and responses of decoded flits, put together into transactions."""

from dataclasses import dataclass

from .interface_decoder import DecodedFlit
from .model.tl_fields import CompressedReadResponse, ControlField, Request, Response, UncompressedRequest
from .model.tl_fields import UncompressedResponse as FullResponse
from .model.tl_sequence import ControlFields, DataHalfFlit

__all__ = ["CapturedTransaction", "TransactionTracker"]


@dataclass
class CapturedTransaction:
    """A request at its source's link and, once seen, its response.

    ``sent`` and ``received`` are whole 64-byte beats; ``status`` is None while the response is outstanding; ``addr``
    None when only an address cache knows it; ``poisoned`` when any of its data was.
    """

    interface: str
    src: int
    dst: int
    tag: int
    cmd: int
    addr: int | None
    length: int
    requested_ps: int
    responded_ps: int | None = None
    status: int | None = None
    sent: bytes = b""
    received: bytes = b""
    poisoned: bool = False


@dataclass
class _Owner:
    """Whose data half-flits those of ``control`` are."""

    control: ControlField
    transaction: CapturedTransaction
    response: bool
    last: bool


class TransactionTracker:
    """Follows the taps at the transmitters; a request is matched with the response that comes back on its own link."""

    def __init__(self) -> None:
        self.outstanding: dict[tuple[str, int, int], CapturedTransaction] = {}
        self._owners: dict[int, _Owner] = {}

    def see(self, decoded: DecodedFlit) -> list[CapturedTransaction]:
        """Transactions that ``decoded`` completes; ``/rx`` taps repeat what ``/tx`` taps show and are left out."""
        link, _, tap = decoded.packet.interface.partition("/")
        if tap == "rx":
            return []
        done: list[CapturedTransaction] = []
        for flit in decoded.tl_flits:
            for event in flit.events:
                if isinstance(event, ControlFields):
                    for _, control in event.fields:
                        self._field(link, control, decoded, done)
                elif isinstance(event, DataHalfFlit):
                    self._data(event, done)
        return done

    def _field(self, link: str, control: ControlField, decoded: DecodedFlit, done: list[CapturedTransaction]) -> None:
        near, _, far = link.partition(">")
        if isinstance(control, Request) and not near.startswith("sw"):
            transaction = _begin(control, decoded)
            self.outstanding[f"{far}>{near}", transaction.src, transaction.tag] = transaction
            self._own(control, transaction, False, False)
        elif isinstance(control, Response):
            key = link, getattr(control, "dst_acc_id", 0), control.tag
            found = self.outstanding.get(key)
            if found is None:
                return
            last = _is_last(control)
            found.status = control.status if isinstance(control, FullResponse) else 0
            found.responded_ps = decoded.packet.time_ps
            if last:
                del self.outstanding[key]
            if control.is_read:
                self._own(control, found, True, last)
            else:
                done.append(found)

    def _own(self, control: ControlField, transaction: CapturedTransaction, response: bool, last: bool) -> None:
        if control.half_flits():
            self._owners[id(control)] = _Owner(control, transaction, response, last)

    def _data(self, event: DataHalfFlit, done: list[CapturedTransaction]) -> None:
        owner = self._owners.get(id(event.owed.field))
        if owner is None:
            return
        transaction = owner.transaction
        if not event.owed.is_be:
            transaction.poisoned = transaction.poisoned or event.poisoned
            if owner.response:
                transaction.received += event.data
            else:
                transaction.sent += event.data
        if event.owed.index == owner.control.half_flits() - 1:
            del self._owners[id(event.owed.field)]
            if owner.last:
                done.append(transaction)


def _is_last(control: Response) -> bool:
    """Whether the response ends its transaction: only beats returned one by one have others after them."""
    if isinstance(control, FullResponse):
        return not control.is_read or bool(control.len or control.last)
    return not isinstance(control, CompressedReadResponse) or bool(control.last)


def _begin(control: Request, decoded: DecodedFlit) -> CapturedTransaction:
    full = isinstance(control, UncompressedRequest)
    return CapturedTransaction(
        interface=decoded.packet.interface,
        src=getattr(control, "src_acc_id", 0),
        dst=getattr(control, "dst_acc_id", 0),
        tag=control.tag,
        cmd=control.req_cmd,
        addr=control.byte_address if isinstance(control, UncompressedRequest) else None,
        length=(getattr(control, "len", 0) + 1) * (4 if full else 64),
        requested_ps=decoded.packet.time_ps,
    )
