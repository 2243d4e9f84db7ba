"""The data rate of a port (UALink_200 §7.1)."""

from amaranth.lib import enum

from ualink.config import MARKERS

__all__ = ["PortRate"]


class PortRate(enum.Enum, shape=2):
    """Gb/s of all lanes of the port together."""

    GBPS_100 = 0
    GBPS_200 = 1
    GBPS_400 = 2
    GBPS_800 = 3

    @classmethod
    def of(cls, rate: int) -> "PortRate":
        """The one of ``rate`` Gb/s."""
        return cls(list(MARKERS).index(rate))

    @property
    def gbps(self) -> int:
        """As a number."""
        return list(MARKERS)[self.value]
