"""How a command ends that cannot go on."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import click

__all__ = ["Ended", "Failure", "Refusal", "ended_by_signals"]


class Refusal(click.ClickException):
    """Bad input: one line on standard error, exit status 2."""

    exit_code = 2

    def show(self, file=None):
        click.echo(f"ualink: {' '.join(self.format_message().split())}", err=True)


class Failure(Refusal):
    """The input is good and something else is not: one line on standard error, exit status 1."""

    exit_code = 1


class Ended(BaseException):
    """A signal asks the command to end; on its way out everything that it has begun is cleared away."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into ``Ended``; one that is ignored, as by ``nohup``, stays so."""

    def end(number, _frame):
        raise Ended(number)

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    taken = [number for number, handler in handlers.items() if handler != signal.SIG_IGN]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, handlers[number])
