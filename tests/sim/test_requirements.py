"""Requirements, waivers and their assessment."""

import re

import pytest

from ualink_sim import requirements as req
from ualink_sim.compliance import ComplianceError, find_root, render

COUNTS = {"UPLI": 378, "RAS": 106, "RST": 47, "TL": 222, "DL": 182, "PHY": 105, "SEC": 150, "SW": 97}


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
    marks = {"a": ["DL-001", "DL-002"], "b": ["DL-002"], "c": ["DL-003"], "d": ["XX-001"]}
    outcomes = {"a": "passed", "b": "failed", "c": "skipped"}
    result = req.assess(rows, {"DL-004": "a reason", "DL-001": "another"}, marks, outcomes)
    chapter = result.chapters["DL"]
    assert (chapter.covered, chapter.failing, chapter.waived) == (["DL-001"], ["DL-002"], ["DL-004"])
    assert "DL-003" in chapter.open and result.unknown == ["XX-001"]
    assert result.count("total") == sum(COUNTS.values())
    as_dict = result.as_dict()
    assert as_dict["chapters"]["DL"]["total"] == 182 and as_dict["failing"] == 1
    page = render(result, rows, {"DL-004": "a reason", "DL-001": "another"})
    assert "| DL-002 | §6.1 | rule | failing | `a`, `b` |" in page
    assert "| DL-004 | §6.1 | rule | waived | a reason |" in page


def test_command_outside_a_checkout_says_so(tmp_path):
    with pytest.raises(ComplianceError, match="not inside a checkout"):
        find_root(tmp_path)
