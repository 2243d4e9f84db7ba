"""Seeded faults in two controllers under traffic: each leads to what the standard says, and to nothing else.

``docs/faults.md`` lists the kinds. CI strikes each once; ``make soak`` (UALINK_SOAK=1) 1,000 times and
more in all.
"""

import os

import pytest

from support.faults.kinds import KINDS
from support.faults.outcome import judge
from support.faults.page import table
from support.faults.run import run_faults

WHOLE = bool(os.environ.get("UALINK_SOAK"))
SEEDS = {1: range(17), 4: range(100, 106)} if WHOLE else {1: range(1), 4: range(100, 101)}
"""By ports of a station."""
LEAST = 1_000 if WHOLE else 60

pytestmark = [pytest.mark.soak]


def chosen(ports: int, switch: bool) -> list[str]:
    """Kinds that are struck; in CI a station of four ports only meets what one of one port cannot show."""
    kinds = [kind for kind in KINDS.values() if ports in kind.ports and kind.switch == switch]
    return [kind.name for kind in kinds if WHOLE or ports == 1 or kind.of_ports]


CAMPAIGNS = {(ports, switch): chosen(ports, switch) for ports, switch in ((1, False), (4, False), (4, True))}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The reports of a campaign, which runs once."""
    known = {}

    def of(ports, switch):
        if (ports, switch) not in known:
            faults = [(name, seed) for seed in SEEDS[ports] for name in CAMPAIGNS[ports, switch]]
            known[ports, switch] = run_faults(tmp_path_factory.mktemp("faults"), ports, faults, switch=switch)
            assert [(report.kind, report.seed) for report in known[ports, switch]] == faults
        return known[ports, switch]

    return of


CASES = [
    pytest.param(
        ports,
        KINDS[name],
        id=f"{name}-{ports}",
        marks=[
            pytest.mark.req(*KINDS[name].requirements),
            pytest.mark.xdist_group(f"controller-pair-{ports}"),
        ],
    )
    for (ports, _), names in CAMPAIGNS.items()
    for name in names
]


@pytest.mark.parametrize(("ports", "kind"), CASES)
def test_a_fault_has_its_outcome(reports, ports, kind):
    mine = [report for report in reports(ports, kind.switch) if report.kind == kind.name]
    assert mine
    wrong = [(report.seed, report.story, found) for report in mine if (found := judge(kind, report))]
    assert not wrong, "\n".join(map(str, wrong))


def test_the_page_lists_all_kinds(root):
    assert table() in (root / "docs" / "faults.md").read_text(), "run: python -m support.faults.page in tests"


def test_the_campaign_is_as_large_as_it_is_said_to_be():
    assert len(KINDS) >= 25
    assert sum(len(names) * len(SEEDS[ports]) for (ports, _), names in CAMPAIGNS.items()) >= LEAST
