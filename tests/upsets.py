"""Every bit that a design remembers, to be flipped in simulation."""

import random
from dataclasses import dataclass

from amaranth.hdl import Fragment, Signal, Value
from amaranth.hdl._ir import Fragment as _Fragment
from amaranth.hdl._mem import MemoryInstance

__all__ = ["Register", "Row", "collect", "flip"]


@dataclass
class Register:
    """A register, by the names of the submodules above it and its own."""

    path: tuple[str, ...]
    signal: Signal

    @property
    def bits(self) -> int:
        return len(self.signal)


@dataclass
class Row:
    """A memory; what is flipped is a bit of one of its rows."""

    path: tuple[str, ...]
    memory: object
    depth: int
    bits: int


def collect(design) -> tuple[Fragment, list[Register], list[Row]]:
    """``design`` elaborated, to be simulated, with all registers and memories in it."""
    fragment = Fragment.get(design, None)
    registers: list[Register] = []
    memories: list[Row] = []

    def walk(fragment: _Fragment, path: tuple[str, ...]):
        if isinstance(fragment, MemoryInstance):
            data = fragment._data
            memories.append(Row(path, data, data.depth, Value.cast(data[0]).shape().width))
        found = {}
        for domain, statements in fragment.statements.items():
            if domain != "comb":
                for statement in statements:
                    found.update((id(signal), signal) for signal in statement._lhs_signals())
        registers.extend(Register((*path, signal.name), signal) for signal in found.values())
        for child, name, _ in fragment.subfragments:
            walk(child, (*path, str(name)))

    walk(fragment, ())
    return fragment, registers, memories


def flip(ctx, rng: random.Random, place: Register | Row, row: int | None = None) -> str:
    """Flip a random bit of ``place``, of row ``row`` or any of a memory; says which."""
    bit = rng.randrange(place.bits)
    if isinstance(place, Row):
        row = rng.randrange(place.depth) if row is None else row
        target, where = Value.cast(place.memory[row]), f"[{row}]"
    else:
        target, where = place.signal, ""
    ctx.set(target, ctx.get(target) ^ (1 << bit))
    return f"{'.'.join(place.path)}{where} bit {bit}"
