"""What ``ualink build`` prints."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from .boards import BOARDS, find_board
from .designs import DESIGNS
from .report import Report

__all__ = ["list_boards", "progress_of", "show_report"]


def list_boards() -> None:
    """Print boards and designs."""
    table = Table("board", "what it is", "lanes", "Gb/s a lane", box=None)
    for name in BOARDS:
        board = find_board(name)
        table.add_row(board.name, board.title, str(board.lanes), f"{board.line_rate / 1e9:g}")
    console = Console()
    console.print(table)
    console.print(f"designs: {', '.join(sorted(DESIGNS))}")


@contextmanager
def progress_of(*, silent: bool) -> Iterator[Callable[[str], None]]:
    """A function that shows the step under way on standard error, with the time that it takes."""
    if silent:
        yield lambda step: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        tasks: list = []

        def begin(step: str) -> None:
            for task in tasks:
                progress.update(task, total=1, completed=1)
            tasks.append(progress.add_task(step, total=None))

        yield begin
        for task in tasks:
            progress.update(task, total=1, completed=1)


def show_report(report: Report, folder: Path) -> None:
    """Print utilisation, clocks and where the results are."""
    console = Console()
    console.print(
        f"{report.design} on {report.board} ({report.device}): "
        f"{report.lanes} x {report.line_rate / 1e9:g} Gb/s, seed {report.seed}"
    )
    if report.utilisation:
        cells = Table("cells", "used", "of", "", box=None)
        for name, (used, available) in report.utilisation.items():
            share = f"{100 * used / available:.0f} %" if available else ""
            cells.add_row(name, f"{used:,}", f"{available:,}" if available else "", share)
        console.print(cells)
    if report.clocks:
        clocks = Table("clock", "needs MHz", "reaches MHz", "slack ns", "", box=None)
        for clock in report.clocks:
            met = "met" if clock.met else "[bold red]missed"
            clocks.add_row(
                clock.name,
                f"{clock.required_mhz:.2f}",
                f"{clock.achieved_mhz:.2f}",
                f"{clock.slack_ns:+.2f}",
                met,
            )
        console.print(clocks)
    console.print(f"results are in {folder}", soft_wrap=True)
