"""docs/dl-link-partner.md: its example is the one of examples/ and runs, its tables are complete."""

import dataclasses
import re
import subprocess
import sys

import pytest

from ualink_sim.bfm.dl.bins import BINS
from ualink_sim.bfm.dl.options import CheckerOptions
from ualink_sim.bfm.dl.rules import RULES


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "dl-link-partner.md").read_text()


def test_example_is_the_one_of_the_folder(page, root):
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert example == (root / "examples" / "dl_link_partner" / "bench.py").read_text()


@pytest.mark.req("DL-001", "DL-119", "DL-126")
@pytest.mark.xdist_group("data_link")
def test_example_runs(data_link, root, tmp_path):
    run = subprocess.run(
        [sys.executable, root / "examples" / "dl_link_partner"], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "passed" in run.stdout
    assert "functional coverage" in (tmp_path / "dl_link_partner.log").read_text()


def test_every_rule_is_listed(page):
    table = page[page.index("## What is checked") : page.index("## Coverage")]
    listed = re.findall(r"^\| `(\w+)` \| (.*) \| (§\S+) \| (.*) \|$", table, re.MULTILINE)
    assert {name: (text, section, tuple(numbers.split(", "))) for name, text, section, numbers in listed} == RULES


def test_requirements_of_rules_exist(root):
    known = "".join(path.read_text() for path in (root / "docs" / "requirements").glob("*"))
    for rule in RULES.values():
        assert all(number in known for number in rule.requirements), rule


def test_every_option_is_listed(page):
    table = page[page.index("## Options") : page.index("## What is checked")]
    listed = re.findall(r"^\| `(\w+)` \| (\S+) \|", table, re.MULTILINE)
    options = {
        field.name: f"{field.default:,}" if type(field.default) is int else "yes"
        for field in dataclasses.fields(CheckerOptions)
    }
    assert dict(listed) == options


def test_every_group_of_bins_is_listed(page):
    table = page[page.index("## Coverage") :]
    listed = re.findall(r"^\| (§.*?) \| (\d+) \|", table, re.MULTILINE)
    assert {group: int(count) for group, count in listed} == {group: len(bins) for group, bins in BINS.items()}
