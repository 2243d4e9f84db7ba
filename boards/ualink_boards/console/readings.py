"""What a board shows: status and counters, by name."""

from dataclasses import dataclass

from .board import Board
from .errors import BadInput
from .names import Field, Register

__all__ = ["Reading", "check_readable", "counters", "dump", "peek", "status"]


@dataclass(frozen=True)
class Reading:
    """A value and how it is shown to a person."""

    path: str
    value: int
    shown: str


def status(board: Board) -> list[Reading]:
    """Every field that the hardware shows, and the events that have happened; no counters."""
    registers = [
        register
        for window in board.table
        for register in window
        if not register.snapshot and (register.has("ro") or register.has("w1c"))
    ]
    readings = []
    for register, word in board.fetch(registers).items():
        for field in register.fields.values():
            if field.access == "ro" or (field.access == "w1c" and field.of(word)):
                readings.append(_reading(register, field, word))
    return readings


def counters(board: Board) -> list[Reading]:
    """Every counter; those of one window are of the same moment."""
    return [
        Reading(f"{window.name}.{name}", value, f"{value:,}")
        for window in board.table
        for name, value in board.snapshot(window).items()
    ]


def check_readable(board: Board, path: str) -> tuple[Register, Field | None]:
    """The register or field at ``path``, which must be one that can be read."""
    register, field = board.table.place(path)
    if not register.readable:
        raise BadInput(f"{register.path} cannot be read")
    return register, field


def peek(board: Board, path: str) -> list[Reading]:
    """A field, or the word of a register and all its fields."""
    register, field = check_readable(board, path)
    word = board.read(register)
    if field is not None:
        return [_reading(register, field, word)]
    fields = [_reading(register, field, word) for field in register.fields.values()]
    return [Reading(register.path, word, f"{word:#010x}"), *fields]


def dump(board: Board) -> list[Reading]:
    """Every register as it is, but for queues, whose reading would take something out of them."""
    registers = [
        register for window in board.table for register in window if register.readable and not register.has("pop")
    ]
    return [Reading(register.path, word, f"{word:#010x}") for register, word in board.fetch(registers).items()]


def _reading(register: Register, field: Field, word: int) -> Reading:
    value = field.of(word)
    return Reading(f"{register.path}.{field.name}", value, field.shown(value))
