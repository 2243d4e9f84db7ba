"""How refusals show what a user gave, whatever it was: on one line, short, and without characters that act."""

import reprlib

__all__ = ["named", "shown"]

LONGEST = 60


class _Short(reprlib.Repr):
    """Numbers of any length and nests of any depth; Python's own ``repr`` gives up on both."""

    def __init__(self):
        super().__init__()
        self.maxstring = self.maxother = LONGEST
        self.maxlist = self.maxtuple = self.maxdict = 8

    def repr_int(self, x, level):
        digits = int(x.bit_length() * 0.30103) + 1
        return repr(x) if digits < LONGEST else f"a number of about {digits} digits"


_SHORT = _Short()


def shown(value: object) -> str:
    """``value`` as its author would write it, or the beginning and the end of that."""
    return _SHORT.repr(value)


def named(key: str) -> str:
    """A key as it is, unless it is long or holds what cannot be printed."""
    return key if key.isprintable() and len(key) <= LONGEST else shown(key)
