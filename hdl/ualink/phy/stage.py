"""Steps of the physical layer in the core's clock: behind a register, or without."""

from amaranth.hdl import Const, Module, Signal, Value

from ualink.phy.blocks import BLOCKS_PER_BEAT

__all__ = ["has_register", "pass_on"]


def has_register(blocks_per_word: int) -> bool:
    """Whether steps that may do without a register have one. With fewer than eight blocks a cycle they have none: lanes
    are slow then and so is the core's clock, and registers would be most of what the steps take."""
    return blocks_per_word == BLOCKS_PER_BEAT


def pass_on(m: Module, blocks_per_word: int, source, sink) -> tuple:
    """Let stream ``source`` give its beats to stream ``sink``, and to the register of ``sink.p`` if there is one.

    Gives the domain in which ``sink.p`` is assigned to, the condition for that, and whether a beat is taken.
    """
    step = Signal(name="step")
    m.d.comb += step.eq(source.ready & source.valid)
    if not has_register(blocks_per_word):
        m.d.comb += [source.ready.eq(sink.ready), sink.valid.eq(source.valid)]
        return m.d.comb, Const(1), step
    m.d.comb += source.ready.eq(~sink.valid | sink.ready)
    with m.If(source.ready):
        m.d.sync += sink.valid.eq(source.valid)
    loads: Value = step
    return m.d.sync, loads, step
