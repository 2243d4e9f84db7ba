"""How a command ends that cannot go on."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

__all__ = ["Failure", "Refusal", "ended_by_signals", "not_installed"]


class Refusal(click.ClickException):
    """Bad input: one line on standard error, exit status 2."""

    exit_code = 2

    def show(self, file=None):
        click.echo(f"ualink: {' '.join(self.format_message().split())}", err=True)


class Failure(Refusal):
    """The input is good and something else is not: one line on standard error, exit status 1."""

    exit_code = 1


class _Ended(BaseException):
    """A signal asks the command to end; on its way out everything that it has begun is cleared away."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """What a command does that a signal may end: by SIGINT with a word about it, by SIGTERM or SIGHUP in silence, each
    with its exit status. A signal that is ignored, as by ``nohup``, stays so."""

    def end(number, _frame):
        raise _Ended(number)

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    taken = [number for number, handler in handlers.items() if handler != signal.SIG_IGN]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    except KeyboardInterrupt:
        click.echo("ualink: interrupted; nothing is written", err=True)
        sys.exit(128 + signal.SIGINT)
    except _Ended as ended:
        sys.exit(128 + ended.args[0])
    finally:
        for number in taken:
            signal.signal(number, handlers[number])


def not_installed(error: ImportError, extra: str) -> Refusal:
    """Says which package a command lacks, and what brings it."""
    return Refusal(f"{error.name} is not installed; run: pip install 'amaranth-ualink[{extra}]'")
