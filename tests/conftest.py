"""Marks, requirement results and shared builds of the test suite."""

import json
import os
import re
from pathlib import Path

import pytest

from support.evidence import evidence
from support.quick_simulation import hasten

hasten()

# Tests are what runs side by side; each block of a model looks whether inputs act on its outputs that should not.
os.environ.setdefault("UALINK_THREADS", "1")
os.environ["UALINK_CHECK_INPUTS"] = "1"

ROOT = Path(__file__).resolve().parent.parent

GROUP = re.compile(r"@[\w-]+$")
"""In a parallel run the name of a test ends with the group that keeps it beside others on one worker."""

RESULTS = Path(os.environ.get("UALINK_REQUIREMENT_RESULTS", ROOT / "build" / "requirements" / "results.json"))


def pytest_collection_modifyitems(config, items):
    # What takes long begins early, so that workers end together: tests that share what is compiled, and long campaigns.
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("xdist_group", "soak"))))
    listing = os.environ.get("UALINK_REQUIREMENT_MARKS")
    if not listing:
        return
    marks = {}
    for item in items:
        requirements = [identifier for mark in item.iter_markers("req") for identifier in mark.args]
        if requirements:
            marks[item.nodeid] = {"requirements": requirements, "shown_by": evidence(item)}
    Path(listing).write_text(json.dumps(marks))


def pytest_runtest_logreport(report):
    name = GROUP.sub("", report.nodeid)
    worst = _outcomes.get(name, "passed")
    if report.failed:
        worst = "failed"
    elif report.skipped and worst == "passed":
        worst = "skipped"
    _outcomes[name] = worst


_outcomes: dict[str, str] = {}


def pytest_sessionfinish(session):
    """Keep the last outcome of every marked test; workers of a parallel run leave the writing to their controller."""
    if hasattr(session.config, "workerinput") or not _outcomes or session.config.option.collectonly:
        return
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known.update(_outcomes)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True))


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return ROOT
