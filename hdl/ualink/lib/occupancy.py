"""How much is inside, for those who are told late what comes and goes."""

from amaranth.hdl import Const, Mux, Signal, Value

from ualink.lib.contract import contract
from ualink.lib.parity import protects_data

__all__ = ["Occupancy"]


class Occupancy:
    """Count of what is inside, at most ``depth``, with registers that say what is asked of it.

    ``some`` : it is not 0; ``full`` : it is ``depth``. All are 0 after reset. ``level`` may be given by whoever has it
    as a member.

    An upset of ``some`` or ``full`` lasts for one cycle, for both follow ``level``; not in what is
    ``WithoutDataParity``.
    """

    def __init__(self, depth: int, *, name: str, level: Signal | None = None):
        self._depth = depth
        self.level = Signal(range(depth + 1), name=name) if level is None else level
        self.some, self.full = Signal(name=f"{name}_some"), Signal(name=f"{name}_full")

    def torn(self) -> Value:
        """1 bit: the registers do not agree, as after an upset of one of them; 0 in what is ``WithoutDataParity``."""
        if not protects_data():
            return Const(0)
        return (self.some ^ self.level.any()) | (self.full ^ (self.level == self._depth)) | (self.level > self._depth)

    def count(self, m, added, taken) -> None:
        """One is ``added``, when ``full`` only as one is taken; one is ``taken``, not without ``some``."""
        contract(m, ~(added & self.full) | taken, f"{self.level.name}: nothing more is added when full")
        contract(m, ~taken | self.some, f"{self.level.name}: nothing is taken when empty")
        level, some, full, less = self.level, self.some, self.full, self.level - 1
        if protects_data():
            some, full, less = level.any(), level == self._depth, Mux(level.any(), less, 0)
        # Either may be the last to be known.
        m.d.sync += [
            level.eq(Mux(taken, Mux(added, level, less), Mux(added, level + 1, level))),
            self.some.eq(Mux(taken, added | level[1:].any(), added | some)),
            self.full.eq(Mux(taken, added & full, Mux(added, level == self._depth - 1, full))),
        ]
