"""Every bit that a design remembers, to be flipped in simulation."""

import random
from dataclasses import dataclass

from amaranth.hdl import Fragment, Signal, Value
from amaranth.hdl._mem import MemoryData, MemoryInstance

from ualink.lib.contract import HARDWARE

__all__ = ["Memory", "Place", "Register", "Strike", "collect", "flip", "name_of"]


@dataclass
class Register:
    """A register, by the names of the submodules above it and its own."""

    path: tuple[str, ...]
    signal: Signal

    @property
    def bits(self) -> int:
        return len(self.signal)


@dataclass
class Memory:
    """A memory; what is flipped is a bit of one of its rows."""

    path: tuple[str, ...]
    rows: MemoryData

    @property
    def depth(self) -> int:
        return self.rows.depth

    @property
    def bits(self) -> int:
        return len(Value.cast(self.rows[0]))


Place = Register | Memory


def name_of(place: Place) -> str:
    return ".".join(place.path)


@dataclass
class Strike:
    """One bit that flips, of a place or of a row of a memory, in a cycle of a run."""

    place: Place
    row: int | None
    bit: int
    cycle: int

    def __str__(self):
        return f"{name_of(self.place)}[{self.row}] bit {self.bit} in cycle {self.cycle}"

    def flip(self, ctx) -> None:
        target = self.place.signal if self.row is None else Value.cast(self.place.rows[self.row])
        ctx.set(target, ctx.get(target) ^ 1 << self.bit)


def collect(design) -> tuple[Fragment, list[Register], list[Memory]]:
    """``design`` elaborated, to be simulated, with all registers and memories in it but those registers of which gates
    drive some bits: the simulator does not let these be set."""
    registers: list[Register] = []
    memories: list[Memory] = []

    def walk(fragment: Fragment, path: tuple[str, ...]):
        if isinstance(fragment, MemoryInstance):
            memories.append(Memory(path, fragment._data))
        found = {}
        gates = {id(signal) for statement in fragment.statements.get("comb", ()) for signal in statement._lhs_signals()}
        for domain, statements in fragment.statements.items():
            if domain != "comb":
                for statement in statements:
                    found.update((id(signal), signal) for signal in statement._lhs_signals())
        registers.extend(Register((*path, signal.name), signal) for name, signal in found.items() if name not in gates)
        for child, name, _ in fragment.subfragments:
            walk(child, (*path, str(name)))

    # What is upset may break a contract.
    elaborated = Fragment.get(design, HARDWARE)
    walk(elaborated, ())
    return elaborated, registers, memories


def flip(ctx, rng: random.Random, place: Place, row: int | None = None, bits: int | None = None) -> str:
    """Flip a random bit of ``place``, or of its lowest ``bits``, of row ``row`` or any of a memory; says which."""
    bit = rng.randrange(place.bits if bits is None else bits)
    if isinstance(place, Memory):
        row = rng.randrange(place.depth) if row is None else row
        target, where = Value.cast(place.rows[row]), f"[{row}]"
    else:
        target, where = place.signal, ""
    ctx.set(target, ctx.get(target) ^ (1 << bit))
    return f"{'.'.join(place.path)}{where} bit {bit}"
