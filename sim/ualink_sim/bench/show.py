"""Rows as a table on the terminal and in a Markdown page."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .rows import Row

__all__ = ["number", "show_rows", "update_page"]


def number(value: float | None) -> str:
    """As people write it: whole numbers whole, others with as many digits as say something."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 10_000 else f"{value:.5g}"


def show_rows(rows: Sequence[Row]) -> None:
    """Print a table; below it what is to be said of rows without a value."""
    console = Console(highlight=False)
    table = Table()
    table.add_column("name", no_wrap=True)
    for heading in ("value", "limit"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("peer")
    for row in rows:
        table.add_row(row.name, number(row.value), number(row.limit), row.unit, row.peer or "")
    console.print(table)
    for row in rows:
        if row.value is None:
            console.print(f"{row.name}: {row.how}", soft_wrap=True, markup=False)


def update_page(page: Path, rows: Sequence[Row]) -> None:
    """Put ``rows`` into the table lines of a Markdown page that begin with their names; the rest of the page stays.

    A row without a value leaves its line alone. Names that the page does not have go to its end.
    """
    lines = page.read_text().splitlines()
    for row in rows:
        if row.value is None:
            continue
        start = f"| `{row.name}` |"
        cells = (number(row.value), number(row.limit), row.unit, row.peer or "", row.how)
        line = f"{start} {' | '.join(cells)} |"
        places = [index for index, text in enumerate(lines) if text.startswith(start)]
        for index in places:
            lines[index] = line
        if not places:
            lines.append(line)
    page.write_text("\n".join(lines) + "\n")
