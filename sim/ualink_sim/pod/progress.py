"""Progress for those who have no terminal: a line now and then."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console

__all__ = ["LINE_SECONDS", "lines", "working"]

LINE_SECONDS = 10.0
"""Time between two lines; what is done sooner prints none."""


@contextmanager
def lines(console: Console, tell: Callable[[float], str], every: float | None = None) -> Iterator[None]:
    """Print ``tell(seconds so far)`` every ``every`` seconds until the block ends, where ``console`` is no terminal."""
    period = LINE_SECONDS if every is None else every
    stop = threading.Event()

    def follow() -> None:
        count = 1
        while not stop.wait(period):
            console.print(tell(count * period), soft_wrap=True)
            count += 1

    thread = threading.Thread(target=follow, daemon=True)
    if not console.is_terminal:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if thread.is_alive():
            thread.join()


@contextmanager
def working(console: Console, what: str, every: float | None = None) -> Iterator[None]:
    """Show that ``what`` goes on: as a spinner on a terminal, as lines elsewhere."""
    spinner = console.status(what) if console.is_terminal else nullcontext()
    with spinner, lines(console, lambda seconds: f"{what}: {seconds:.0f} s", every):
        yield
