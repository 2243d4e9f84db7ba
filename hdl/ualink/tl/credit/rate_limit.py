"""Source rate limit of the transmitter (UALink_200 §5.7)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError

__all__ = ["REQUEST_LIMIT", "RESPONSE_LIMIT", "SourceRateLimit"]

REQUEST_LIMIT = 4
"""Requests that the receiver's catch buffer holds."""

RESPONSE_LIMIT = 8
"""Responses that the receiver's catch buffer holds."""


class SourceRateLimit(wiring.Component):
    """How many fields of one kind the Control half-flit formed now may have so that the partner's catch buffer of
    ``limit`` cannot overrun.

    The partner retires one field per flit that it receives, whatever the flit holds; cycles without a flit do not
    count. So the last fields stay in a catch buffer taken literally until more flits come (UALink_200 §5.7 with Figure
    5-6).

    Attributes
    ----------
    flit : a flit leaves in this cycle, with ``issued`` fields of this kind in it, which may depend on ``allowance``.
    ahead : what is formed now is for the flit after that of this cycle, and is taken only with ``flit``. That one has
        ``held`` fields, which equals ``issued`` then.
    allowance : fields that what is formed now may have, 1 to ``limit``; the same cycle, ``limit`` after reset. It
        depends on ``ahead`` and ``held`` only.
    outstanding : level, the catch buffer holds a field after the flits that have left; from a register, 0 after reset.
    """

    def __init__(self, limit: int):
        if limit < 1:
            raise ConfigError(f"source rate limit {limit!r}; it must be 1 or more")
        self.limit = limit
        count = range(limit + 1)
        # The allowance behind the flits that have left.
        self.allowed = Signal(count, init=limit)
        super().__init__(
            {
                "flit": In(1),
                "issued": In(count),
                "ahead": In(1),
                "held": In(count),
                "allowance": Out(count, init=limit),
                "outstanding": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        allowed = self.allowed
        m.d.comb += self.allowance.eq(Mux(self.ahead, self._after(m, allowed, self.held), allowed))
        with m.If(self.flit):
            # One is retired: below the limit there are two or more.
            m.d.sync += [
                allowed.eq(self._after(m, allowed, self.issued)),
                self.outstanding.eq((allowed != self.limit) | (self.issued != 0)),
            ]
        return m

    def _after(self, m, allowed, issued):
        """The allowance after a flit with ``issued`` fields."""
        left = Signal(range(self.limit + 1))
        m.d.comb += left.eq(allowed - issued)
        return Mux(left >= self.limit, self.limit, left + 1)
