"""The registers of a whole design: its windows by name, and the first of them, which says what the others are."""

import hashlib
import json
from dataclasses import dataclass

from ualink.checks import ConfigError, check_integer
from ualink.csr.table import WORD_BYTES, Access, Field, Register, RegisterMap
from ualink.csr.text import to_dict

__all__ = ["DESCRIPTION", "IDENTIFIER", "LAYOUT_VERSION", "NAME_BYTES", "RegisterDesign"]

DESCRIPTION = "description"
"""Name of the window at address 0."""

IDENTIFIER = int.from_bytes(b"UALB", "little")
LAYOUT_VERSION = 1
"""Of the description window. Its first two registers stay where they are."""

MOST_WINDOWS = (1 << 12) - 1

NAME_WORDS = 4
NAME_BYTES = NAME_WORDS * WORD_BYTES


@dataclass(frozen=True)
class RegisterDesign:
    """Windows of equal size, one after the other from address 0 on, the description first.

    ``name`` is that of the design, at most 16 characters of ASCII. ``clock_hz`` is the clock of the registers.
    ``windows`` gives the name and the register map of each window behind the description, in their order.
    """

    name: str
    clock_hz: int
    windows: tuple[tuple[str, RegisterMap], ...]

    def __post_init__(self):
        if not (self.name and self.name.isascii() and self.name.isprintable() and len(self.name) <= NAME_BYTES):
            raise ConfigError(f"the design is called {self.name!r}; a name has 1 to {NAME_BYTES} characters of ASCII")
        check_integer("clock_hz", self.clock_hz, 1, (1 << 32) - 1)
        names = [DESCRIPTION, *(name for name, _ in self.windows)]
        if len(set(names)) != len(names) or not all(name.isidentifier() and name.islower() for name in names):
            raise ConfigError(f"windows are called {', '.join(names)}; each needs a lower case name of its own")
        if len(names) > MOST_WINDOWS:
            raise ConfigError(f"{len(names):,} windows are more than {MOST_WINDOWS:,}")

    @property
    def address_bits(self) -> int:
        """Width of the addresses of a window, in words."""
        return max(_description(0, 0, 0, 1, "").address_bits, *(table.address_bits for _, table in self.windows), 1)

    @property
    def map_hash(self) -> int:
        """32 bits that differ between two designs whose windows differ in name, place or contents."""
        text = json.dumps([self.address_bits, [[name, to_dict(table)] for name, table in self.windows]])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")

    @property
    def description(self) -> RegisterMap:
        """The map of the window at address 0."""
        return _description(len(self.windows) + 1, self.address_bits, self.map_hash, self.clock_hz, self.name)

    def to_dict(self) -> dict:
        """What a tool needs to know of the design, as plain values; ``base`` is a byte address."""
        tables = [(DESCRIPTION, self.description), *self.windows]
        return {
            "design": self.name,
            "layout_version": LAYOUT_VERSION,
            "clock_hz": self.clock_hz,
            "map_hash": self.map_hash,
            "windows": [
                {"name": name, "base": number * (WORD_BYTES << self.address_bits), "registers": to_dict(table)}
                for number, (name, table) in enumerate(tables)
            ],
        }

    def to_json(self) -> str:
        """``to_dict`` as text: what stands in ``registers.json`` beside a bitstream."""
        return json.dumps(self.to_dict(), indent=1) + "\n"


def _description(windows: int, address_bits: int, map_hash: int, clock_hz: int, name: str) -> RegisterMap:
    text = name.encode().ljust(NAME_BYTES, b"\0")
    words = [int.from_bytes(text[n : n + WORD_BYTES], "little") for n in range(0, NAME_BYTES, WORD_BYTES)]

    def constant(register: str, offset: int, value: int, doc: str) -> Register:
        return Register(register, offset, (Field("value", "31:0", Access.CONSTANT, value),), doc)

    return RegisterMap(
        DESCRIPTION,
        (
            constant("identifier", 0x00, IDENTIFIER, "55 41 4C 42, the letters UALB: registers of this project."),
            Register(
                "layout",
                0x04,
                (
                    Field("version", "7:0", Access.CONSTANT, LAYOUT_VERSION, "Version of this window."),
                    Field("windows", "15:8", Access.CONSTANT, windows & 0xFF, "Windows, this one included."),
                    Field("address_bits", "20:16", Access.CONSTANT, address_bits, "Each has 2 to this power words."),
                    Field("windows_high", "24:21", Access.CONSTANT, windows >> 8, "Their number divided by 256."),
                ),
                "Where the windows are.",
            ),
            constant("map_hash", 0x08, map_hash, "Says which maps the windows have."),
            constant("clock", 0x0C, clock_hz, "Clock of the registers in Hz."),
            *(
                constant(
                    f"name_{number}", 0x10 + WORD_BYTES * number, word, "Name of the design, ASCII, padded with 0."
                )
                for number, word in enumerate(words)
            ),
            Register(
                "serial_line",
                0x20,
                (Field("dropped", "15:0", Access.RO, 0, "Requests that the board dropped; wraps around."),),
                "Quality of the line.",
            ),
        ),
        "What the design is. All but serial_line is fixed when the hardware is built.",
    )
