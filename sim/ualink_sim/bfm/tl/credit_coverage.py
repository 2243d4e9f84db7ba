"""Coverage of source rate limits and credits (UALink_200 §5.7, §5.8)."""

from ...model.tl.credits import CLASSES, Account, combine, cost_of
from ...model.tl.fields import FlowControl
from .checker import LinkChecker
from .field_coverage import Hit
from .observed import ObservedFlit

__all__ = ["CreditCoverage"]

SHARED = "§5.8 Shared Data Buffer"
MOST = {"req_cmd": 7, "rsp_cmd": 7, "req_data": 31, "rsp_data": 31}


def _name(account: Account) -> str:
    kind, bucket = account
    return f"{kind} {'Pool' if bucket is None else f'VC {bucket}'}"


class CreditCoverage:
    """Told before and after the checker has seen a flit of the device."""

    def __init__(self, hit: Hit, checker: LinkChecker):
        self._hit = hit
        self._checker = checker
        self.before_sent()

    def before_sent(self) -> None:
        """What the checker allows in the coming flit."""
        rates = self._checker.rates
        self._requests, self._responses = rates.requests, rates.responses

    def sent(self, seen: ObservedFlit) -> None:
        """A flit of the device."""
        if 0 < seen.requests <= self._requests:
            self._hit("§5.7 Requests of allowance", f"{seen.requests} of {self._requests}")
        if 0 < seen.responses <= self._responses:
            self._hit("§5.7 Responses of allowance", f"{seen.responses} in a flit")
            if seen.responses == self._responses:
                self._hit("§5.7 Responses of allowance", f"all {seen.responses}")
        self._spent(seen)
        self._returned(seen)
        for half in seen.halves:
            if half.is_release:
                self._hit(SHARED, "announced" if half.content[1] & 1 else "not announced")

    def _spent(self, seen: ObservedFlit) -> None:
        mine = self._checker.credits.mine
        for _, control in seen.fields:
            for account in cost_of(control):
                self._hit("§5.8 spent", _name(account))
                if not mine.available(account):
                    self._hit("§5.8 used up", _name(account))
                if mine.held[account] < 0:
                    self._hit(SHARED, "data of one class on credits of the other")

    def _returned(self, seen: ObservedFlit) -> None:
        group = "§5.8 Flow Control"
        fields = [control for _, control in seen.fields if isinstance(control, FlowControl)]
        if fields:
            self._hit(group, f"{len(fields)} fields")
        for account in combine(fields):
            self._hit("§5.8 returned", _name(account))
        for control in fields:
            credits = {kind: getattr(control, kind) for kind in CLASSES}
            used = [credit for credit in credits.values() if credit.count]
            for kind, credit in credits.items():
                if credit.count == MOST[kind]:
                    self._hit(group, f"{credit.count} {kind}")
            if len(used) == len(CLASSES):
                self._hit(group, "all four classes")
            buckets = {credit.vc for credit in used}
            if None in buckets and len(buckets) > 1:
                self._hit(group, "Pool and VC in one field")
            if len(buckets - {None}) > 1:
                self._hit(group, "different VCs in one field")
