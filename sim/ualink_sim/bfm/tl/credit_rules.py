"""Rules for TL credits as both directions of a link show them (UALink_200 §5.8)."""

from ...model.tl.credits import BUCKETS, CLASSES, Account, combine, cost_of
from ...model.tl.fields import ControlField
from .follower import Report
from .observed import ObservedFlit

__all__ = ["CreditLedger", "CreditRules"]


def account_name(account: Account) -> str:
    """An account in words."""
    kind, bucket = account
    return f"{kind} of {'the Pool' if bucket is None else f'VC {bucket}'}"


class CreditLedger:
    """Credits for one direction of Requests and Responses: granted by one end, spent by the other.

    Attributes
    ----------
    held : what the spending end holds of each account.
    announced : what was granted before the release was complete.
    released, shared : the release is complete; the granting end has announced Shared Data Buffer mode.
    """

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        """The link restarts without credits (ruling D18)."""
        self.held: dict[Account, int] = {(kind, bucket): 0 for kind in CLASSES for bucket in BUCKETS}
        self.announced = dict(self.held)
        self.released = self.shared = False

    def _parts(self, account: Account) -> tuple[Account, ...]:
        """The accounts that count as one with ``account`` (ruling D15)."""
        if self.shared and account in (("req_data", None), ("rsp_data", None)):
            return ("req_data", None), ("rsp_data", None)
        return (account,)

    def available(self, account: Account) -> int:
        """What can be spent of ``account``."""
        return sum(self.held[part] for part in self._parts(account))

    def outstanding(self, account: Account) -> int:
        """What has been spent of ``account`` and not returned."""
        return sum(self.announced[part] - self.held[part] for part in self._parts(account))

    def grant(self, account: Account, count: int) -> bool:
        """Credits arrive; False when there are more than were announced."""
        fits = not self.released or count <= self.outstanding(account)
        self.held[account] += count
        if not self.released:
            self.announced[account] += count
        return fits

    def spend(self, account: Account, count: int) -> bool:
        """Credits go; False, and nothing is spent, when there are not so many."""
        if self.available(account) < count:
            return False
        self.held[account] -= count
        return True

    def release(self, shared: bool) -> list[str]:
        """The release is complete; the classes that have no credits and need some."""
        self.released, self.shared = True, shared
        empty = {kind for kind in CLASSES if not any(self.announced[kind, bucket] for bucket in BUCKETS)}
        data = {"req_data", "rsp_data"}
        if shared and not data <= empty:
            empty -= data
        return [kind for kind in CLASSES if kind in empty]


class CreditRules:
    """Follows what a device may spend (``mine``) and what it has granted to its partner (``theirs``)."""

    def __init__(self, report: Report):
        self._report = report
        self.mine, self.theirs = CreditLedger(), CreditLedger()

    def reset(self) -> None:
        """The link restarts."""
        self.mine.reset()
        self.theirs.reset()

    @property
    def running(self) -> bool:
        """Requests and Responses may be sent: both releases are complete (ruling D16)."""
        return self.mine.released and self.theirs.released

    def received(self, seen: ObservedFlit) -> None:
        """A flit that the device was given; nothing is held against it."""
        for account, count in combine(control for _, control in seen.fields).items():
            self.mine.grant(account, count)
        for _, control in seen.fields:
            for account, count in cost_of(control).items():
                self.theirs.spend(account, count)
        for half in seen.halves:
            if half.is_release and not self.mine.released:
                self.mine.release(bool(half.content[1] & 1))

    def sent(self, seen: ObservedFlit) -> None:
        """A flit that the device sent."""
        for sector, control in seen.fields:
            if control.is_request or control.is_response:
                self._spend(sector, control)
        for account, count in combine(control for _, control in seen.fields).items():
            outstanding = self.theirs.outstanding(account)
            if not self.theirs.grant(account, count):
                self._report("over_return", f"{count} {account_name(account)}, {outstanding} outstanding")
        for half in seen.halves:
            if half.is_release:
                self._release(bool(half.content[1] & 1))

    def _spend(self, sector: int, control: ControlField) -> None:
        if not self.running:
            self._report("before_release", f"sector {sector}")
        for account, count in cost_of(control).items():
            if not self.mine.spend(account, count):
                held = self.mine.available(account)
                self._report(f"credit_{account[0]}", f"sector {sector}: {count} {account_name(account)}, {held} held")

    def _release(self, shared: bool) -> None:
        if self.theirs.released:
            self._report("release_twice")
            return
        for kind in self.theirs.release(shared):
            self._report("initial_credits", kind)
