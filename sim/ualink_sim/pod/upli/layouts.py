"""What the host hands to an accelerator and takes from it, and what all parts of the model count with."""

from amaranth.hdl import Cat, Value
from amaranth.lib import data

__all__ = [
    "FLAGS",
    "LINES",
    "MOST_LATENCY",
    "OUTCOME",
    "REQUEST",
    "ROOM",
    "ROW",
    "SLOTS",
    "TAGS",
    "TIME_BITS",
    "key_of",
]

TIME_BITS = 32
SLOTS = 4096
"""Requests of an accelerator that the model holds, from their loading until the host has their outcome."""
ROW = 4
"""Requests that are loaded, or outcomes that are read, at once."""
TAGS = 2048
"""The oldest request without a Response and the newest are less than so many apart: ReqTag has 11 bits."""
LINES = 1 << 16
"""Lines of 64 bytes that an accelerator has; an address means the line of its low bits."""
ROOM = 256
"""Beats of a channel that wait at the end of a link, before those behind them wait at its begin."""
MOST_LATENCY = 1792
"""Cycles that a beat is on the way at the most: what is under way stands in a memory of 2048 beats with ``ROOM``."""

REQUEST = data.StructLayout({"line": 51, "dst": 10, "beats": 2, "write": 1, "full": 1, "window": 12, "unused": 3})
"""One request: ``beats`` + 1 lines of accelerator ``dst`` from ``line`` on; WriteFull if ``full``. It is issued while
fewer than ``window`` are outstanding."""

FLAGS = ("route", "beats", "number", "data")
"""What of a Response is wrong: source or destination, its beats, the request that it is for, its data."""

OUTCOME = data.StructLayout(
    {"issued": TIME_BITS, "completed": TIME_BITS, "status": 4, "wrong": len(FLAGS), "asked": 1, "done": 1, "unused": 6}
)
"""What became of one request: it is ``asked`` once it was issued, ``done`` when its Response has come. ``wrong`` has a
bit for each of ``FLAGS``."""


def key_of(number: Value, src: Value) -> Value:
    """32 bits from which follow the data of a Write: that of request ``number``, counted from 1, of ``src``.

    Memory that nobody has written has the data of key 0.
    """
    return Cat(number[:24], src[:8])
