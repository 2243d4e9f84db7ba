"""docs/tl-link-partner.md: its example is the one of examples/ and runs, its tables are complete."""

import dataclasses
import re
import subprocess
import sys

import pytest

from ualink_sim.bfm.tl.bins import BINS
from ualink_sim.bfm.tl.checker import LinkChecker
from ualink_sim.bfm.tl.illegal import ILLEGAL
from ualink_sim.bfm.tl.legal import LegalTraffic
from ualink_sim.bfm.tl.options import TLOptions
from ualink_sim.bfm.tl.rules import RULES


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "tl-link-partner.md").read_text()


def _section(page, first, after):
    return page[page.index(f"## {first}") : page.index(f"## {after}") if after else None]


def test_example_is_the_one_of_the_folder(page, root):
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert example == (root / "examples" / "tl_link_partner" / "bench.py").read_text()


@pytest.mark.req("TL-001", "TL-002")
@pytest.mark.xdist_group("transaction_layer")
def test_example_runs(transaction_layer, root, tmp_path):
    run = subprocess.run(
        [sys.executable, root / "examples" / "tl_link_partner"], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "passed" in run.stdout
    assert "functional coverage" in (tmp_path / "tl_link_partner.log").read_text()


def test_lines_without_a_simulator_run(page):
    (lines,) = re.findall(r"```\n(options = .*?)```", page, re.DOTALL)
    names = {"TLOptions": TLOptions, "LegalTraffic": LegalTraffic, "LinkChecker": LinkChecker}
    exec(lines, names)
    assert len(names["partner"].received) > 100 and not names["partner"].errors


def test_every_rule_is_listed(page):
    listed = re.findall(
        r"^\| `(\w+)` \| (.*) \| (§\S+) \| (.*) \|$", _section(page, "What is checked", "Coverage"), re.MULTILINE
    )
    assert {name: (text, section, tuple(numbers.split(", "))) for name, text, section, numbers in listed} == RULES


def test_requirements_of_rules_exist(root):
    known = (root / "docs" / "requirements" / "tl.toml").read_text()
    for rule in RULES.values():
        assert all(f"[{number}]" in known for number in rule.requirements), rule


def test_every_option_is_listed(page):
    listed = re.findall(r"^\| `(\w+)` \|", _section(page, "Options", "What is checked"), re.MULTILINE)
    assert listed == [field.name for field in dataclasses.fields(TLOptions)]


def test_every_illegality_is_counted(page):
    listed = re.findall(r"^\| `(\w+)` \| (\d+) \|", _section(page, "Illegal traffic", "Options"), re.MULTILINE)
    rules = [case.rule for case in ILLEGAL.values()]
    assert {rule: int(count) for rule, count in listed} == {rule: rules.count(rule) for rule in rules}


def test_every_group_of_bins_is_listed(page):
    listed = re.findall(r"^\| (§.*?) \| (\d+) \|", _section(page, "Coverage", None), re.MULTILINE)
    assert {group: int(count) for group, count in listed} == {group: len(bins) for group, bins in BINS.items()}
