"""What a block demands of those around it, as assertions in the block itself."""

import re
from collections.abc import Callable
from typing import TypeAlias

from amaranth.hdl import Assert, Elaboratable, Module, ResetSignal, Signal, Value

__all__ = ["HARDWARE", "apart", "contract", "stays_on_offer"]

HARDWARE = "hardware"
"""The platform for which a design is elaborated that is to become Verilog."""


Condition: TypeAlias = Value | Callable[[Module], Value]


class _Contract(Elaboratable):
    def __init__(self, holds: Condition, sentence: str):
        self._holds, self._sentence = holds, sentence

    def elaborate(self, platform):
        m = Module()
        if platform in (None, "formal"):
            holds = self._holds(m) if callable(self._holds) else self._holds
            kept = Assert(holds | ResetSignal(allow_reset_less=True), self._sentence)
            if platform == "formal":
                m.d.comb += kept
            else:
                # At the clock edge: within a cycle, values that have not settled break any contract.
                m.d.sync += kept
        return m


def contract(m: Module, holds: Condition, sentence: str) -> None:
    """Demand that ``holds`` be true in every cycle of "sync" without reset; ``sentence`` says what, in the words of the
    block's docstring, and is unique in it.

    It stands outside of the block's own ``m.If``: a condition is part of ``holds``, as in ``~written | room``. What
    depends on cycles before is a function that makes its registers in the module that it is given, and gives the
    condition; it is called where the assertion is made only.

    Amaranth's simulator looks at each clock edge, and ends the simulation with ``sentence``; in proofs (platform
    "formal", ``tests/support/formal.py``) it is one more assertion. For every other platform, ``HARDWARE`` of
    ``ualink.emit`` and those of boards, nothing is made: the assertion stands in a submodule of its own, which is then
    empty and left out. So generated Verilog, models made of it, and bitstreams are what they are without contracts.
    """
    m.submodules["contract_" + re.sub(r"\W+", "_", sentence).strip("_").lower()] = _Contract(holds, sentence)


def stays_on_offer(offer) -> Callable[[Module], Value]:
    """What the stream ``offer`` has once offered stays, and stays the same, until it is taken: for ``contract``."""

    def holds(m: Module) -> Value:
        payload = Value.cast(offer.p)
        waits, offered = Signal(), Signal.like(payload)
        m.d.sync += [waits.eq(offer.valid & ~offer.ready), offered.eq(payload)]
        return ~waits | (offer.valid & (payload == offered))

    return holds


def apart(event: Value, cycles: int) -> Callable[[Module], Value]:
    """From one cycle with ``event`` to the next there are ``cycles`` or more: for ``contract``."""

    def holds(m: Module) -> Value:
        since = Signal(range(cycles), init=cycles - 1)
        with m.If(event):
            m.d.sync += since.eq(0)
        with m.Elif(since != cycles - 1):
            m.d.sync += since.eq(since + 1)
        return ~event | (since == cycles - 1)

    return holds
