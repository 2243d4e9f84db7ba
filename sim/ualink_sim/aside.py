"""Work that another processor does meanwhile."""

import multiprocessing
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection

__all__ = ["Aside"]


class Aside:
    """What ``makes`` return, by their names: made one after the other by a copy of this process, from now on.

    ``result()`` waits for it, and raises what one of ``makes`` has raised. Where processes cannot be copied it does the
    work itself. The copy ends with the ``with`` statement.
    """

    def __init__(self, makes: Mapping[str, Callable[[], str]]):
        self._makes = makes
        self._copied = "fork" in multiprocessing.get_all_start_methods()
        if self._copied:
            context = multiprocessing.get_context("fork")
            self._answer, theirs = context.Pipe(duplex=False)
            self._process = context.Process(target=_answer, args=(makes, theirs), daemon=True)
            self._process.start()
            theirs.close()

    def result(self) -> dict[str, str]:
        if not self._copied:
            return _all(self._makes)
        try:
            found = self._answer.recv()
        except EOFError:
            raise RuntimeError(f"the process that was to make {', '.join(self._makes)} ended by itself") from None
        if isinstance(found, BaseException):
            raise found
        return found

    def __enter__(self) -> "Aside":
        return self

    def __exit__(self, *_) -> None:
        if self._copied:
            self._process.kill()
            self._process.join()
            self._answer.close()


def _all(makes: Mapping[str, Callable[[], str]]) -> dict[str, str]:
    return {name: make() for name, make in makes.items()}


def _answer(makes: Mapping[str, Callable[[], str]], connection: Connection) -> None:
    """In the copy. A Ctrl-C reaches both processes: the other one then ends this."""
    try:
        connection.send(_all(makes))
    except KeyboardInterrupt:
        pass
    except Exception as error:
        connection.send(error)
