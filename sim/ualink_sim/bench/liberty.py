"""Files of a standard-cell library: their text, the library's name and what its cells are."""

import gzip
import re
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from .rows import Unavailable

__all__ = ["LEFT_OUT", "LibertyCell", "Library", "liberty_text", "library_name", "read_library"]

_LIBRARY = re.compile(r"^\s*library\s*\(\s*\"?(\w+)", re.MULTILINE)
_CELL = re.compile(r"^\s*cell\s*\(\s*\"?(\w+)\"?\s*\)", re.MULTILINE)
_AREA = re.compile(r"^\s*area\s*:\s*([\d.eE+-]+)", re.MULTILINE)
_FLIP_FLOP = re.compile(r"^\s*ff\s*\(", re.MULTILINE)
_PIN = re.compile(r"\bpin\s*\(\s*\"?(\w+)\"?\s*\)\s*\{[^{}]*\bdirection\s*:\s*\"?(input|output)\b")
_FUNCTION = re.compile(r"^\s*function\s*:\s*\"([^\"]*)\"", re.MULTILINE)
_STATE = re.compile(r"^\s*(next_state|clocked_on|clear|preset)\s*:\s*\"([^\"]*)\"", re.MULTILINE)
_NAND2 = re.compile(r"nand2(?!b)", re.IGNORECASE)

# Scan, clock gates, latches, fillers, and half-size drivers, which a mapper takes for speed and a layout takes back.
LEFT_OUT = (
    *("*x1p*", "*xp*", "SDF*", "ICG*", "DFFLQN*", "DFFASR*", "DFFHQx4*", "DHL*", "DLL*"),
    *("TIE*", "FILLER*", "DECAP*"),
)
"""Cells that are never used, as patterns of Yosys; the names are those of ASAP7."""


@dataclass(frozen=True)
class LibertyCell:
    """``area`` in the library's unit; ``buffer``: one input, and the output is the same; ``does``: pins, functions and
    what is stored, alike in all sizes of a cell.
    """

    name: str
    area: float
    flip_flop: bool
    buffer: bool
    outputs: tuple[str, ...]
    does: tuple

    @property
    def inputs(self) -> tuple[str, ...]:
        """Input pins, of a flip-flop its clock among them."""
        return tuple(pin for pin, direction in self.does[0] if direction == "input")


@dataclass(frozen=True)
class Library:
    """The cells of all files by name, and two of them by what they are for."""

    cells: dict[str, LibertyCell]

    @property
    def gate(self) -> float:
        """Area of the smallest NAND2, the unit of gate equivalents."""
        return self._smallest("NAND2", lambda cell: bool(_NAND2.search(cell.name))).area

    @property
    def driver(self) -> str:
        """The smallest buffer, which is taken to drive the inputs."""
        return self._smallest("buffer", lambda cell: cell.buffer).name

    def check(self) -> None:
        """Unavailable, if a cell is missing without which nothing can be measured."""
        _ = self.gate, self.driver
        self._smallest("flip-flop", lambda cell: cell.flip_flop)

    def buffers(self) -> list[LibertyCell]:
        """The smallest first; what is left out is none."""
        return self._all(lambda cell: cell.buffer)

    def sizes(self) -> dict[str, tuple[str, ...]]:
        """For each cell that comes in several sizes the other ones, the smallest first; what is left out is none."""
        groups: dict[tuple, list[LibertyCell]] = defaultdict(list)
        for cell in sorted(self.cells.values(), key=lambda cell: (cell.area, cell.name)):
            if not _is_left_out(cell.name):
                groups[cell.does].append(cell)
        return {
            cell.name: tuple(other.name for other in group if other is not cell)
            for group in groups.values()
            for cell in group
            if len(group) > 1
        }

    def _smallest(self, what: str, wanted) -> LibertyCell:
        found = self._all(wanted)
        if not found:
            raise Unavailable(f"the library has no {what}; give all of its files with --liberty")
        return found[0]

    def _all(self, wanted) -> list[LibertyCell]:
        found = [cell for cell in self.cells.values() if wanted(cell) and not _is_left_out(cell.name)]
        return sorted(found, key=lambda cell: (cell.area, cell.name))


def liberty_text(file: Path) -> str:
    """The text of a liberty file, unpacked where it is packed by gzip."""
    try:
        return gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text()
    except (OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise Unavailable(f"{file} cannot be read: {error}") from None


def library_name(file: Path) -> str:
    """The first word of the library's name, lower case: ``sg13g2`` of ``sg13g2_stdcell_typ_1p20V_25C``."""
    return _name(file, liberty_text(file)).lower().split("_")[0]


def read_library(files: Sequence[Path]) -> Library:
    """The library that ``files`` are; Unavailable with the file and the reason if one is no liberty file."""
    return Library({cell.name: cell for file in files for cell in _cells(file)})


@lru_cache(maxsize=16)
def _cells(file: Path) -> tuple[LibertyCell, ...]:
    text = liberty_text(file)
    _name(file, text)
    starts = list(_CELL.finditer(text))
    if not starts:
        raise Unavailable(f"{file} has no cells")
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return tuple(_cell(file, start[1], text[start.end() : end]) for start, end in zip(starts, ends, strict=True))


def _cell(file: Path, name: str, text: str) -> LibertyCell:
    area = _AREA.search(text)
    if area is None:
        raise Unavailable(f"{file}: cell {name} has no area")
    pins, functions = _PIN.findall(text), _FUNCTION.findall(text)
    inputs = [pin for pin, direction in pins if direction == "input"]
    return LibertyCell(
        name=name,
        area=float(area[1]),
        flip_flop=bool(_FLIP_FLOP.search(text)),
        buffer=len(inputs) == 1 and [function.strip("() ") for function in functions] == inputs,
        outputs=tuple(pin for pin, direction in pins if direction == "output"),
        does=(tuple(sorted(pins)), tuple(functions), tuple(_STATE.findall(text))),
    )


def _name(file: Path, text: str) -> str:
    found = _LIBRARY.search(text)
    if found is None:
        raise Unavailable(f"{file} is not a liberty file")
    return found[1]


def _is_left_out(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in LEFT_OUT)
