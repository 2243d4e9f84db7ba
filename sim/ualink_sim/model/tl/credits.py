"""TL credits: four classes with a Pool and four VC buckets each (UALink_200 §5.8).

A bucket is None for the Pool or a VC number. Credit returns are Flow Control fields (``tl_fields.FlowControl``).
"""

from collections.abc import Iterable, Mapping

from .fields import ControlField, Credit, FieldError, FlowControl, Request, Response

__all__ = [
    "BUCKETS",
    "CLASSES",
    "CreditError",
    "ReceiveCredits",
    "TransmitCredits",
    "check_flow_control",
    "combine",
    "cost_of",
]

CLASSES = ("req_cmd", "rsp_cmd", "req_data", "rsp_data")
BUCKETS = (None, 0, 1, 2, 3)

Account = tuple[str, int | None]


class CreditError(ValueError):
    """A credit rule is broken: spent without credit, or returned more than was ever announced."""


def cost_of(field: ControlField) -> dict[Account, int]:
    """Credits that a Request or Response spends: one command credit and one data credit a beat, from one bucket."""
    if not isinstance(field, Request | Response):
        return {}
    kind = "req" if field.is_request else "rsp"
    bucket = None if field.pool else field.vchan
    cost: dict[Account, int] = {(f"{kind}_cmd", bucket): 1}
    if field.data_beats():
        cost[f"{kind}_data", bucket] = field.data_beats()
    return cost


def combine(fields: Iterable[ControlField]) -> dict[Account, int]:
    """Credits that the Flow Control fields of one Control half-flit return, the counts of a bucket ORed together."""
    counts: dict[Account, int] = {}
    for field in fields:
        if not isinstance(field, FlowControl):
            continue
        for kind in CLASSES:
            credit: Credit = getattr(field, kind)
            if credit.count:
                counts[kind, credit.vc] = counts.get((kind, credit.vc), 0) | credit.count
    return counts


class TransmitCredits:
    """Credits that the partner has announced to this transmitter; all 20 counters start at 0.

    ``shared_data_buffer`` is the partner's flag: the two data Pools then count as one (ruling D15).
    """

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        """Back to no credits (ruling D18)."""
        self.credits: dict[Account, int] = {(kind, bucket): 0 for kind in CLASSES for bucket in BUCKETS}
        self.initial: dict[Account, int] = dict(self.credits)
        self.shared_data_buffer = False
        self.release_received = False
        self.release_sent = False

    @property
    def ready(self) -> bool:
        """True when Requests and Responses may start: both releases are complete (ruling D16)."""
        return self.release_received and self.release_sent

    def release_complete(self, shared_data_buffer: bool) -> None:
        """The partner's Initial Credit Release Complete message: what it has announced so far is its total."""
        if not shared_data_buffer:
            for kind in ("req_data", "rsp_data"):
                if not any(self.credits[kind, bucket] for bucket in BUCKETS):
                    raise CreditError(f"no {kind} credits were announced without a shared data buffer")
        self.initial = dict(self.credits)
        self.shared_data_buffer = shared_data_buffer
        self.release_received = True

    def receive(self, fields: Iterable[ControlField]) -> None:
        """Apply the Flow Control fields of one Control half-flit."""
        for account, count in combine(fields).items():
            self.credits[account] += count
            if self.release_received and self._held(account) > self._held(account, self.initial):
                raise CreditError(f"{account} has {self._held(account)} credits, more than were announced")

    def _pool_pair(self, account: Account) -> tuple[Account, ...]:
        if self.shared_data_buffer and account in (("req_data", None), ("rsp_data", None)):
            return ("req_data", None), ("rsp_data", None)
        return (account,)

    def _held(self, account: Account, ledger: Mapping[Account, int] | None = None) -> int:
        ledger = self.credits if ledger is None else ledger
        return sum(ledger[part] for part in self._pool_pair(account))

    def can_send(self, *fields: ControlField) -> bool:
        """True when traffic may run and every field has its command credit and all its data credits."""
        total: dict[Account, int] = {}
        for field in fields:
            for account, count in cost_of(field).items():
                first = self._pool_pair(account)[0]
                total[first] = total.get(first, 0) + count
        return self.ready and all(self._held(account) >= count for account, count in total.items())

    def send(self, field: ControlField) -> None:
        """Spend what ``field`` costs."""
        if not self.can_send(field):
            raise CreditError(f"credits do not allow {field}")
        for account, count in cost_of(field).items():
            for part in (account, *self._pool_pair(account)):
                part_count = min(count, self.credits[part])
                self.credits[part] -= part_count
                count -= part_count


class ReceiveCredits:
    """Buffers of this receiver: what is to be announced or returned, and what the partner holds.

    ``buffers`` maps (class, bucket) to a number of fields (``*_cmd``) or 64-byte buffers (``*_data``).
    """

    def __init__(self, buffers: Mapping[Account, int]):
        self.buffers: dict[Account, int] = {(k, b): buffers.get((k, b), 0) for k in CLASSES for b in BUCKETS}
        self.reset()

    def reset(self) -> None:
        """Everything is to be announced again."""
        self.pending = dict(self.buffers)
        self.granted = {account: 0 for account in self.buffers}
        self._turn = {kind: list(BUCKETS) for kind in CLASSES}

    @property
    def any_pending(self) -> bool:
        """True while credits wait for a Flow Control field."""
        return any(self.pending.values())

    def receive(self, field: ControlField, shared_data_buffer: bool = False) -> None:
        """Count a received Request or Response; CreditError when the partner did not hold its credits."""
        for account, count in cost_of(field).items():
            kind, bucket = account
            granted = self.granted[account]
            other: Account | None = None
            if shared_data_buffer and bucket is None and kind.endswith("data"):
                other = ("rsp_data" if kind == "req_data" else "req_data", None)
                granted += self.granted[other]
            if granted < count:
                raise CreditError(f"{field} spends {count} of {granted} {account} credits")
            own = min(count, self.granted[account])
            self.granted[account] -= own
            if other is not None:
                self.granted[other] -= count - own

    def free(self, field: ControlField) -> None:
        """All buffers of a received field are free again: return the very credits that it spent."""
        for account, count in cost_of(field).items():
            self.pending[account] += count

    def free_buffer(self, kind: str, bucket: int | None, count: int = 1) -> None:
        """``count`` buffers of one class are free again."""
        self.pending[kind, bucket] += count

    def flow_control_fields(self, limit: int = 8) -> list[FlowControl]:
        """Up to ``limit`` fields for one Control half-flit: a class and bucket has a count in one of them at most."""
        columns: dict[str, list[Credit]] = {}
        for kind in CLASSES:
            most = (1 << FlowControl.COUNT_BITS[kind]) - 1
            chosen = [bucket for bucket in self._turn[kind] if self.pending[kind, bucket]][:limit]
            columns[kind] = []
            for bucket in chosen:
                count = min(most, self.pending[kind, bucket])
                self.pending[kind, bucket] -= count
                self.granted[kind, bucket] += count
                columns[kind].append(Credit(count, bucket))
                # The bucket just served goes last, so that none starves when few fields fit.
                self._turn[kind].remove(bucket)
                self._turn[kind].append(bucket)
        rows = max(len(column) for column in columns.values())
        return [FlowControl(**{k: c[row] for k, c in columns.items() if row < len(c)}) for row in range(rows)]


def check_flow_control(fields: Iterable[ControlField]) -> None:
    """FieldError when two Flow Control fields of one half-flit count for the same class and bucket."""
    seen: set[Account] = set()
    for field in fields:
        accounts = set(combine([field]))
        if accounts & seen:
            raise FieldError(f"two Flow Control fields return {sorted(map(str, accounts & seen))}")
        seen |= accounts
