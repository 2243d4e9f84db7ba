"""A component without parity over data and without codes beside what waits: what these cost."""

from amaranth.hdl import Module
from amaranth.lib import wiring

from ualink.lib.forward import forward
from ualink.lib.parity import WithoutDataParity

__all__ = ["Bare"]


class Bare(wiring.Component):
    """``part`` as ``WithoutDataParity``, with the members of ``part``."""

    def __init__(self, part: wiring.Component):
        self._part = part
        super().__init__(part.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.bare = WithoutDataParity(self._part)
        forward(m, self._part, self)
        return m
