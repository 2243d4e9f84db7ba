"""A board whose design is known: its registers by name."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ualink.csr.design import DESCRIPTION, IDENTIFIER, LAYOUT_VERSION

from .designs import DESIGNS, find_design
from .errors import BadInput, BoardError
from .names import DesignTable, Register, Window

__all__ = ["Board", "Bus", "load_table", "open_board"]

_DESCRIPTION_WORDS = 8
_NAME_AT = 4

_FILE = "name the registers.json beside its bitstream with --registers"


class Bus(Protocol):
    """Words by byte address, as ``SerialBus`` has them."""

    port: str

    def read(self, address: int, count: int = 1) -> list[int]: ...

    def write(self, address: int, value: int) -> None: ...


class Board:
    """Registers of the board behind ``bus``, as ``table`` names them."""

    def __init__(self, bus: Bus, table: DesignTable):
        self.bus = bus
        self.table = table

    def read(self, register: Register) -> int:
        """The word of ``register``."""
        with _named(register):
            return self.bus.read(register.address)[0]

    def fetch(self, registers: Sequence[Register]) -> dict[Register, int]:
        """Words of ``registers``, one burst for each run of them without a gap."""
        words: dict[int, int] = {}
        addresses = sorted(register.address for register in registers)
        while addresses:
            first = addresses[0]
            burst = [first]
            for address in addresses[1:]:
                if address != burst[-1] + 4:
                    break
                burst.append(address)
            words |= zip(burst, self.bus.read(first, len(burst)))
            addresses = addresses[len(burst) :]
        return {register: words[register.address] for register in registers}

    def write(self, register: Register, values: Mapping[str, int]) -> None:
        """Write fields of ``register``; of the others, settings (``rw``) keep their value and the rest is written 0."""
        kept = [field for field in register.fields.values() if field.access == "rw" and field.name not in values]
        now = self.read(register) if kept else 0
        word = sum(field.of(now) << field.low for field in kept)
        word |= sum(value << register.field(name).low for name, value in values.items())
        self.write_word(register, word)

    def write_word(self, register: Register, word: int) -> None:
        """Write all of ``register``."""
        with _named(register):
            self.bus.write(register.address, word)

    def go(self, register: Register, **values: int) -> None:
        """Start what ``register`` starts."""
        self.write(register, {"start": 1, **values})

    def snapshot(self, window: Window) -> dict[str, int]:
        """The counters of ``window``, all of the same moment; a counter of two registers is one number."""
        words: dict[str, int] = {}
        for trigger, registers in window.snapshots.items():
            self.go(window.registers[trigger])
            fetched = self.fetch(registers)
            for register, word in fetched.items():
                for field in register.fields.values():
                    name = register.name if len(register.fields) == 1 else f"{register.name}.{field.name}"
                    words[name] = field.of(word)
        return _joined(words)


@contextmanager
def _named(register: Register) -> Iterator[None]:
    """Say in errors which register it was."""
    try:
        yield
    except BoardError as error:
        raise BoardError(f"{register.path}: {error}") from None


def _joined(words: Mapping[str, int]) -> dict[str, int]:
    """Counters ``x_low`` and ``x_high`` as ``x``."""
    joined: dict[str, int] = {}
    for name, word in words.items():
        stem = name.removesuffix("_low").removesuffix("_high")
        if stem != name and f"{stem}_low" in words and f"{stem}_high" in words:
            joined[stem] = words[f"{stem}_low"] | words[f"{stem}_high"] << 32
        else:
            joined[name] = word
    return joined


def load_table(path: Path) -> dict[str, Any]:
    """What stands in a ``registers.json``."""
    try:
        table = json.loads(path.read_text())
        DesignTable(table)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{path}: it is not the registers.json of a design") from None
    return table


def open_board(bus: Bus, *, registers: Path | None = None, design: str | None = None) -> Board:
    """The board behind ``bus``, after a look at what its description says.

    ``registers`` is the ``registers.json`` of its design; without it the design's name must be known. ``design`` is the
    design that it must be.
    """
    wanted = load_table(registers) if registers is not None else None
    if design is not None and wanted is None:
        find_design(design)
    name, clock_hz, map_hash = _describe(bus)
    if wanted is not None:
        if design is not None and wanted["design"] != design:
            raise BadInput(f"{registers} is of design {wanted['design']}, not {design}")
        if (wanted["design"], wanted["map_hash"]) != (name, map_hash):
            other = " of another build" if wanted["design"] == name else ""
            raise BadInput(f"{bus.port} runs design {name}{other}; {registers} is of design {wanted['design']}")
        return Board(bus, DesignTable(wanted))
    if design is not None and name != design:
        raise BadInput(f"{bus.port} runs design {name}, not {design}")
    if name not in DESIGNS:
        raise BadInput(f"{bus.port} runs design {name}, which this package does not have; {_FILE}")
    for variant in DESIGNS[name].variants(clock_hz):
        if variant.map_hash == map_hash:
            return Board(bus, DesignTable(variant.to_dict()))
    raise BadInput(f"{bus.port} runs design {name} with other registers than this package builds it with; {_FILE}")


def _describe(bus: Bus) -> tuple[str, int, int]:
    """Name, clock in Hz and hash of the maps."""
    words = bus.read(0, _DESCRIPTION_WORDS)
    identifier, layout, map_hash, clock_hz = words[:_NAME_AT]
    if identifier != IDENTIFIER:
        raise BadInput(f"what answers on {bus.port} is no board of this project ({DESCRIPTION} {identifier:#010x})")
    if layout & 0xFF != LAYOUT_VERSION:
        raise BadInput(f"{bus.port}: its description has version {layout & 0xFF}, this tool reads {LAYOUT_VERSION}")
    text = b"".join(word.to_bytes(4, "little") for word in words[_NAME_AT:]).rstrip(b"\0")
    name = text.decode("ascii", "replace")
    return name if name.isprintable() else repr(name), clock_hz, map_hash
