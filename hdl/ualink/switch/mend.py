"""What becomes of beats whose code was found wrong in the switch core (UALink_200 §3.1.2)."""

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data

from ualink.upli.channels import CHANNEL_LAYOUTS, CODE_LAYOUTS
from ualink.upli.code import beat_code, code_of, control_names
from ualink.upli.sender import POISON

__all__ = ["DROPPING_LAYOUT", "UPSETS_LAYOUT", "UPSET_LAYOUT", "Successor", "mended"]

UPSET_LAYOUT = data.StructLayout({"control": 1, "data": 1})
"""A beat leaves in this cycle of which the core's code has shown a Switch Core Control Error; a Data Error."""

UPSETS_LAYOUT = data.StructLayout({"ingress": UPSET_LAYOUT, "egress": UPSET_LAYOUT})
"""Upsets at a port, by the agent of the core that they concern: its Completer, "ingress", or Originator, "egress"."""

DROPPING_LAYOUT = data.StructLayout({"ingress": 1, "egress": 1})
"""Which of the two agents of the core at a port is in Drop Mode."""


class Successor(NamedTuple):
    """What is known of a beat by those before it in its transfer, to be told with ``fill``.

    ``kept`` : a view, the fields that they had; ``last`` : 1 bit, none comes behind it.
    """

    fill: Value
    kept: data.View
    last: Value


def mended(m, channel: str, beat, poison, successor: Successor) -> Value:
    """``beat``, coded, of a data channel, as it may be sent.

    With ``poison`` it is marked as poisoned. With ``fill`` of ``successor`` it is a poisoned beat that comes next
    behind one with the ``kept`` fields; only what these do not have is that of ``beat``. Both go with the code that
    belongs to them, but for data: poisoned ones are sent as zeros.
    """
    fill, kept, last = successor
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
    known = {name: kept[name] for name in kept.shape().members}
    known |= {"offset": (kept.offset + 1)[: len(kept.offset)], "last": last, mark: Const(1, 1)}
    with m.If(fill):
        m.d.comb += [told[name].eq(value) for name, value in known.items()]
        # What a memory gives comes late: its code is made apart from that of what registers know.
        late = [code_of(beat[name]) for name in control_names(channel) if name not in known]
        m.d.comb += code.control.eq(code_of(code_of(*known.values()), *late))
    return Cat(told, code)
