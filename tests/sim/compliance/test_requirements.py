"""Requirements, waivers and their assessment."""

import re

import pytest

from ualink_sim.compliance import requirements as req
from ualink_sim.compliance.count import ComplianceError, find_root, render

COUNTS = {"UPLI": 384, "RAS": 117, "RST": 50, "TL": 226, "DL": 185, "PHY": 115, "SEC": 163, "SW": 105}


@pytest.fixture(scope="module")
def rows(root):
    return req.load(root / "docs" / "requirements")


def test_every_chapter_is_complete_and_numbered_from_one(rows):
    for chapter, count in COUNTS.items():
        numbers = [int(i.split("-")[1]) for i, row in rows.items() if row.chapter == chapter]
        assert len(numbers) == len(set(numbers)) == count
        assert all(1 <= number <= 999 for number in numbers)
    assert all(row.text and row.section for row in rows.values())
    assert all(re.fullmatch(r"[A-Z]+-\d{3}", identifier) for identifier in rows)


def test_waivers_name_known_requirements_with_a_reason(root, rows):
    waivers = req.load_waivers(root / "docs" / "requirements")
    assert set(waivers) <= set(rows)
    assert all(len(reason) > 20 for reason in waivers.values())


def test_assessment_sorts_every_requirement_once(rows):
    marks = {
        "a": req.Mark(("DL-001", "DL-002"), ("RTL",)),
        "b": req.Mark(("DL-002",), ("proof",)),
        "c": req.Mark(("DL-003",), ("RTL",)),
        "d": req.Mark(("XX-001",), ("model",)),
        "e": req.Mark(("DL-001", "DL-005"), ("model",)),
    }
    outcomes = {"a": "passed", "b": "failed", "c": "skipped", "e": "passed"}
    result = req.assess(rows, {"DL-004": "a reason", "DL-001": "another"}, marks, outcomes)
    chapter = result.chapters["DL"]
    assert (chapter.covered, chapter.failing, chapter.waived) == (
        ["DL-001", "DL-005"],
        ["DL-002"],
        ["DL-004"],
    )
    assert "DL-003" in chapter.open and result.unknown == ["XX-001"]
    assert result.count("total") == sum(COUNTS.values())
    as_dict = result.as_dict()
    assert as_dict["chapters"]["DL"]["total"] == COUNTS["DL"] and as_dict["failing"] == 1
    page = render(result, rows, {"DL-004": "a reason", "DL-001": "another"})
    assert "| DL-001 | §6.1 | rule | covered | RTL, model | `a`, `e` |" in page
    assert "| DL-002 | §6.1 | rule | failing | RTL | `a`, `b` |" in page
    assert "| DL-004 | §6.1 | rule | waived |  | a reason |" in page
    assert "| DL | 0 | 1 | 0 | 0 | 2 | 0 | 1 |" in page
    shown = as_dict["chapters"]["DL"]
    assert shown["without_hardware"] == ["DL-005"]
    assert {kind: count for kind, count in shown["shown"].items() if count} == {"RTL": 1, "model": 2}


def test_command_outside_a_checkout_says_so(tmp_path):
    with pytest.raises(ComplianceError, match="not inside a checkout"):
        find_root(tmp_path)
