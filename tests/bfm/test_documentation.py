"""docs/bus-models.md: its example runs on the RTL agents, its tables are complete."""

import inspect
import re

import pytest

from ualink_sim.bfm.completer import UPLICompleter
from ualink_sim.bfm.monitor import UPLIMonitor
from ualink_sim.bfm.originator import UPLIOriginator
from ualink_sim.bfm.rules import RULES


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "bus-models.md").read_text()


@pytest.mark.xdist_group("agents")
def test_example_runs(page, agents, tmp_path, monkeypatch):
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "documented_bench.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)
    agents.run("documented_bench", testcase="what_is_written_is_read")


def test_every_rule_is_listed(page):
    listed = re.findall(r"^\| `(\w+)` \| (.*) \| (§.*) \| (?:all|monitor) \|$", page, re.MULTILINE)
    assert {name: f"{text} ({sections})" for name, text, sections in listed} == RULES


def test_every_option_is_listed(page):
    table = page[page.index("## Options") : page.index("## What is checked")]
    listed = {
        name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
    }
    options = {
        name
        for model in (UPLIOriginator, UPLICompleter, UPLIMonitor)
        for name, parameter in inspect.signature(model).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert listed == options
