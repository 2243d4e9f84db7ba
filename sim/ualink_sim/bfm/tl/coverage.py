"""Functional coverage of one direction of a link: what of the TL a run has shown (UALink_200 §5)."""

from collections import Counter

from .bins import BINS
from .checker import LinkChecker
from .credit_coverage import CreditCoverage
from .field_coverage import FieldCoverage
from .sequence_coverage import SequenceCoverage

__all__ = ["LinkCoverage"]


class LinkCoverage:
    """Tell it what ``checker`` would be told; it passes that on, and counts what the device has sent in ``hits``."""

    def __init__(self, checker: LinkChecker):
        self.checker = checker
        self.hits: Counter[tuple[str, str]] = Counter()
        self._fields = FieldCoverage(self.hit, checker)
        self._sequence = SequenceCoverage(self.hit, checker.options)
        self._credits = CreditCoverage(self.hit, checker)

    def hit(self, group: str, name: str) -> None:
        """Count a bin; only those of ``BINS`` exist."""
        if name not in BINS[group]:
            raise KeyError(f"{group}: no bin is called {name!r}")
        self.hits[group, name] += 1

    def reset(self) -> None:
        """The link restarts; what was hit stays."""
        self.checker.reset()
        self._fields.reset()
        self._sequence.reset()

    def received(self, flit: bytes, message_bits: int) -> None:
        """A flit that the device was given."""
        self.checker.received(flit, message_bits)

    def sent(self, flit: bytes, message_bits: int) -> None:
        """A flit that the device sent."""
        self._credits.before_sent()
        seen = self.checker.sent(flit, message_bits)
        if seen is not None:
            for part in (self._fields, self._sequence, self._credits):
                part.sent(seen)

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
