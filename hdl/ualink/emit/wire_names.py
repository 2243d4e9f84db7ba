"""Names of wires in RTLIL."""

import re

__all__ = ["without_brackets"]

_NAME = re.compile(r"\\[^\s\"]*\[[^\s\"]*")


def without_brackets(rtlil: str) -> str:
    """The same design with ``entry.3`` for the name ``entry[3]``.

    Amaranth gives element 3 of an array ``entry`` a wire of its own beside that of the whole array. Yosys, when it
    takes back what ABC9 has made of a design, calls bit 3 of the array so too, and takes the one for the other: it
    stops, or builds something else without a word.
    """
    return _NAME.sub(lambda name: name[0].replace("[", ".").replace("]", ""), rtlil)
