"""Every rule of the checker: a script that breaks it is reported in that cycle, and nothing else is."""

import pytest

from support.upli.script import run
from support.upli.violations import SCRIPTS
from ualink.config import CheckerConfig
from ualink.upli.checker.checker import UPLIChecker
from ualink.upli.checker.rules import RULES, TAG_RULES


def test_every_rule_has_its_script():
    assert set(SCRIPTS) == {rule.name for rule in RULES}
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.name) for rule in RULES])
def test_rule(rule):
    script = SCRIPTS[rule.name](rule.name)
    checker = UPLIChecker(CheckerConfig(ports=script.ports, tracked=24, isolate=rule.name != "wr_rsp_isolate"))
    found, first, _ = run(checker, script)
    assert found == script.bad
    assert first.valid and first.rule == RULES.index(rule)


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.name) for rule in TAG_RULES])
def test_without_memory_of_requests_nothing_is_said_of_tags(rule):
    script = SCRIPTS[rule.name](rule.name)
    found, _, tracking = run(UPLIChecker(CheckerConfig(ports=script.ports, tracked=0)), script)
    assert not found and not tracking
