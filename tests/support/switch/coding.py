"""Streams of beats with a code joined to streams without."""

from amaranth.hdl import Value

from ualink.upli.channels import CHANNEL_LAYOUTS
from ualink.upli.code import beat_code

__all__ = ["with_code", "without_code"]


def with_code(m, channel, came, leaves) -> None:
    """``came`` to ``leaves``, whose beats have a code."""
    m.d.comb += [leaves.valid.eq(came.valid), came.ready.eq(leaves.ready)]
    m.d.comb += [leaves.p[name].eq(came.p[name]) for name, _ in CHANNEL_LAYOUTS[channel]]
    m.d.comb += [leaves.p.code[name].eq(value) for name, value in beat_code(channel, came.p).items()]


def without_code(m, came, leaves) -> None:
    """``came``, whose beats have a code behind their fields, to ``leaves``."""
    m.d.comb += [leaves.valid.eq(came.valid), came.ready.eq(leaves.ready), Value.cast(leaves.p).eq(came.p)]
