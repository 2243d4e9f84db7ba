"""The credits of one channel, as its sender holds them and its receiver gets them back (UALink_200 §2.6)."""

from .channel import Beat
from .rules import ProtocolError

__all__ = ["CreditAccounts"]

VCS = 4


class CreditAccounts:
    """Counts credits per port: ``held[port]`` is ``[pool, vc0, vc1, vc2, vc3]``, what the sender may spend.

    Spent ones are counted by class and VC until they are back, because a return names both.
    """

    def __init__(self, channel: str, ports: int):
        self.channel = channel
        self.held = [[0] * (1 + VCS) for _ in range(ports)]
        self._in_use = [[0] * (2 * VCS) for _ in range(ports)]

    def affords(self, port: int, vc: int, beats: int) -> bool:
        """Whether ``beats`` beats of ``vc`` can be paid with what is in hand."""
        held = self.held[port]
        return held[0] + held[1 + vc] >= beats

    def grant(self, port: int, pool: int, vc: int, count: int) -> None:
        """The sender gets ``count`` credits."""
        self.held[port][0 if pool else 1 + vc] += count

    def spend(self, beat: Beat) -> None:
        """The sender pays for ``beat`` with a credit of the class that ``pool`` names."""
        port, pool, vc = beat["port_id"], beat["pool"], beat["vc"]
        account = 0 if pool else 1 + vc
        if not self.held[port][account]:
            kind = "Pool" if pool else f"VC {vc}"
            raise ProtocolError(self.channel, "credit_overrun", f"port {port} has no {kind} credit")
        self.held[port][account] -= 1
        self._in_use[port][VCS * pool + vc] += 1

    def settle(self, port: int, pool: int, vc: int, count: int) -> None:
        """``count`` spent credits of ``pool`` and ``vc`` are back."""
        in_use = self._in_use[port]
        in_use[VCS * pool + vc] -= count
        if in_use[VCS * pool + vc] < 0:
            kind = "Pool" if pool else "VC"
            raise ProtocolError(self.channel, "credit_return", f"a {kind} credit of VC {vc} on port {port}")

    @property
    def in_use(self) -> int:
        """Credits spent and not yet back, over all ports."""
        return sum(map(sum, self._in_use))
