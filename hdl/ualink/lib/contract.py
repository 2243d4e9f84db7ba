"""What a block demands of those around it, as assertions in the block itself."""

import re

from amaranth.hdl import Assert, Elaboratable, Module, ResetSignal, Value

__all__ = ["HARDWARE", "contract"]

HARDWARE = "hardware"
"""The platform for which a design is elaborated that is to become Verilog."""


class _Contract(Elaboratable):
    def __init__(self, holds: Value, sentence: str, domain: str):
        self._holds, self._sentence, self._domain = holds, sentence, domain

    def elaborate(self, platform):
        m = Module()
        kept = Assert(self._holds | ResetSignal(self._domain, allow_reset_less=True), self._sentence)
        if platform is None:
            # At the clock edge: within a cycle, values that have not settled break any contract.
            m.d[self._domain] += kept
        elif platform == "formal":
            m.d.comb += kept
        return m


def contract(m: Module, holds: Value, sentence: str, *, domain: str = "sync") -> None:
    """Demand that ``holds`` be true in every cycle of ``domain`` without reset; ``sentence`` says what, in the words of
    the block's docstring.

    It stands outside of the block's own ``m.If``: a condition is part of ``holds``, as in ``~written | room``.

    Amaranth's simulator looks at each clock edge, and ends the simulation with ``sentence``; in proofs (platform
    "formal", ``tests/support/formal.py``) it is one more assertion. For every other platform, ``HARDWARE`` of
    ``ualink.emit`` and those of boards, nothing is made: the assertion stands in a submodule of its own, which is then
    empty and left out. So generated Verilog, models made of it, and bitstreams are what they are without contracts.
    """
    m.submodules["contract_" + re.sub(r"\W+", "_", sentence).strip("_").lower()] = _Contract(holds, sentence, domain)
