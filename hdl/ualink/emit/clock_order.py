"""One order for the clocks and resets of a module, which Amaranth takes from a set."""

import re

__all__ = ["settle_clocks"]

_DOMAIN_PORT = re.compile(r"^( *wire (?:width 1 )?input \d+ +|    connect +)(\\(?:(\w+)_)?(clk|rst)(?: .*)?)$")
"""The declaration of a clock or reset, or what a cell has there: what comes before its name, and from there on."""


def settle_clocks(rtlil: str) -> str:
    """The same design with clocks and resets by the name of their domain, among the ports of each module and of each
    cell: in the places that they have between them, whichever of them stands there.

    Without that, a design of two clocks would have another text in another process.
    """
    lines = rtlil.splitlines(keepends=False)
    places: dict[tuple[str, int], list[int]] = {}
    owner = {"wire": 0, "connect": 0}
    for number, line in enumerate(lines):
        word = line.split(maxsplit=1)[0] if line.strip() else ""
        if word == "module":
            owner["wire"] = number
        elif word == "cell":
            owner["connect"] = number
        elif word in owner and _DOMAIN_PORT.match(line):
            places.setdefault((word, owner[word]), []).append(number)
    for numbers in places.values():
        found = [_DOMAIN_PORT.match(lines[number]) for number in numbers]
        settled = sorted(found, key=lambda one: (one[3] or "", one[4]))
        for number, here, port in zip(numbers, found, settled, strict=True):
            lines[number] = here[1] + port[2]
    return "\n".join(lines) + "\n"
