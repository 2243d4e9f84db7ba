"""``ualink compliance``: the requirements, the tests that carry their numbers, and the page that says so."""

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import requirements as req

__all__ = ["ComplianceError", "find_root", "names", "render", "run"]


class ComplianceError(Exception):
    """The command cannot work here; the message is one line."""


def find_root(start: Path) -> Path:
    """The checkout that ``start`` lies in."""
    for folder in (start, *start.parents):
        if (folder / "docs" / "requirements").is_dir() and (folder / "tests").is_dir():
            return folder
    raise ComplianceError(
        f"{start}: not inside a checkout of amaranth-ualink (no docs/requirements and tests above it)"
    )


def render(result: req.Compliance, rows: dict[str, req.Requirement], waivers: dict[str, str]) -> str:
    """The text of ``docs/compliance.md``."""
    lines = [
        "# Compliance",
        "",
        "Written by `ualink compliance` after `make test`; do not edit. A requirement is *covered* when a test or a",
        "proof that carries its number passed, *waived* when neither RTL, model nor simulation can show it (the reason",
        "stands below), *open* otherwise. The texts are in [`requirements/`](requirements).",
        "",
        "| Chapter | Total | Covered | Failing | Waived | Open |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, chapter in result.chapters.items():
        counts = (chapter.total, *(len(x) for x in (chapter.covered, chapter.failing, chapter.waived, chapter.open)))
        lines.append(f"| {name} | " + " | ".join(map(str, counts)) + " |")
    counts = tuple(result.count(kind) for kind in ("total", "covered", "failing", "waived", "open"))
    lines += ["| **all** | " + " | ".join(f"**{count}**" for count in counts) + " |", ""]
    lines += _how_shown(result)
    for name, chapter in result.chapters.items():
        lines += [
            f"## {name}",
            "",
            "| Requirement | Section | Level | State | How | Shown by |",
            "|---|---|---|---|---|---|",
        ]
        state = {i: kind for kind in ("covered", "failing", "waived", "open") for i in getattr(chapter, kind)}
        for identifier, kind in sorted(state.items(), key=lambda item: int(item[0].split("-")[1])):
            row = rows[identifier]
            shown = waivers[identifier] if kind == "waived" else names(result.tests.get(identifier, ()))
            how = ", ".join(result.evidence[identifier])
            lines.append(f"| {identifier} | {row.section} | {row.level} | {kind} | {how} | {shown} |")
        lines.append("")
    return "\n".join(lines)


def _how_shown(result: req.Compliance) -> list[str]:
    """Covered requirements of each chapter by how they are shown."""
    lines = [
        "How the covered ones are shown, by at least one passed test each: by *proof* (a solver), on the *RTL*",
        "(simulated), on the *structure* of the hardware description (ports, layouts, codes), by a *bus model* or the",
        "executable *model* without hardware, or by none of these. The last column counts those that no test shows on",
        "hardware.",
        "",
        f"| Chapter | {' | '.join(req.EVIDENCE)} | No hardware |",
        "|---|" + "---:|" * (len(req.EVIDENCE) + 1),
    ]
    for name, chapter in result.chapters.items():
        counts = (*result.shown(chapter).values(), len(result.without_hardware(chapter)))
        lines.append(f"| {name} | " + " | ".join(map(str, counts)) + " |")
    return [*lines, ""]


def names(tests) -> str:
    """Test functions without their parameters, one name each."""
    names = sorted({test.split("[")[0].removeprefix("tests/") for test in tests})
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(f"`{name}`" for name in names[:3]) + more


def run(start: Path, *, as_json: bool) -> int:
    """Assess the checkout around ``start``, write ``docs/compliance.md``, print; 1 when a marked test failed."""
    root = find_root(start)
    rows = req.load(root / "docs" / "requirements")
    waivers = req.load_waivers(root / "docs" / "requirements")
    results = root / "build" / "requirements" / "results.json"
    if not results.exists():
        raise ComplianceError(f"{results}: no results of the tests; run make test first")
    result = req.assess(rows, waivers, req.collect_marks(root), json.loads(results.read_text()))
    if result.unknown:
        raise ComplianceError(f"tests: marks with unknown requirement numbers: {', '.join(result.unknown)}")
    (root / "docs" / "compliance.md").write_text(render(result, rows, waivers))
    if as_json:
        print(json.dumps(result.as_dict()))
    else:
        columns = ("total", "covered", "on hardware", "by proof", "failing", "waived", "open")
        table = Table("chapter", *columns, title="UALink_200 Rev 1.0")
        for name, chapter in result.chapters.items():
            covered = len(chapter.covered)
            on_hardware = covered - len(result.without_hardware(chapter))
            lists = (chapter.failing, chapter.waived, chapter.open)
            counts = (chapter.total, covered, on_hardware, result.shown(chapter)["proof"], *map(len, lists))
            table.add_row(name, *map(str, counts))
        Console().print(table)
        print("docs/compliance.md written")
    return 1 if result.count("failing") else 0
