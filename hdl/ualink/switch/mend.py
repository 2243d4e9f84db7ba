"""What becomes of beats whose code was found wrong in the switch core (UALink_200 §3.1.2)."""

from amaranth.hdl import Cat, Mux, Signal, Value
from amaranth.lib import data

from ualink.upli.channels import CHANNEL_LAYOUTS, CODE_LAYOUTS
from ualink.upli.code import beat_code, code_of, control_bits
from ualink.upli.sender import POISON

__all__ = ["DROPPING_LAYOUT", "UPSETS_LAYOUT", "UPSET_LAYOUT", "mended"]

UPSET_LAYOUT = data.StructLayout({"control": 1, "data": 1})
"""A beat leaves in this cycle of which the core's code has shown a Switch Core Control Error; a Data Error."""

UPSETS_LAYOUT = data.StructLayout({"ingress": UPSET_LAYOUT, "egress": UPSET_LAYOUT})
"""Upsets at a port, by the agent of the core that they concern: its Completer, "ingress", or Originator, "egress"."""

DROPPING_LAYOUT = data.StructLayout({"ingress": 1, "egress": 1})
"""Which of the two agents of the core at a port is in Drop Mode."""


def mended(m, channel: str, beat, *, poison, fill, kept, last) -> Value:
    """``beat``, coded, of a data channel, as it may be sent.

    With ``poison`` it is marked as poisoned. With ``fill`` it is a poisoned beat that comes next behind one whose
    fields are ``kept``, and ``last`` of the transfer or not; only what ``kept`` does not have is that of ``beat``. Both
    go with the code that belongs to them, but for data: poisoned ones are sent as zeros.
    """
    mark = POISON[channel]
    told = Signal(CHANNEL_LAYOUTS[channel], name="told")
    code = Signal(CODE_LAYOUTS[channel], name="told_code")
    marked = Signal()
    m.d.comb += marked.eq(beat[mark] | poison)
    for name, _ in CHANNEL_LAYOUTS[channel]:
        m.d.comb += told[name].eq(beat[name])
    m.d.comb += [
        code.eq(beat.code),
        told[mark].eq(marked),
        code.control.eq(beat.code.control ^ (poison & ~beat[mark])),
    ]
    if "byte_en" in told.shape().members:
        m.d.comb += code.byte_en.eq(Mux(poison | fill, beat_code(channel, beat)["byte_en"], beat.code.byte_en))
    with m.If(fill):
        for name in kept.shape().members:
            m.d.comb += told[name].eq(kept[name])
        m.d.comb += [
            told.offset.eq(kept.offset + 1),
            told.last.eq(last),
            told[mark].eq(1),
            code.control.eq(code_of(*control_bits(channel, told))),
        ]
    return Cat(told, code)
