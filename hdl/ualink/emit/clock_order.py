"""One order for the clocks and resets of a module, which Amaranth takes from a set."""

import re

__all__ = ["settle_clocks"]

_DOMAIN_PORT = re.compile(r"^( *wire (?:width 1 )?input \d+ +|    connect +)(\\(?:(\w+)_)?(clk|rst)(?: .*)?)$")
"""The declaration of a clock or reset, or what a cell has there: what comes before its name, and from there on."""
_MENTIONED = re.compile(r"module |cell |clk|rst")
"""What each line that counts has, and few others have."""


def settle_clocks(rtlil: str) -> str:
    """The same design with clocks and resets by the name of their domain, among the ports of each module and of each
    cell: in the places that they have between them, whichever of them stands there.

    Without that, a design of two clocks would have another text in another process.
    """
    lines = rtlil.splitlines(keepends=False)
    places: dict[tuple[str, int], list[tuple[int, re.Match]]] = {}
    owner = {"wire": 0, "connect": 0}
    for number, line in enumerate(lines):
        if not _MENTIONED.search(line):
            continue
        word = line.split(maxsplit=1)[0]
        if word == "module":
            owner["wire"] = number
        elif word == "cell":
            owner["connect"] = number
        elif word in owner and (found := _DOMAIN_PORT.match(line)):
            places.setdefault((word, owner[word]), []).append((number, found))
    for group in places.values():
        settled = sorted((port for _, port in group), key=lambda port: (port[3] or "", port[4]))
        for (number, here), port in zip(group, settled, strict=True):
            lines[number] = here[1] + port[2]
    return "\n".join(lines) + "\n"
