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
    """How many fields of one kind the next flit may carry so that the partner's catch buffer of ``limit`` cannot
    overrun.

    The partner retires one field per flit that it receives, whatever the flit holds; cycles without a flit do not
    count.

    Attributes
    ----------
    flit : a flit leaves in this cycle, with ``issued`` fields of this kind in it.
    allowance : fields that the flit after that one may carry, 1 to ``limit``; the same cycle, ``limit`` after reset.
    """

    def __init__(self, limit: int):
        if limit < 1:
            raise ConfigError(f"source rate limit {limit!r}; it must be 1 or more")
        self.limit = limit
        super().__init__(
            {"flit": In(1), "issued": In(range(limit + 1)), "allowance": Out(range(limit + 1), init=limit)}
        )

    def elaborate(self, platform):
        m = Module()
        allowed = Signal(range(self.limit + 1), init=self.limit)
        left = Signal(range(self.limit + 1))
        m.d.comb += [
            left.eq(allowed - self.issued),
            self.allowance.eq(Mux(self.flit, Mux(left >= self.limit, self.limit, left + 1), allowed)),
        ]
        m.d.sync += allowed.eq(self.allowance)
        return m
