"""Registers by name over a register bus in cocotb, as the table says that the device exports as JSON."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cocotb.triggers import FallingEdge, Lock

__all__ = ["RegisterBus", "RegisterError", "RegisterField", "RegisterTable", "RegisterWord"]


class RegisterError(RuntimeError):
    """The device answered an access with an error."""


@dataclass(frozen=True)
class RegisterField:
    """Place and kind of a field; ``values`` names some of its values."""

    low: int
    width: int
    access: str
    values: Mapping[str, int]

    def value(self, word: int) -> int:
        """The field of ``word``."""
        return word >> self.low & (1 << self.width) - 1


@dataclass(frozen=True)
class RegisterWord:
    """A register: its byte offset, its fields by name, and the register that takes its snapshots, if any."""

    offset: int
    fields: Mapping[str, RegisterField]
    snapshot: str | None


class RegisterTable:
    """The registers of a block by name."""

    def __init__(self, table: Mapping[str, Any]):
        self.size: int = table["size"]
        self.registers = {
            register["name"]: RegisterWord(
                offset=register["offset"],
                fields={field["name"]: _field(field) for field in register["fields"]},
                snapshot=register["snapshot"],
            )
            for register in table["registers"]
        }

    @classmethod
    def load(cls, path: Path) -> Self:
        """The table in the JSON file at ``path``."""
        return cls(json.loads(Path(path).read_text()))

    def __getitem__(self, name: str) -> RegisterWord:
        if name not in self.registers:
            raise KeyError(f"no register is called {name!r}")
        return self.registers[name]

    def field(self, register: str, name: str) -> RegisterField:
        """A field of ``register``."""
        fields = self[register].fields
        if name not in fields:
            raise KeyError(f"register {register} has no field {name!r}; it has {', '.join(fields)}")
        return fields[name]


def _field(field: Mapping[str, Any]) -> RegisterField:
    high, _, low = field["bits"].partition(":")
    low = int(low or high)
    return RegisterField(low, int(high) - low + 1, field["access"], field["values"])


class RegisterBus:
    """Master of a register bus; accesses of several coroutines take turns.

    Signals are driven on the falling edge of ``clock``. ``find`` gives the handle of a signal of the bus by its name;
    ``base`` is the byte address of the block.
    """

    def __init__(self, find: Callable[[str], Any], clock: Any, table: RegisterTable, *, base: int = 0):
        self.table = table
        self.base = base
        self._turn = Lock()
        self._fall = FallingEdge(clock)
        names = ("address", "read", "write", "write_data", "read_data", "done", "error")
        self._signals = {name: find(name) for name in names}
        for name in names[:4]:
            self._signals[name].value = 0

    @classmethod
    def from_prefix(cls, dut: Any, prefix: str, clock: Any, table: RegisterTable, *, base: int = 0) -> Self:
        """The bus whose signals are called ``<prefix>__address`` and so on, as this project's Verilog does."""
        return cls(lambda name: getattr(dut, f"{prefix}__{name}"), clock, table, base=base)

    def window(self, base: int, table: RegisterTable | None = None) -> "RegisterBus":
        """Another block, at ``base``, on the same bus."""
        other: RegisterBus = object.__new__(RegisterBus)
        other.table = table or self.table
        other.base = base
        other._turn, other._fall, other._signals = self._turn, self._fall, self._signals
        return other

    async def read_word(self, offset: int) -> int:
        """The word at byte ``offset`` of the block."""
        return await self._access("read", offset, 0)

    async def write_word(self, offset: int, word: int) -> None:
        """Write ``word`` at byte ``offset`` of the block."""
        await self._access("write", offset, word)

    async def _access(self, kind: str, offset: int, word: int) -> int:
        signals = self._signals
        async with self._turn:
            await self._fall
            signals["address"].value = (self.base + offset) // 4
            signals["write_data"].value = word
            signals[kind].value = 1
            await self._fall
            signals[kind].value = 0
            while not int(signals["done"].value):
                await self._fall
            if int(signals["error"].value):
                raise RegisterError(f"{kind} at {self.base + offset:#x} was answered with an error")
            return int(signals["read_data"].value)

    async def read(self, register: str, field: str | None = None) -> int:
        """A field of ``register``, or the whole word."""
        place = None if field is None else self.table.field(register, field)
        word = await self.read_word(self.table[register].offset)
        return word if place is None else place.value(word)

    async def read_fields(self, register: str) -> dict[str, int]:
        """Every field of ``register``, of one read."""
        word = await self.read(register)
        return {name: field.value(word) for name, field in self.table[register].fields.items()}

    async def write(self, register: str, **values: int) -> None:
        """Write fields of ``register``; of the others, settings (``rw``) keep their value and the rest is written 0."""
        fields = {name: self.table.field(register, name) for name in values}
        kept = {
            name: field
            for name, field in self.table[register].fields.items()
            if field.access == "rw" and name not in values
        }
        word = 0
        if kept:
            now = await self.read(register)
            word = sum(field.value(now) << field.low for field in kept.values())
        for name, value in values.items():
            if not 0 <= value < 1 << fields[name].width:
                raise ValueError(f"{register}.{name} has {fields[name].width} bits, {value} does not fit")
            word |= value << fields[name].low
        await self.write_word(self.table[register].offset, word)
