"""Configurations out of plain values."""

from dataclasses import fields
from typing import Any, get_args, get_type_hints

from ualink.checks import ConfigError
from ualink.config.base import Config
from ualink.wording import shown

__all__ = ["from_dict"]


def _part_of(kind: type, key: str) -> type | None:
    """The configuration that member ``key`` of ``kind`` is, or may be; None if it is a plain value."""
    hint = get_type_hints(kind)[key]
    parts = (part for part in (hint, *get_args(hint)) if isinstance(part, type) and issubclass(part, Config))
    return next(parts, None)


def from_dict(kind: type, values: dict, where: str) -> Any:
    """Build configuration ``kind`` from nested plain values, naming ``where`` and the key in every complaint."""
    known = {f.name: f for f in fields(kind)}
    arguments = {}
    for key, value in values.items():
        if key not in known:
            raise ConfigError(f"{where}: unknown key {shown(key)}; known are {', '.join(known)}")
        default = getattr(kind(), key)
        part = _part_of(kind, key)
        if part is not None and (default is not None or value is not None):
            if not isinstance(value, dict):
                raise ConfigError(f"{where}.{key} is {shown(value)}; it must be a table")
            value = from_dict(part, value, f"{where}.{key}")
        elif isinstance(default, tuple):
            value = tuple(value) if isinstance(value, list) else value
        elif isinstance(default, bool) and not isinstance(value, bool):
            raise ConfigError(f"{where}.{key} is {shown(value)}; it must be true or false")
        arguments[key] = value
    try:
        return kind(**arguments)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    except TypeError as error:
        raise ConfigError(f"{where}: {error}") from None
