"""What passes between the parts of a TL receiver that hold data, by class: Requests and Read Responses."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.tl.internal import RELEASE_LAYOUT

from .check import SPENT_LAYOUT
from .data_buffer import BEAT_LAYOUT, HALF_BEAT_LAYOUT

__all__ = [
    "BYTE_ENABLES_LAYOUT",
    "KINDS",
    "OF_BOTH_LAYOUT",
    "AccountSignature",
    "BeatsSignature",
    "ClassDataSignature",
    "HalvesSignature",
    "of_both",
]

KINDS = ("request", "response")
"""The data classes, by the kind of field that has them."""

BYTE_ENABLES_LAYOUT = data.StructLayout({"enables": 256, "code": 4})
"""A byte-enable half-flit; bit n of ``code`` is even parity over bits 64n+63..64n, which are those of one beat."""

OF_BOTH_LAYOUT = data.StructLayout(dict.fromkeys(KINDS, 1))
"""A bit of each class."""


def of_both(signature: wiring.Signature) -> wiring.Signature:
    """``signature`` for each class: members ``request`` and ``response``."""
    return wiring.Signature({kind: Out(signature) for kind in KINDS})


class HalvesSignature(wiring.Signature):
    """Halves of the beats of a class on their way into its buffers.

    Attributes
    ----------
    low, high : streams of ``HALF_BEAT_LAYOUT``, each in beat order.
    done : 1 bit, pulse: all halves of a transfer are written in this cycle or before.
    """

    def __init__(self):
        half = stream.Signature(HALF_BEAT_LAYOUT)
        super().__init__({"low": Out(half), "high": Out(half), "done": Out(1)})


class BeatsSignature(wiring.Signature):
    """The beats of a class out of its buffers.

    Attributes
    ----------
    beat : stream of ``BEAT_LAYOUT``: the oldest.
    complete : 1 bit, pulse: all beats of one more transfer are offered from the next cycle on.
    half_poisoned : 1 bit, level: the beat that is offered had only one poisoned half.
    """

    def __init__(self):
        super().__init__({"beat": Out(stream.Signature(BEAT_LAYOUT)), "complete": Out(1), "half_poisoned": Out(1)})


class AccountSignature(wiring.Signature):
    """The data credits of a class, seen from who spends them.

    Attributes
    ----------
    spent : ``SPENT_LAYOUT``: a field received.
    release : ``RELEASE_LAYOUT``: buffers freed.
    underflow : 1 bit, combinational: ``spent`` takes more than its bucket has.
    """

    def __init__(self):
        super().__init__({"spent": Out(SPENT_LAYOUT), "release": Out(RELEASE_LAYOUT), "underflow": In(1)})


class ClassDataSignature(wiring.Signature):
    """Data and data credits of a class, seen from who keeps them.

    Attributes
    ----------
    beat, complete : as of ``BeatsSignature``.
    spent, release, underflow : as of ``AccountSignature``.
    busy : 1 bit, level: a transfer has begun, which needs its data whatever becomes of the link.
    """

    def __init__(self):
        super().__init__(
            {
                "beat": Out(stream.Signature(BEAT_LAYOUT)),
                "complete": Out(1),
                "spent": In(SPENT_LAYOUT),
                "release": In(RELEASE_LAYOUT),
                "underflow": Out(1),
                "busy": In(1),
            }
        )
