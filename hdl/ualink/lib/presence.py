"""Whether something is in a register."""

from amaranth.hdl import Signal

from ualink.lib.parity import protects_data

__all__ = ["Presence"]


class Presence:
    """A bit of state that an upset must not change unseen: no code covers what is gone, or what is there twice.

    It is kept twice, the second time inverted, so that synthesis does not make one register of both. In what is
    ``WithoutDataParity``, or not ``protected``, it is kept once.

    ``here`` : something is there, as both say. ``torn`` : they differ: nobody knows, and it counts as not there.
    """

    def __init__(self, m, name: str, *, protected: bool = True):
        self._is_there = Signal(name=name)
        self._is_gone = Signal(name=f"{name}_not", init=1) if protected and protects_data() else None
        self.here, self.torn = Signal(name=f"{name}_here"), Signal(name=f"{name}_torn")
        m.d.comb += self.here.eq(self._is_there)
        if self._is_gone is not None:
            m.d.comb += [
                self.here.eq(self._is_there & ~self._is_gone),
                self.torn.eq(self._is_there == self._is_gone),
            ]

    def becomes(self, m, there) -> None:
        """Something is ``there`` from the next cycle on."""
        m.d.sync += self._is_there.eq(there)
        if self._is_gone is not None:
            m.d.sync += self._is_gone.eq(~there)
