"""What moves through the switch core: beats that know whether their transfer ends with them."""

from amaranth.hdl import Cat
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.upli.channels import CODED_LAYOUTS

__all__ = [
    "DATA_LAYOUT",
    "KIND_LAYOUT",
    "MAX_BEATS",
    "REQUEST_LAYOUT",
    "SteeredSignature",
    "connect_steered",
    "transfer_layout",
]

MAX_BEATS = 4
"""Beats of the longest transfer: ReqNumBeats and RdRspNumBeats have two bits (UALink_200 Tables 2-2, 2-8)."""


def transfer_layout(channel: str) -> data.StructLayout:
    """A ``beat`` of ``channel``, coded, and ``end``: it is the last of its transfer, as counted by NumBeats alone.

    ``end`` is not RdRspLast or OrigDataLast, which the switch passes on without looking: a read response in Single Beat
    mode is one transfer for each beat (UALink_200 §2.7.8).
    """
    return data.StructLayout({"beat": CODED_LAYOUTS[channel], "end": 1})


KIND_LAYOUT = data.StructLayout({"with_data": 1, "beats": 2})
"""Of a Request: it bears data; the beats of these minus one."""

REQUEST_LAYOUT = data.StructLayout({"item": CODED_LAYOUTS["req"], "kind": KIND_LAYOUT})
"""A Request, coded, and its kind as it was when the code was checked: later the core asks the Request no more."""


DATA_LAYOUT = data.StructLayout({"transfer": transfer_layout("orig_data"), "joins": 1})
"""A beat of Originator Data on its way to its queue, and whether its Request goes there in the same cycle: otherwise
the Request has gone before."""


class SteeredSignature(wiring.Signature):
    """One payload offered to one of ``ways`` queues, seen from the ingress.

    Attributes
    ----------
    payload : ``shape``.
    valid : ``ways`` bit, one-hot or zero: the queue that the payload goes to.
    toward : ``ways`` bit, one-hot or zero, a few gates behind registers: the queue that it would go to. Whether it may
        go at all is known later.
    meant : ``ways`` bit, one-hot: the same while ``valid`` is not zero, from registers of its own.
    soon : ``ways`` bit, one-hot or zero, a few gates behind registers: the queue that an item likely stands in whole in
        the next cycle. Whether there is room is known later.
    ready : ``ways`` bit, from registers of the queues: queue n has room.
    """

    def __init__(self, shape, ways: int):
        super().__init__(
            {
                "payload": Out(shape),
                **{name: Out(ways) for name in ("valid", "toward", "meant", "soon")},
                "ready": In(ways),
            }
        )


def connect_steered(m, steered, ways, part) -> None:
    """Connect ``part``, a ``SteeredSignature`` seen from queues, to those ``ways`` of ``steered`` that lead to them."""
    m.d.comb += part.payload.eq(steered.payload)
    for name in ("valid", "toward", "meant", "soon"):
        m.d.comb += getattr(part, name).eq(Cat(getattr(steered, name)[way] for way in ways))
    m.d.comb += [steered.ready[way].eq(part.ready[n]) for n, way in enumerate(ways)]
