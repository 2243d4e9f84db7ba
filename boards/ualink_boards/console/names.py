"""Registers of a design by name: ``window.register.field``."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from .errors import BadInput

__all__ = ["DesignTable", "Field", "Register", "Window"]

_WRITABLE = ("rw", "w1c", "go", "push")


@dataclass(frozen=True, eq=False)
class Field:
    """Place and kind of a field; ``values`` names some of its values, ``allowed`` says which may be written."""

    name: str
    low: int
    width: int
    access: str
    values: Mapping[str, int]
    allowed: Mapping[str, int] | tuple[int, ...] | None

    def of(self, word: int) -> int:
        """The field of ``word``."""
        return word >> self.low & (1 << self.width) - 1

    def shown(self, value: int) -> str:
        """``value`` for a person: its name, if it has one."""
        return next((name for name, code in self.values.items() if code == value), str(value))

    @property
    def writable(self) -> bool:
        """A write can do something."""
        return self.access in _WRITABLE

    def parse(self, text: str, where: str) -> int:
        """The value that ``text`` names, checked."""
        value = self.values[text] if text in self.values else _number(text)
        if value is None:
            names = f", or one of {', '.join(self.values)}" if self.values else ""
            raise BadInput(f"{where}: {text!r} is no value; it must be a number such as 12 or 0x0c{names}")
        if not 0 <= value < 1 << self.width:
            raise BadInput(f"{where}: {text} does not fit; the field has {self.width} bits")
        if isinstance(self.allowed, Mapping):
            if not self.allowed["least"] <= value <= self.allowed["most"]:
                raise BadInput(f"{where}: {text} is refused; from {self.allowed['least']} to {self.allowed['most']}")
        elif self.allowed is not None and value not in self.allowed:
            raise BadInput(f"{where}: {text} is refused; one of {', '.join(map(str, self.allowed))}")
        return value


@dataclass(frozen=True, eq=False)
class Register:
    """A register at byte ``address`` of the board; ``snapshot`` is the register that takes its snapshots, if any."""

    name: str
    window: str
    address: int
    fields: Mapping[str, Field]
    snapshot: str | None

    @property
    def path(self) -> str:
        """``window.register``."""
        return f"{self.window}.{self.name}"

    def field(self, name: str) -> Field:
        """The field called ``name``."""
        if name not in self.fields:
            raise BadInput(f"{self.path} has no field {name!r}; it has {', '.join(self.fields)}")
        return self.fields[name]

    def has(self, access: str) -> bool:
        """Is there a field with this access?"""
        return any(field.access == access for field in self.fields.values())

    @property
    def readable(self) -> bool:
        """Reading is no error."""
        return not self.has("push")

    @property
    def writable(self) -> bool:
        """Writing can do something."""
        return any(field.writable for field in self.fields.values())


@dataclass(frozen=True, eq=False)
class Window:
    """The registers of a block, by name, in the order of their addresses; ``map`` is the name of their table."""

    name: str
    map: str
    registers: Mapping[str, Register]

    def __iter__(self) -> Iterator[Register]:
        return iter(self.registers.values())

    @property
    def snapshots(self) -> dict[str, list[Register]]:
        """Registers by the one that takes their snapshots."""
        found: dict[str, list[Register]] = {}
        for register in self:
            if register.snapshot:
                found.setdefault(register.snapshot, []).append(register)
        return found


class DesignTable:
    """The windows of a design, as ``ualink.csr.design.RegisterDesign.to_dict`` gives them."""

    def __init__(self, table: Mapping[str, Any]):
        self.name: str = table["design"]
        self.map_hash: int = table["map_hash"]
        self.clock_hz: int = table["clock_hz"]
        self.windows = {window["name"]: _window(window) for window in table["windows"]}

    def __iter__(self) -> Iterator[Window]:
        return iter(self.windows.values())

    def register(self, path: str) -> Register:
        """``window.register``."""
        window, _, name = path.partition(".")
        if window not in self.windows:
            raise BadInput(f"{path}: design {self.name} has no window {window!r}; it has {', '.join(self.windows)}")
        registers = self.windows[window].registers
        if name not in registers:
            raise BadInput(f"{path}: {window} has no register {name!r}{_hint(name, registers)}")
        return registers[name]

    def place(self, path: str) -> tuple[Register, Field | None]:
        """``window.register`` or ``window.register.field``."""
        parts = path.split(".")
        if len(parts) not in (2, 3):
            raise BadInput(f"{path!r} is no name; it must be WINDOW.REGISTER or WINDOW.REGISTER.FIELD")
        register = self.register(".".join(parts[:2]))
        return register, register.field(parts[2]) if len(parts) == 3 else None

    def with_register(self, name: str, access: str, field: str = "start") -> list[Window]:
        """Windows with a register ``name`` whose ``field`` has this access."""
        return [
            window
            for window in self
            if name in window.registers
            and field in window.registers[name].fields
            and window.registers[name].fields[field].access == access
        ]


def _hint(name: str, registers: Iterable[str]) -> str:
    near = get_close_matches(name, list(registers), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _window(window: Mapping[str, Any]) -> Window:
    table = window["registers"]
    registers = [
        Register(
            register["name"],
            window["name"],
            window["base"] + register["offset"],
            {field["name"]: _field(field) for field in register["fields"]},
            register["snapshot"],
        )
        for register in sorted(table["registers"], key=lambda register: register["offset"])
    ]
    return Window(window["name"], table["name"], {register.name: register for register in registers})


def _field(field: Mapping[str, Any]) -> Field:
    high, _, low = field["bits"].partition(":")
    low = int(low or high)
    allowed = field["allowed"]
    return Field(
        field["name"],
        low,
        int(high) - low + 1,
        field["access"],
        field["values"],
        tuple(allowed) if isinstance(allowed, list) else allowed,
    )


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None
