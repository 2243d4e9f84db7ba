"""Options of a command line as one record."""

from collections.abc import Callable
from dataclasses import fields
from functools import wraps

__all__ = ["gathered"]


def gathered(kind: type, name: str = "options") -> Callable[[Callable], Callable]:
    """Decorator of a click command, below its options: those with the names of fields of ``kind``, a dataclass, come
    as one ``kind``, in parameter ``name``."""

    def decorate(command: Callable) -> Callable:
        @wraps(command)
        def call(*arguments, **options):
            record = kind(**{field.name: options.pop(field.name) for field in fields(kind)})
            return command(*arguments, **options, **{name: record})

        return call

    return decorate
