"""The complaint about a description that cannot be used."""

__all__ = ["ScenarioError"]


class ScenarioError(ValueError):
    """A scenario or trace cannot be used; the message is one line, ``file:line: key: reason``."""
