"""Cables of a simulated pod that are cut and whole again."""

from collections.abc import Iterable, Mapping

from .scenario import Cut
from .wire import Wire

__all__ = ["CableCuts"]


class CableCuts:
    """Cuts ``wires``, by the name of their direction, as ``cuts`` say; call ``tick`` before every cycle."""

    def __init__(self, cuts: Iterable[Cut], wires: Mapping[str, Wire]):
        changes = [
            (cycle, wires[name], change)
            for cut in cuts
            for name in cut.directions
            for cycle, change in ((cut.at, 1), (cut.at + cut.cycles, -1))
        ]
        self._changes = sorted(changes, key=lambda change: change[0], reverse=True)
        self._wires = list(wires.values())

    def tick(self, cycle: int) -> None:
        """It is ``cycle`` now."""
        while self._changes and self._changes[-1][0] <= cycle:
            _, wire, change = self._changes.pop()
            wire.cut += change

    @property
    def in_force(self) -> bool:
        """A cable is cut."""
        return any(wire.cut for wire in self._wires)

    @property
    def next_change(self) -> int | None:
        """The cycle in which the next cable is cut or whole again."""
        return self._changes[-1][0] if self._changes else None
