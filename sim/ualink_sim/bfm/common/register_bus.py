"""Registers by name over a register bus in cocotb, as the table says that the device exports as JSON."""

import json
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cocotb.triggers import FallingEdge, Lock, ReadOnly

__all__ = [
    "APBBus",
    "AXI4LiteBus",
    "DesignTable",
    "RegisterBus",
    "RegisterBusTimeout",
    "RegisterError",
    "RegisterField",
    "RegisterTable",
    "RegisterWord",
]


class RegisterError(RuntimeError):
    """The device answered an access with an error."""


class RegisterBusTimeout(TimeoutError):
    """The device did not answer an access at all."""


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


class DesignTable:
    """The windows of a design by name, each with its byte address and its registers.

    Attributes
    ----------
    design, clock_hz, map_hash, layout_version : what the description window must show.
    windows : base and table of each.
    """

    def __init__(self, table: Mapping[str, Any]):
        self.design: str = table["design"]
        self.clock_hz: int = table["clock_hz"]
        self.map_hash: int = table["map_hash"]
        self.layout_version: int = table["layout_version"]
        self.windows: dict[str, tuple[int, RegisterTable]] = {
            window["name"]: (window["base"], RegisterTable(window["registers"])) for window in table["windows"]
        }

    @classmethod
    def load(cls, path: Path) -> Self:
        """The table in the JSON file at ``path``, such as ``ualink_controller_registers.json``."""
        return cls(json.loads(Path(path).read_text()))

    def part(self, prefix: str) -> Self:
        """The windows whose names begin with ``prefix``, without it."""
        part = copy(self)
        part.windows = {
            name.removeprefix(prefix): window for name, window in self.windows.items() if name.startswith(prefix)
        }
        return part

    def __getitem__(self, name: str) -> RegisterTable:
        if name not in self.windows:
            raise KeyError(f"no window is called {name!r}")
        return self.windows[name][1]


def _field(field: Mapping[str, Any]) -> RegisterField:
    high, _, low = field["bits"].partition(":")
    low = int(low or high)
    return RegisterField(low, int(high) - low + 1, field["access"], field["values"])


class RegisterBus:
    """Master of a register bus; accesses of several coroutines take turns.

    Signals are driven on the falling edge of ``clock``. ``find`` gives the handle of a signal of the bus by its name;
    ``base`` is the byte address of the block. RegisterBusTimeout: an access has no answer in ``patience`` cycles.
    """

    driven: tuple[str, ...] = ("address", "read", "write", "write_data")
    """Signals that the master drives, 0 at first."""
    seen: tuple[str, ...] = ("read_data", "done", "error")

    patience = 20_000

    def __init__(self, find: Callable[[str], Any], clock: Any, table: RegisterTable, *, base: int = 0):
        self.table = table
        self.base = base
        self._turn = Lock()
        self._fall = FallingEdge(clock)
        self._signals = {name: find(name) for name in (*self.driven, *self.seen)}
        for name in self.driven:
            self._signals[name].value = 0

    @classmethod
    def from_prefix(cls, dut: Any, prefix: str, clock: Any, table: RegisterTable, *, base: int = 0) -> Self:
        """The bus whose signals are called ``<prefix>__address`` and so on, as this project's Verilog does."""
        return cls(lambda name: getattr(dut, f"{prefix}__{name}"), clock, table, base=base)

    def window(self, base: int, table: RegisterTable | None = None) -> Self:
        """Another block, at ``base``, on the same bus."""
        other = copy(self)
        other.table = table or self.table
        other.base = base
        return other

    async def read_word(self, offset: int) -> int:
        """The word at byte ``offset`` of the block."""
        return await self._access("read", offset, 0)

    async def write_word(self, offset: int, word: int) -> None:
        """Write ``word`` at byte ``offset`` of the block."""
        await self._access("write", offset, word)

    async def _access(self, kind: str, offset: int, word: int) -> int:
        async with self._turn:
            await self._fall
            data, error = await self._transfer(kind == "write", self.base + offset, word)
        if error:
            raise RegisterError(f"{kind} at {self.base + offset:#x} was answered with {error}")
        return data

    async def _transfer(self, write: bool, address: int, word: int) -> tuple[int, str]:
        """One access, begun on a falling edge: the word read, and what the device calls its error, if any."""
        self._drive(address=address // 4, write_data=word, write=write, read=not write)
        await self._fall
        self._drive(write=0, read=0)
        await self._until("done", write, address)
        return self._value("read_data"), "an error" if self._value("error") else ""

    def _drive(self, **values: int) -> None:
        for name, value in values.items():
            self._signals[name].value = int(value)

    def _value(self, name: str) -> int:
        return int(self._signals[name].value)

    async def _until(self, name: str, write: bool, address: int) -> None:
        """Wait for the first falling edge, this one included, on which ``name`` is 1."""
        for _ in range(self.patience):
            if self._value(name):
                return
            await self._fall
        raise RegisterBusTimeout(f"{'write' if write else 'read'} at {address:#x} has no answer: {name} never rose")

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


class AXI4LiteBus(RegisterBus):
    """The same over AXI4-Lite with 32 bits of data, one access at a time; signals are called ``awaddr`` and so on."""

    driven = (
        *("awaddr", "awprot", "awvalid", "wdata", "wstrb", "wvalid", "bready"),
        *("araddr", "arprot", "arvalid", "rready"),
    )
    seen = ("awready", "wready", "bresp", "bvalid", "arready", "rdata", "rresp", "rvalid")
    _RESPONSES = {0: "", 2: "SLVERR", 3: "DECERR"}

    async def _transfer(self, write: bool, address: int, word: int) -> tuple[int, str]:
        if write:
            self._drive(awaddr=address, wdata=word, wstrb=0xF)
            await self._send(("aw", "w"), write, address)
        else:
            self._drive(araddr=address)
            await self._send(("ar",), write, address)
        answer = "b" if write else "r"
        await self._until(f"{answer}valid", write, address)
        response, data = self._value(f"{answer}resp"), 0 if write else self._value("rdata")
        self._drive(**{f"{answer}ready": 1})
        await self._fall
        self._drive(**{f"{answer}ready": 0})
        return data, self._RESPONSES.get(response, f"response {response}")

    async def _send(self, channels: tuple[str, ...], write: bool, address: int) -> None:
        """Offer what is driven on ``channels`` until each has been taken."""
        waits = list(channels)
        self._drive(**{f"{channel}valid": 1 for channel in waits})
        for _ in range(self.patience):
            await ReadOnly()
            taken = [channel for channel in waits if self._value(f"{channel}ready")]
            await self._fall
            self._drive(**{f"{channel}valid": 0 for channel in taken})
            waits = [channel for channel in waits if channel not in taken]
            if not waits:
                return
        raise RegisterBusTimeout(
            f"{'write' if write else 'read'} at {address:#x} is not taken: {' and '.join(f'{n}ready' for n in waits)} "
            "never rose"
        )


class APBBus(RegisterBus):
    """The same over APB4 with 32 bits of data; signals are called ``paddr`` and so on."""

    driven = ("paddr", "pprot", "psel", "penable", "pwrite", "pwdata", "pstrb")
    seen = ("pready", "prdata", "pslverr")

    async def _transfer(self, write: bool, address: int, word: int) -> tuple[int, str]:
        self._drive(paddr=address, pwdata=word, pwrite=write, pstrb=0xF if write else 0, psel=1, penable=0)
        await self._fall
        self._drive(penable=1)
        # What the completer shows in the setup phase is of no meaning: look where penable has settled.
        await ReadOnly()
        await self._ready(write, address)
        data, error = self._value("prdata"), self._value("pslverr")
        await self._fall
        self._drive(psel=0, penable=0)
        return data, "PSLVERR" if error else ""

    async def _ready(self, write: bool, address: int) -> None:
        """Wait for the cycle of the access phase in which the transfer ends."""
        for _ in range(self.patience):
            if self._value("pready"):
                return
            await self._fall
            await ReadOnly()
        raise RegisterBusTimeout(f"{'write' if write else 'read'} at {address:#x} has no answer: pready never rose")
