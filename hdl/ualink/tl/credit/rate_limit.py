"""Source rate limit of the transmitter (UALink_200 §5.7)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError
from ualink.lib.select import select_one

__all__ = ["REQUEST_LIMIT", "RESPONSE_LIMIT", "SourceRateLimit"]

REQUEST_LIMIT = 4
"""Requests that the receiver's catch buffer holds."""

RESPONSE_LIMIT = 8
"""Responses that the receiver's catch buffer holds."""


class SourceRateLimit(wiring.Component):
    """How many fields of one kind the next Control half-flit may have so that the partner's catch buffer of ``limit``
    cannot overrun.

    The partner retires one field per flit that it receives, whatever the flit holds; cycles without a flit do not
    count. So the last fields stay in a catch buffer taken literally until more flits come (UALink_200 §5.7 with Figure
    5-6). A Control half-flit counts when it is taken: between it and the next one taken no flit is but those told of.

    Attributes
    ----------
    taken : a Control half-flit is taken in this cycle.
    issued : with ``taken``, bit n: more than n fields of this kind are in it; it may depend on ``allowance``.
    between : a flit without Control half-flit is in front of the half-flit that may be taken in this cycle.
    flit : that flit leaves in this cycle; always with ``taken`` and ``between``.
    allowance : bit n: more than n fields may be in the half-flit taken in this cycle, 1 to ``limit``; ``limit`` after
        reset. It depends on registers and ``between`` only.
    outstanding : level, the catch buffer holds a field after all flits told of and one ``between``; 0 after reset. It
        depends on registers and ``between`` only.
    """

    def __init__(self, limit: int):
        if limit < 1:
            raise ConfigError(f"source rate limit {limit!r}; it must be 1 or more")
        self.limit = limit
        # After the flits told of: the allowance in the next one, and whether the catch buffer holds a field.
        self.allowed = Signal(limit, init=-1)
        self.holds = Signal()
        super().__init__(
            {
                "taken": In(1),
                "issued": In(limit),
                "between": In(1),
                "flit": In(1),
                "allowance": Out(limit, init=-1),
                "outstanding": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        allowed, allowance = self.allowed, self.allowance
        full = allowed[-1]
        left = Signal(self.limit)
        # By the number of fields issued.
        exactly = [~self.issued[0], *(self.issued & ~Cat(self.issued[1:], 0))]
        m.d.comb += [
            allowance.eq(Mux(self.between, _one_more(allowed), allowed)),
            left.eq(select_one(exactly, [allowance >> n for n in range(self.limit + 1)])),
            self.outstanding.eq(Mux(self.between, ~full, self.holds)),
        ]
        # A flit retires one: below the limit there are two or more.
        with m.If(self.taken):
            m.d.sync += [allowed.eq(_one_more(left)), self.holds.eq(~allowance[-1] | self.issued[0])]
        with m.Elif(self.flit):
            m.d.sync += [allowed.eq(allowance), self.holds.eq(~full)]
        return m


def _one_more(bits):
    """One more, up to all of them."""
    return Cat(1, bits)[: len(bits)]
