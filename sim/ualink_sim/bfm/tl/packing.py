"""How an endpoint fills a Control half-flit: greedily, or with any legal choice at random (UALink_200 §5.1.1, §5.7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from ...model.tl.compression import compress_request, compress_response, is_compressible
from ...model.tl.credits import BUCKETS, CLASSES, Account
from ...model.tl.fields import ControlField, Credit, FlowControl, UncompressedRequest
from ...model.tl.reassembly import ReceivedReadResponse
from ...model.tl.sequence import Issue
from .options import limit_of
from .transfers import ResponseItem, issue_of, request_field, response_field

if TYPE_CHECKING:
    from .endpoint import TLEndpoint

__all__ = ["KINDS", "GreedyPacking", "Packing", "fill"]

Choice = TypeVar("Choice")

KINDS = ("compressed_request", "uncompressed_request", "compressed_response", "uncompressed_response", "flow_control")
"""What can be tried at a sector."""

SIZES = {"compressed_request": 2, "uncompressed_request": 4, "uncompressed_response": 2}
RESPONSES_IN_SIGHT = 8


class Packing(Protocol):
    """Decides wherever the standard leaves a choice."""

    def order(self) -> Iterable[str]:
        """``KINDS`` to try at a sector, in this order; when none fits or none is left, it is a NOP field."""

    def pick(self, choices: Sequence[Choice]) -> Choice:
        """One of several that are legal."""

    def turns(self, items: list[ResponseItem]) -> list[ResponseItem]:
        """The order in which Responses are tried."""

    def count(self, most: int) -> int:
        """How many of ``most`` credits to return, at least one."""

    def include(self, kind: str) -> bool:
        """Return credits of this class in the Flow Control field at hand."""

    def load_way(self, end: TLEndpoint, control: UncompressedRequest) -> int | None:
        """The way of the Tx Address Cache to load with ``control``, None for CLOAD 0."""

    def message(self, slot: str, swap: bool) -> bytes | None:
        """A message for slot ``"control"``, ``"data"`` or ``"NOP"``; ``swap``: in a swap flit."""

    def release_here(self, slot: str) -> bool:
        """Complete the initial credit release in this slot, ``"control"`` or ``"NOP"``."""

    def empty(self) -> bool:
        """Send a flit though there is nothing to send."""


class GreedyPacking:
    """As much as fits, Requests first, compressed where possible; no messages but those that are due."""

    def order(self) -> Iterable[str]:
        """Requests, Responses, credits."""
        return KINDS

    def pick(self, choices: Sequence[Choice]) -> Choice:
        """The first."""
        return choices[0]

    def turns(self, items: list[ResponseItem]) -> list[ResponseItem]:
        """As they came."""
        return items

    def count(self, most: int) -> int:
        """All."""
        return most

    def include(self, kind: str) -> bool:
        """All that wait."""
        return True

    def load_way(self, end: TLEndpoint, control: UncompressedRequest) -> int | None:
        """The ways of a row in turn, for Requests that could have been compressed."""
        if not is_compressible(control, end.options.meta_data_mask):
            return None
        row = getattr(control, end.options.tx_row_member)
        return sum(key[0] == row for key in end.tx_cache.entries) % end.options.tx_ways

    def message(self, slot: str, swap: bool) -> bytes | None:
        """None."""
        return None

    def release_here(self, slot: str) -> bool:
        """In place of a Control half-flit."""
        return slot == "control"

    def empty(self) -> bool:
        """Silence is as good."""
        return False


class _HalfFlit:
    """A Control half-flit in the making. What is placed is issued: credits, caches and queues follow at once."""

    def __init__(self, end: TLEndpoint):
        self.end = end
        self.issues: list[Issue] = []
        self._requests, self._responses = end.request_rate.allowance, end.response_rate.allowance
        self._tags = (0 if end.sequence.swap else 4) if end.options.authentication else 8
        self._counts: Counter[str] = Counter()
        self._returned: set[Account] = set()

    def place(self, kind: str, sector: int) -> int:
        """Sectors that a field of ``kind`` now takes from ``sector`` on; 0 when none may stand there."""
        size = SIZES.get(kind, 1)
        limit = kind if kind == "flow_control" else kind + "s"
        if sector % size or self._counts[limit] >= self.end.options.limits[limit]:
            return 0
        if kind == "flow_control":
            issue = self._flow_control(sector)
        elif not (self._tags and self.end.credits.ready):
            return 0
        elif kind.endswith("request"):
            issue = self._request(sector, kind == "compressed_request")
        else:
            issue = self._response(sector, kind == "compressed_response")
        if issue is None:
            return 0
        self.issues.append(issue)
        self._counts[limit_of(issue.field)] += 1
        return size

    def _pools(self, control: ControlField) -> list[int]:
        """POOL bits for which credits are held, those of the VC first."""
        credits = self.end.credits
        return [pool for pool in (0, 1) if credits.can_send(_with_pool(control, pool))]

    def _request(self, sector: int, compressed: bool) -> Issue | None:
        end = self.end
        if not (end.requests and self._requests):
            return None
        item = end.requests[0]
        plain = request_field(item)
        way = end.hit(plain) if compressed else None
        pools = self._pools(plain) if way is not None or not compressed else []
        if not pools:
            return None
        plain = request_field(item, end.packing.pick(pools))
        control: ControlField = plain if way is None else compress_request(plain, way)
        if way is None:
            control = end.load(plain)
        end.credits.send(control)
        end.requests.popleft()
        end.issued.append(item)
        self._requests -= 1
        self._tags -= 1
        return issue_of(item, control, sector, end.options)

    def _response(self, sector: int, compressed: bool) -> Issue | None:
        end = self.end
        if not self._responses or (compressed and end.options.encryption):
            return None
        for item in end.packing.turns(self._in_sight(compressed)):
            pools = self._pools(response_field(item))
            if pools:
                break
        else:
            return None
        plain = response_field(item, end.packing.pick(pools))
        control = compress_response(plain) if compressed else plain
        end.credits.send(control)
        _take(end.responses, item)
        end.issued.append(item)
        self._responses -= 1
        self._tags -= 1
        return issue_of(item, control, sector, end.options)

    def _in_sight(self, compressed: bool) -> list[ResponseItem]:
        """Responses that may go next in this form."""
        seen = self.end.responses[:RESPONSES_IN_SIGHT]
        if self.end.options.strict_ordering:
            kinds = {isinstance(item, ReceivedReadResponse): item for item in reversed(seen)}
            seen = [item for item in seen if any(item is first for first in kinds.values())]
        return [item for item in seen if not (compressed and _status(item))]

    def _flow_control(self, sector: int) -> Issue | None:
        own, packing = self.end.own, self.end.packing
        members: dict[str, Credit] = {}
        for kind in CLASSES:
            buckets = [b for b in BUCKETS if own.pending[kind, b] and (kind, b) not in self._returned]
            if not (buckets and packing.include(kind)):
                continue
            bucket = packing.pick(buckets)
            most = (1 << FlowControl.COUNT_BITS[kind]) - 1
            count = packing.count(min(most, own.pending[kind, bucket]))
            own.pending[kind, bucket] -= count
            own.granted[kind, bucket] += count
            self._returned.add((kind, bucket))
            members[kind] = Credit(count, bucket)
        return Issue(sector, FlowControl(**members)) if members else None


def _status(item: ResponseItem) -> int:
    return (item.beats[0] if isinstance(item, ReceivedReadResponse) else item.beat).status


def _take(items: list[ResponseItem], item: ResponseItem) -> None:
    """Remove this very item, though others may be equal."""
    del items[next(n for n, other in enumerate(items) if other is item)]


def _with_pool(control: ControlField, pool: int) -> ControlField:
    return type(control)(**{name: getattr(control, name) for name in control.WIDTHS} | {"pool": pool})


def fill(end: TLEndpoint) -> list[Issue]:
    """The fields of the next Control half-flit of ``end``, from the lowest sector up, which is the order of issue."""
    half, sector = _HalfFlit(end), 0
    while sector < 8:
        sector += next((size for kind in end.packing.order() if (size := half.place(kind, sector))), 1)
    return half.issues
