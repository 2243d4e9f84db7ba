"""Where each key of a TOML text stands, for complaints that name a line."""

import re

__all__ = ["KeyLines"]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=(.*)$"""
)
_TOKEN = re.compile(r'"""|\'\'\'|"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*|[\[\]{}]')

Path = tuple[str | int, ...]


class KeyLines:
    """Line numbers (from 1) of tables and keys; ``path`` mixes names and, for arrays of tables, indices from 0."""

    def __init__(self, text: str):
        self._lines: dict[Path, int] = {(): 1}
        counts: dict[Path, int] = {}
        table: Path = ()
        depth, quote = 0, ""
        for number, line in enumerate(text.splitlines(), 1):
            if depth == 0 and not quote:
                if header := _HEADER.match(line):
                    table = tuple(_parts(header[2]))
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
                path = (*table, *_parts(key[1]))
                self._lines.setdefault(path, number)
                line = key[2]
            depth, quote = _balance(line, depth, quote)

    def line(self, *path: str | int) -> int:
        """The line of ``path``, or of its closest ancestor that has one."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _balance(line: str, depth: int, quote: str) -> tuple[int, str]:
    """Follow brackets and multi-line strings, so that a value over several lines is not read as keys."""
    position = 0
    while True:
        if quote:
            end = line.find(quote, position)
            if end < 0:
                return depth, quote
            position, quote = end + 3, ""
        token = _TOKEN.search(line, position)
        if token is None:
            return depth, quote
        position = token.end()
        if token[0] in ('"""', "'''"):
            quote = token[0]
        elif token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
