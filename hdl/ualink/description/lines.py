"""Where each key of a TOML text stands, for complaints that name a line."""

import re

__all__ = ["KeyLines"]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=(.*)$"""
)
_TOKEN = re.compile(r'"""|\'\'\'|"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*|[\[\]{}]')

DEEPEST = 100
"""Levels of brackets, or parts of a dotted key, that a file may have; TOML readers recurse or copy for each."""

Path = tuple[str | int, ...]


class KeyLines:
    """Line numbers (from 1) of tables and keys; ``path`` mixes names and, for arrays of tables, indices from 0.

    ``too_deep`` is the first line on which brackets or a dotted key go deeper than ``DEEPEST``, None if none does.
    """

    def __init__(self, text: str):
        self.too_deep: int | None = None
        self._lines: dict[Path, int] = {(): 1}
        counts: dict[Path, int] = {}
        table: Path = ()
        depth, quote = 0, ""
        for number, line in enumerate(text.split("\n"), 1):
            if depth == 0 and not quote:
                if header := _HEADER.match(line):
                    table = self._names(header[2], number)
                    if header[1] == "[[":
                        index = counts.get(table, 0)
                        counts[table] = index + 1
                        self._lines.setdefault(table, number)
                        table = (*table, index)
                    elif counts.get(table[:1]):
                        table = (table[0], counts[table[:1]] - 1, *table[1:])
                    self._lines.setdefault(table, number)
                    continue
                key = _KEY.match(line)
                if key is None:
                    continue
                path = (*table, *self._names(key[1], number))
                for end in range(len(table), len(path)):
                    self._lines.setdefault(path[: end + 1], number)
                line = key[2]
            depth, deepest, quote = _balance(line, depth, quote)
            self._reach(deepest, number)

    def has(self, *path: str | int) -> bool:
        """Whether ``path`` itself stands in the text."""
        return path in self._lines

    def line(self, *path: str | int) -> int:
        """The line of ``path``, or of its closest ancestor that has one."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]

    def _names(self, dotted: str, number: int) -> Path:
        parts = [part.strip().strip("\"'") for part in dotted.split(".", DEEPEST + 1)]
        self._reach(len(parts), number)
        return tuple(parts)

    def _reach(self, depth: int, number: int) -> None:
        if depth > DEEPEST and self.too_deep is None:
            self.too_deep = number


def _balance(line: str, depth: int, quote: str) -> tuple[int, int, str]:
    """Follow brackets and multi-line strings, so that a value over several lines is not read as keys.

    Returns the depth behind the line, the deepest on it, and the quote that is still open.
    """
    position, deepest = 0, depth
    while True:
        if quote:
            end = line.find(quote, position)
            if end < 0:
                return depth, deepest, quote
            position, quote = end + 3, ""
        token = _TOKEN.search(line, position)
        if token is None:
            return depth, deepest, quote
        position = token.end()
        if token[0] in ('"""', "'''"):
            quote = token[0]
        elif token[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in "]}":
            depth -= 1
