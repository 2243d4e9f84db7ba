"""Work that another processor does meanwhile."""

import multiprocessing
import os
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

__all__ = ["Aside"]

Made = TypeVar("Made")


class Aside(Generic[Made]):
    """What ``make`` returns, made by a copy of this process from now on.

    ``result()`` waits for it, and raises what ``make`` has raised. Where processes cannot be copied it does the work
    itself. The copy ends with the ``with`` statement, and with this process.
    """

    def __init__(self, make: Callable[[], Made]):
        self._make = make
        self._copied = "fork" in multiprocessing.get_all_start_methods()
        if self._copied:
            context = multiprocessing.get_context("fork")
            self._answer, theirs = context.Pipe(duplex=False)
            self._process = context.Process(target=_answer, args=(make, theirs), daemon=True)
            self._process.start()
            theirs.close()

    def result(self) -> Made:
        if not self._copied:
            return self._make()
        try:
            found = self._answer.recv()
        except EOFError:
            raise RuntimeError("a process that does part of the work ended by itself") from None
        if isinstance(found, BaseException):
            raise found
        return found

    def __enter__(self) -> "Aside[Made]":
        return self

    def __exit__(self, *_) -> None:
        if self._copied:
            self._process.kill()
            self._process.join()
            self._answer.close()


def _answer(make: Callable[[], object], connection: Connection) -> None:
    """In the copy. A Ctrl-C reaches both processes: the other one then ends this."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answer: object
    try:
        answer = make()
    except KeyboardInterrupt:
        return
    except Exception as error:
        answer = error
    connection.send(answer)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
