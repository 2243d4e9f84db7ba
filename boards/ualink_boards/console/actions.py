"""What a person does to a board, apart from looking at it."""

from collections.abc import Sequence

from .board import Board
from .errors import BadInput
from .names import Field, Register, Window

__all__ = ["inject", "injection_windows", "poke", "start_traffic", "stop_traffic", "traffic_windows"]

_RUN, _INJECT = "run", "inject"
"""Registers by which a window is known to have a traffic engine, or errors to inject."""


def poke(board: Board, assignments: Sequence[str]) -> None:
    """Write each ``WINDOW.REGISTER[.FIELD]=VALUE`` in order, after all have been checked."""
    checked = [_assignment(board, text) for text in assignments]
    for register, field, value in checked:
        if field is None:
            board.write_word(register, value)
        else:
            board.write(register, {field.name: value})


def _assignment(board: Board, text: str) -> tuple[Register, Field | None, int]:
    path, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"{text!r} is no assignment; it must be NAME=VALUE")
    register, field = board.table.place(path)
    if field is not None:
        if not field.writable:
            raise BadInput(f"{path} cannot be written")
        return register, field, field.parse(value, path)
    if not register.writable:
        raise BadInput(f"{path} cannot be written")
    word = Field("", 0, 32, "rw", {}, None).parse(value, path)
    for part in register.fields.values():
        if part.access == "rw":
            part.parse(str(part.of(word)), f"{path}.{part.name}")
    return register, None, word


def traffic_windows(board: Board, name: str | None = None) -> list[Window]:
    """Windows with a traffic engine; only ``name``, if there is one of that name."""
    return _chosen(board.table.with_register(_RUN, "go"), name, f"design {board.table.name} has no traffic engine")


def start_traffic(board: Board, settings: Sequence[str], window: str | None = None) -> list[str]:
    """Write ``REGISTER.FIELD=VALUE`` to the traffic engines, and start them; give the names of their windows."""
    windows = traffic_windows(board, window)
    checked = [_assignment(board, f"{chosen.name}.{setting}") for chosen in windows for setting in settings]
    for register, field, value in checked:
        board.write(register, {field.name: value}) if field is not None else board.write_word(register, value)
    for chosen in windows:
        board.write(chosen.registers[_RUN], {"start": 1})
    return [chosen.name for chosen in windows]


def stop_traffic(board: Board, window: str | None = None) -> list[str]:
    """Stop the traffic engines; what is outstanding still ends."""
    windows = traffic_windows(board, window)
    for chosen in windows:
        board.write(chosen.registers[_RUN], {"start": 0})
    return [chosen.name for chosen in windows]


def injection_windows(board: Board, name: str | None = None) -> list[Window]:
    """Windows that can inject errors."""
    windows = [window for window in board.table if _INJECT in window.registers]
    return _chosen(windows, name, f"design {board.table.name} has no error injection")


def inject(board: Board, point: str | None, count: int, window: str | None = None) -> list[str]:
    """Inject ``count`` errors, each of the kind ``point`` where there are kinds; give the names of the windows."""
    windows = injection_windows(board, window)
    orders: list[tuple[Register, dict[str, int]]] = []
    for chosen in windows:
        register = chosen.registers[_INJECT]
        (trigger,) = (field.name for field in register.fields.values() if field.access == "go")
        values = {"enable": 1} if "enable" in register.fields else {}
        if "select" in register.fields:
            select = register.fields["select"]
            if point is None or point not in select.values:
                raise BadInput(f"{chosen.name}: name an error to inject: {', '.join(select.values)}")
            values["select"] = select.values[point]
        elif point is not None:
            raise BadInput(f"{chosen.name} injects one kind of error only, which has no name")
        orders.append((register, values | {trigger: 1}))
    for register, values in orders:
        for _ in range(count):
            board.write(register, values)
    return [chosen.name for chosen in windows]


def _chosen(windows: list[Window], name: str | None, none: str) -> list[Window]:
    if not windows:
        raise BadInput(none)
    if name is None:
        return windows
    chosen = [window for window in windows if window.name == name]
    if not chosen:
        raise BadInput(f"window {name!r} cannot do that; these can: {', '.join(window.name for window in windows)}")
    return chosen
