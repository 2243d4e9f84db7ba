"""The numbered requirements of the standard, and what the test suite shows of each."""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = [
    "CHAPTERS",
    "EVIDENCE",
    "Chapter",
    "Compliance",
    "Mark",
    "Requirement",
    "assess",
    "collect_marks",
    "load",
    "load_waivers",
]

CHAPTERS = ("UPLI", "RAS", "RST", "TL", "DL", "PHY", "SEC", "SW")

EVIDENCE = ("proof", "RTL", "structure", "bus model", "model", "other")
"""How a test shows what it shows, strongest first: a solver, a simulation of hardware, the hardware description as it
is made, the bus models or the executable model without hardware, none of these. ``tests/support/evidence.py`` tells."""

ON_HARDWARE = frozenset({"proof", "RTL", "structure"})


@dataclass(frozen=True)
class Requirement:
    """One requirement: its number, the ``section`` it stands in, its modal ``level`` and its text."""

    identifier: str
    section: str
    level: str
    text: str

    @property
    def chapter(self) -> str:
        return self.identifier.split("-")[0]


@dataclass(frozen=True)
class Mark:
    """What a test carries: numbers of ``requirements``, and by what they are ``shown_by``, kinds of ``EVIDENCE``."""

    requirements: tuple[str, ...]
    shown_by: tuple[str, ...]


@dataclass
class Chapter:
    """Identifiers of one chapter by what the tests say of them; every requirement is in exactly one list."""

    covered: list[str] = field(default_factory=list)
    failing: list[str] = field(default_factory=list)
    waived: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return len(self.covered) + len(self.failing) + len(self.waived) + len(self.open)


@dataclass
class Compliance:
    """The assessment: one ``Chapter`` each, and for every requirement the tests that carry its number.

    ``evidence`` has the kinds of ``EVIDENCE``, strongest first, of the tests that carry a requirement and have passed.
    """

    chapters: dict[str, Chapter]
    tests: dict[str, list[str]]
    unknown: list[str]
    evidence: dict[str, list[str]]

    def count(self, kind: str) -> int:
        """How many requirements are ``kind``: ``"total"``, ``"covered"``, ``"failing"``, ``"waived"`` or ``"open"``."""
        values = (getattr(chapter, kind) for chapter in self.chapters.values())
        return sum(value if isinstance(value, int) else len(value) for value in values)

    def shown(self, chapter: Chapter) -> dict[str, int]:
        """How many covered requirements of ``chapter`` some test shows by each kind of evidence."""
        return {kind: sum(kind in self.evidence[i] for i in chapter.covered) for kind in EVIDENCE}

    def without_hardware(self, chapter: Chapter) -> list[str]:
        """Covered requirements of ``chapter`` that rest on models alone."""
        return [i for i in chapter.covered if not ON_HARDWARE & set(self.evidence[i])]

    def as_dict(self) -> dict:
        """The form of ``ualink compliance --json``."""
        return {
            **{kind: self.count(kind) for kind in ("total", "covered", "failing", "waived")},
            "chapters": {
                name: {
                    "total": chapter.total,
                    "covered": len(chapter.covered),
                    "failing": len(chapter.failing),
                    "waived": len(chapter.waived),
                    "open": chapter.open,
                    "shown": self.shown(chapter),
                    "without_hardware": self.without_hardware(chapter),
                }
                for name, chapter in self.chapters.items()
            },
        }


def load(folder: Path) -> dict[str, Requirement]:
    """Every requirement in ``folder`` (one TOML file per chapter), by identifier, in the order of the standard."""
    found = {}
    for chapter in CHAPTERS:
        with open(folder / f"{chapter.lower()}.toml", "rb") as file:
            for identifier, row in tomllib.load(file).items():
                found[identifier] = Requirement(identifier, row["section"], row["level"], row["text"])
    return found


def load_waivers(folder: Path) -> dict[str, str]:
    """Reason by identifier of the requirements that neither RTL, model nor simulation can show."""
    with open(folder / "waivers.toml", "rb") as file:
        groups = tomllib.load(file)["waiver"]
    return {identifier: group["reason"] for group in groups for identifier in group["requirements"]}


def collect_marks(root: Path) -> dict[str, Mark]:
    """What each test carries, read from the test suite below ``root`` without running it."""
    with tempfile.TemporaryDirectory() as folder:
        listing = Path(folder) / "marks.json"
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(root / "tests")],
            cwd=root,
            env=dict(os.environ, UALINK_REQUIREMENT_MARKS=str(listing)),
            capture_output=True,
            text=True,
        )
        if run.returncode != 0 or not listing.exists():
            raise RuntimeError(f"the test suite cannot be collected:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
        marks = json.loads(listing.read_text())
    return {test: Mark(*(tuple(mark[key]) for key in ("requirements", "shown_by"))) for test, mark in marks.items()}


def assess(
    requirements: Mapping[str, Requirement],
    waivers: Mapping[str, str],
    marks: Mapping[str, Mark],
    outcomes: Mapping[str, str],
) -> Compliance:
    """Sort every requirement: failing if a test that carries it failed last time, covered if at least one passed."""
    tests: dict[str, list[str]] = {}
    kinds: dict[str, set[str]] = {identifier: set() for identifier in requirements}
    for test, mark in marks.items():
        for identifier in mark.requirements:
            tests.setdefault(identifier, []).append(test)
            if identifier in kinds and outcomes.get(test) == "passed":
                kinds[identifier].update(mark.shown_by)
    chapters = {name: Chapter() for name in CHAPTERS}
    for identifier, requirement in requirements.items():
        seen = {outcomes.get(test) for test in tests.get(identifier, ())}
        chapter = chapters[requirement.chapter]
        if "failed" in seen:
            chapter.failing.append(identifier)
        elif "passed" in seen:
            chapter.covered.append(identifier)
        elif identifier in waivers:
            chapter.waived.append(identifier)
        else:
            chapter.open.append(identifier)
    evidence = {identifier: [kind for kind in EVIDENCE if kind in found] for identifier, found in kinds.items()}
    return Compliance(chapters, tests, sorted(set(tests) - set(requirements)), evidence)
