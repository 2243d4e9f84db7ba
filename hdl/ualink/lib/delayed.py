"""A value one cycle later."""

from amaranth.hdl import Module, Signal, Value

__all__ = ["delayed"]


def delayed(m: Module, value, name: str) -> Signal:
    """A register of ``m``, called ``name``, that has ``value`` of the cycle before; it has no reset."""
    register = Signal(Value.cast(value).shape(), name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register
