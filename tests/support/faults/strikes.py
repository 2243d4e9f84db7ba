"""Where and how a fault strikes, as data: the bench of ``support.faults.bench`` does it."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.lib.wiring import In, Out

from support.striker import places

__all__ = [
    "ANY",
    "HERE",
    "PORT",
    "PORT_BIT",
    "THERE",
    "TIME_OUT",
    "Act",
    "Forgery",
    "HeaderStrike",
    "Injection",
    "Level",
    "Strike",
    "UPLIStrike",
    "WireStrike",
    "word_of",
]

ANY, PORT, PORT_BIT = "one bit", "the port", "the bit of the port"
"""Values of wires that depend on chance, and on the port that is struck."""

HERE, THERE = "here", "there"
"""The end that receives what is struck, or is told; and its partner."""

PLACES = {"to_completer": places(Out), "to_originator": places(In), "to_tl_originator": places(In)}
"""Wires of UPLI by their receiver: the TL's Completer, the accelerator's Originator, the TL's Originator."""

TIME_OUT = 150
"""Flit times without an Ack until a link goes down here."""

Wires = Mapping[str, int | str]


@dataclass(frozen=True)
class UPLIStrike:
    """Wires of UPLI at ``HERE`` flipped for one cycle, in which wires show ``when``; one of ``flips`` by chance."""

    at: str
    when: Wires
    flips: tuple[Wires, ...]


@dataclass(frozen=True)
class WireStrike:
    """``bits`` bits of a DL flit to ``HERE`` flipped, scattered or in a ``burst``."""

    bits: tuple[int, int]
    burst: bool = False


@dataclass(frozen=True)
class Level:
    """Something holds for some flit slots of the port: "lose", "turn" (into control flits), "deaf" (the direction to
    ``HERE`` is cut) or "cut" (both are)."""

    what: str
    slots: tuple[int, int]


@dataclass(frozen=True)
class Injection:
    """An error injected by register at ``end``."""

    point: int
    end: str = HERE


@dataclass(frozen=True)
class HeaderStrike:
    """Bits of the header of a DL flit to ``HERE`` flipped where it shows ``value`` in ``care``, and its CRC with
    them."""

    care: int
    value: int
    flips: tuple[int, ...]


@dataclass(frozen=True)
class Forgery:
    """A flit of ``support.faults.forgery`` to ``HERE``, while Requests wait for their Responses."""

    name: str


@dataclass(frozen=True)
class Act:
    """What firmware or the accelerator of ``HERE`` does, by name."""

    name: str


Strike = UPLIStrike | WireStrike | HeaderStrike | Forgery | Level | Injection | Act


def word_of(at: str, wires: Wires, port: int, rng: random.Random) -> tuple[int, int]:
    """Which bits of all wires of ``at`` are named by ``wires``, and what those show."""
    care = value = 0
    for path, wanted in wires.items():
        low, width = PLACES[at][path]
        if wanted == ANY:
            bits = shown = 1 << rng.randrange(width)
        elif wanted == PORT_BIT:
            bits = shown = 1 << port
        else:
            bits, shown = (1 << width) - 1, port if wanted == PORT else int(wanted)
        care |= bits << low
        value |= shown << low
    return care, value
