"""Functional coverage of a link: which rows, flows and arcs of the standard a run has shown (UALink_200 §6)."""

from collections import Counter

from ...model.dl.endpoint import Slot
from .bins import BINS
from .checker import LinkChecker
from .link_coverage import LinkStateCoverage
from .message_coverage import MessageCoverage
from .replay_coverage import ReplayCoverage

__all__ = ["LinkCoverage"]


class LinkCoverage:
    """Tell it what ``checker`` would be told; it passes that on, and counts what it shows in ``hits``.

    ``replay_depth`` is TxReplay of the device in flits.
    """

    def __init__(self, checker: LinkChecker, replay_depth: int = 64):
        self.checker = checker
        self.hits: Counter[tuple[str, str]] = Counter()
        self._replay = ReplayCoverage(self.hit, checker, replay_depth)
        self._messages = MessageCoverage(self.hit, checker)
        self._links = LinkStateCoverage(self.hit, checker)

    def hit(self, group: str, name: str) -> None:
        """Count a bin; only those of ``BINS`` exist."""
        if name not in BINS[group]:
            raise KeyError(f"{group}: no bin is called {name!r}")
        self.hits[group, name] += 1

    def reset(self) -> None:
        """The device is in reset; what was hit stays."""
        self.checker.reset()
        self._links.reset()
        self._messages.reset()

    def show_fault(self, local: bool = False, remote: bool = False) -> None:
        """What the RS shows to the device from now on."""
        self.checker.show_fault(local, remote)

    def received(self, slot: Slot) -> None:
        """A slot that the device was given."""
        self._replay.before_received(slot)
        verdict = self.checker.received(slot)
        self._replay.received(slot, verdict)
        self._messages.received(slot, verdict)

    def sent(self, slot: Slot) -> None:
        """A slot that the device sent."""
        before = self._replay.before_sent()
        self._links.before_sent()
        carry = self.checker.flit_rules.carry_over
        self.checker.sent(slot)
        new = self._replay.sent(slot, before)
        self._messages.sent(slot, new, carry)
        self._links.sent(slot)

    def report(self) -> dict[str, dict[str, int]]:
        """Hits of every bin by group."""
        return {group: {name: self.hits[group, name] for name in names} for group, names in BINS.items()}

    def missed(self, *groups: str) -> list[str]:
        """``"group: bin"`` of the bins without a hit, of groups that begin with one of ``groups`` (default: all)."""
        chosen = [group for group in BINS if not groups or group.startswith(groups)]
        return [f"{group}: {name}" for group in chosen for name in BINS[group] if not self.hits[group, name]]

    def text(self) -> str:
        """The report as lines, one per group, with the missed bins below it."""
        lines = []
        for group, bins in self.report().items():
            hit = sum(count > 0 for count in bins.values())
            lines.append(f"{group:<36}{hit:>4} of {len(bins)}")
            lines += [f"    missed: {name}" for name, count in bins.items() if not count]
        return "\n".join(lines)
