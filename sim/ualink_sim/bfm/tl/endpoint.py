"""One end of a link at the TL flit interface, executable: items in, flits out, and back (UALink_200 §5)."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ...model.tl.compression import AddressCache, is_compressible
from ...model.tl.credits import CreditError, ReceiveCredits, TransmitCredits, check_flow_control
from ...model.tl.fields import ControlField, FieldError, UncompressedRequest
from ...model.tl.rate_limit import REQUEST_LIMIT, RESPONSE_LIMIT, RateLimit, RateLimitError
from ...model.tl.reassembly import Reassembler, ReceivedRequest
from ...model.tl.sequence import (
    INITIAL_CREDIT_RELEASE_COMPLETE,
    ControlFields,
    DataHalfFlit,
    Event,
    Issue,
    Message,
    ProtocolError,
    ReceiveSequence,
    TransmitSequence,
    message_half_flit,
)
from .options import TLOptions
from .packing import GreedyPacking, Packing, fill
from .transfers import Item, ResponseItem

__all__ = ["Plan", "TLEndpoint"]


@dataclass
class Plan:
    """What the next flit will hold; ``extra`` fields are sent without a look at any rule but where they stand."""

    issues: list[Issue] = field(default_factory=list)
    lower: bytes | None = None
    upper: bytes | None = None
    extra: list[Issue] = field(default_factory=list)


class TLEndpoint:
    """Sends what ``send`` is given as legal flits, makes items of the flits that it gets, returns credits.

    Attributes
    ----------
    packing : decides where the standard leaves a choice.
    received : items that have arrived; ``on_item`` is called with each.
    issued : items that have left, in the order of the wire.
    errors : what was wrong with the flits received; after a fatal error (``failed``) nothing more is received.
    requests, responses : items that wait; Requests go in order.
    messages : Message half-flits to send, as 32 bytes.
    hold : while it is set, freed buffers are not returned.
    credits, own : credits that the partner has given; buffers of this end.
    tx_cache : Tx Address Cache; forgetting entries of it is legal at any time.
    """

    def __init__(self, options: TLOptions | None = None, packing: Packing | None = None):
        self.options = options = options or TLOptions()
        self.packing: Packing = packing or GreedyPacking()
        self.on_item: Callable[[Item], None] = lambda item: None
        format_ = options.authentication, options.uwm_has_byte_enables, options.encryption
        self.sequence, self.receiver = TransmitSequence(*format_), ReceiveSequence(*format_)
        self.tx_cache = AddressCache(options.tx_row_member, options.tx_rows, options.tx_ways)
        self._reassembler = Reassembler(
            AddressCache(options.rx_row_member, options.rx_rows, options.rx_ways),
            options.uwm_has_byte_enables,
            options.literal_catch_buffers,
            options.byte_enable_slots,
        )
        self.credits = TransmitCredits()
        self.own = ReceiveCredits(options.buffers)
        self.request_rate, self.response_rate = RateLimit(REQUEST_LIMIT), RateLimit(RESPONSE_LIMIT)
        self._catch = RateLimit(REQUEST_LIMIT), RateLimit(RESPONSE_LIMIT)
        self.received: list[Item] = []
        self.issued: list[Item] = []
        self.errors: list[str] = []
        self.reset()

    def reset(self) -> None:
        """The link restarts: nothing waits, no credits (ruling D18). What went and came stays listed.

        What the Rx Address Cache holds stays; the Tx Address Cache is cleared unless ``options.keep_tx_cache``.
        """
        parts = (self.sequence, self.receiver, self.credits, self.own, *self._catch)
        for part in (*parts, self.request_rate, self.response_rate):
            part.reset()
        self._reassembler.restart()
        if not self.options.keep_tx_cache:
            self.tx_cache.clear()
        self.requests: deque[ReceivedRequest] = deque()
        self.responses: list[ResponseItem] = []
        self.messages: deque[bytes] = deque()
        self.hold = self.failed = False
        self._arriving: deque[list] = deque()
        self._to_free: list[ControlField] = []

    # Transmit.

    def send(self, item: Item) -> None:
        """Queue a Request with its data, a Read Response or a Write Response."""
        if isinstance(item, ReceivedRequest):
            self.requests.append(item)
        else:
            self.responses.append(item)

    @property
    def idle(self) -> bool:
        """Nothing waits, no data are owed, nothing is stranded in the partner's catch buffers."""
        returns = self.own.any_pending or (self._to_free and not self.hold) or self._must_push
        return not (self.requests or self.responses or self.messages or self.sequence.owed or returns)

    def hit(self, control: UncompressedRequest) -> int | None:
        """The way that lets ``control`` be compressed, None when it cannot be."""
        options = self.options
        if getattr(control, options.tx_row_member) >= options.tx_rows:
            return None
        return self.tx_cache.find(control) if is_compressible(control, options.meta_data_mask) else None

    def load(self, control: UncompressedRequest) -> UncompressedRequest:
        """``control`` with CLOAD and CWAY, the Tx Address Cache loaded if that is chosen."""
        if getattr(control, self.options.tx_row_member) >= self.options.tx_rows:
            return control
        way = self.packing.load_way(self, control)
        if way is None:
            return control
        self.tx_cache.load(control, way)
        return replace(control, cload=1, cway=way)

    def flit(self) -> tuple[bytes, int] | None:
        """The next TL flit and its message bits; None when there is nothing to send."""
        plan = self.plan()
        has_content = plan.issues or plan.lower or plan.upper or self.sequence.owed
        if not (has_content or self.packing.empty() or self._must_push):
            return None
        return self.commit(plan)

    @property
    def _must_push(self) -> bool:
        """The partner's catch buffers hold something that only a flit moves on."""
        outstanding = self.request_rate.outstanding or self.response_rate.outstanding
        return bool(self.options.push_catch_buffers and outstanding)

    def plan(self) -> Plan:
        """Decide on the next flit."""
        if not self.hold:
            for freed in self._to_free:
                self.own.free(freed)
            self._to_free.clear()
        plan = Plan()
        control, swap, owed = self.sequence.control_slot, self.sequence.swap, len(self.sequence.owed)
        plan.lower = self._message("control" if control else "data", swap)
        if control and plan.lower is None:
            plan.issues = fill(self)
        tagged = any(issue.field.is_request or issue.field.is_response for issue in plan.issues)
        if not (self.options.authentication and tagged):
            brings_data = any(issue.field.half_flits(self.options.uwm_has_byte_enables) for issue in plan.issues)
            plan.upper = self._message("data" if owed or brings_data else "NOP", swap)
        return plan

    def _message(self, slot: str, swap: bool) -> bytes | None:
        if slot != "data" and not self.credits.release_sent and not self.own.any_pending:
            if not self.packing.release_here(slot):
                return None
            self.credits.release_sent = True
            return message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE, bytes([self.options.shared_data_buffer]))
        if self.messages and slot == "control" and not swap:
            return self.messages.popleft()
        return self.packing.message(slot, swap)

    def commit(self, plan: Plan) -> tuple[bytes, int]:
        """Put a plan on the wire."""
        self.request_rate.flit(sum(issue.field.is_request for issue in plan.issues))
        self.response_rate.flit(sum(issue.field.is_response for issue in plan.issues))
        return self.sequence.send([*plan.issues, *plan.extra], plan.lower, plan.upper)

    # Receive.

    def receive(self, flit: bytes, message_bits: int) -> list[Item]:
        """Take a flit of the partner; the items that it completes."""
        if self.failed:
            return []
        events = self.receiver.receive(flit, message_bits)
        wrong = [event for event in events if isinstance(event, ProtocolError)]
        self.errors += [event.reason for event in wrong]
        if any(event.fatal for event in wrong):
            self.failed = True
            return []
        try:
            self._check(events)
            items: list[Item] = list(self._reassembler.push(events))
        except (CreditError, FieldError, RateLimitError) as error:
            self.errors.append(str(error))
            self.failed = True
            return []
        self._note_free(events)
        for item in items:
            self.received.append(item)
            self.on_item(item)
        return items

    def _check(self, events: list[Event]) -> None:
        controls = [c for event in events if isinstance(event, ControlFields) for _, c in event.fields]
        for limit, issued in zip(self._catch, (_count(controls, "is_request"), _count(controls, "is_response"))):
            limit.flit(issued)
        check_flow_control(controls)
        self.credits.receive(controls)
        for control in controls:
            if (control.is_request or control.is_response) and not self.credits.ready:
                raise CreditError(f"{control} comes before both initial credit releases")
            self.own.receive(control, self.options.shared_data_buffer)
        for event in events:
            if isinstance(event, Message) and event.type == INITIAL_CREDIT_RELEASE_COMPLETE:
                self.credits.release_complete(bool(event.payload[0] & 1))

    def _note_free(self, events: list[Event]) -> None:
        """Buffers are free again when all of a field has arrived, and has left a literal catch buffer."""
        if self.options.literal_catch_buffers:
            self._to_free += self._reassembler.delivered
            return
        for event in events:
            if isinstance(event, ControlFields):
                for _, control in event.fields:
                    owed = control.half_flits(self.options.uwm_has_byte_enables)
                    if owed:
                        self._arriving.append([control, owed])
                    else:
                        self._to_free.append(control)
            elif isinstance(event, DataHalfFlit):
                self._arriving[0][1] -= 1
                if not self._arriving[0][1]:
                    self._to_free.append(self._arriving.popleft()[0])


def _count(controls: list[ControlField], kind: str) -> int:
    return sum(getattr(control, kind) for control in controls)
