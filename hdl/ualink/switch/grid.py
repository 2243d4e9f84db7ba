"""How the ports of a switch core are laid out: egress ports in columns, ingress ports in rows."""

from dataclasses import dataclass

__all__ = ["Grid"]


@dataclass(frozen=True)
class Grid:
    """Columns and rows of a core of ``ports`` ports; where they meet is a bank.

    The ports of a station are in different columns and rows as far as there are so many.

    Attributes
    ----------
    ports : of the switch.
    ports_per_row : ingress ports of a row at the most. With no more ports than that there is one row, and the core is a
        flat crossbar.
    """

    ports: int
    ports_per_row: int

    @property
    def columns(self) -> list[list[int]]:
        """The egress ports of each, 4 at most if there are more than 16: with more columns, an ingress port sends to
        more egress ports at once."""
        ports = self.ports
        return _dealt(ports, max(min(ports, max(2, min(8, ports // 2))), -(-ports // 4)))

    @property
    def rows(self) -> list[list[int]]:
        """The ingress ports of each."""
        return _dealt(self.ports, -(-self.ports // self.ports_per_row))


def _dealt(ports: int, hands: int) -> list[list[int]]:
    return [list(range(hand, ports, hands)) for hand in range(hands)]
