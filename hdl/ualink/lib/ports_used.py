"""How many ports of a station are used, where that is chosen at run time.

It is told as three one-hot bits, ``used``: bit n, 1 << n ports are used, numbered from 0 on. They change while what
looks at them is in reset, and else stand still.
"""

from collections.abc import Iterable, Sequence

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ualink.lib.select import of_now, select_one

__all__ = [
    "FOUR_USED",
    "RESTART_CYCLES",
    "copy_like",
    "copy_of",
    "existing",
    "last_port",
    "of_turn",
    "slot_after",
    "tell_next",
    "turns",
    "used_member",
]

FOUR_USED = 0b100
"""All four ports are used."""

RESTART_CYCLES = 16
"""For so long all that serves the ports is in reset when another number is used. It begins with the second of them, and
copies that are some cycles late agree before the last."""


def used_member(choosable: bool) -> dict[str, wiring.Member]:
    """The member ``used`` of a block of four ports that uses one, two or four of them; none unless ``choosable``."""
    return {"used": In(3, init=FOUR_USED)} if choosable else {}


def existing(used: Value) -> Value:
    """4 bits, bit n: port n is used."""
    return Cat(1, ~used[0], used[2], used[2])


def copy_like(used: Value, name: str = "used_here") -> Signal:
    """A register for a copy of ``used``. No reset reaches it, because it has to follow where all else is in reset;
    ``keep`` tells tools not to make it one with another copy."""
    return Signal.like(used, name=name, reset_less=True, attrs={"keep": 1})


def copy_of(m: Module, used: Value) -> Signal:
    """A register of ``m`` that is ``used`` a cycle later, for a room where much is chosen by it."""
    copy = copy_like(used)
    m.d.sync += copy.eq(used)
    return copy


def last_port(used: Value) -> Value:
    """2 bits: number of the last port that is used; those that a slot may have."""
    return Cat(~used[0], used[2])


def slot_after(slot: Value, ports: int, used: Value | None = None) -> Value:
    """2 bits: the slot that comes after ``slot`` with as many ``ports``, or, of four, with as many as are ``used``."""
    return (slot + 1)[:2] & (ports - 1 if used is None else last_port(used))


def turns(m: Module, slot: Value, ports: int, used: Value | None = None, *, domain: str = "sync") -> Sequence[Value]:
    """Of each port whether ``slot`` is its own, out of registers. ``slot`` counts from 0 on from reset, without pause.

    What is chosen by them is chosen sooner than by a number, which would have to be compared first.
    """
    if ports == 1:
        return [Const(1)]
    turn = Signal(ports, init=1)
    following = slot_after(slot, ports, used)
    m.d[domain] += turn.eq(Cat(following == port for port in range(ports)))
    return list(turn)


def of_turn(turn: Sequence[Value], values: Iterable) -> Value:
    """Bits of that of ``values``, one per port, whose ``turns`` it is. One port costs no multiplexer."""
    values = [Value.cast(value) for value in values]
    return values[0] if len(values) == 1 else select_one(turn, values)


def tell_next(m: Module, member, following: Value, values: Sequence, *, init: int | None = None):
    """Drive ``member`` out of a register, whose reset value is ``init`` or else its own: it is that of ``values``, one
    per port, which the port of the slot had in the cycle before. ``following`` is the slot of the next cycle. There is
    no time to choose in the port's own cycle; one port alone hears as late, so that it does what one of several would.
    Gives what the register's clock domain has to do.
    """
    told = Value.cast(member)
    assert isinstance(told, Signal)
    chosen = Signal.like(told, name=f"told_{told.name}", init=told.init if init is None else init)
    m.d.comb += told.eq(chosen)
    return chosen.eq(of_now(following, values))
