"""The committed page of compliance says what the marks in the tests say."""

import re

import pytest

from ualink_sim.compliance import requirements as req
from ualink_sim.compliance.count import names

pytestmark = pytest.mark.xdist_group("compliance_page")

ROW = re.compile(
    r"^\| ([A-Z]+-\d{3}) \| [^|]* \| [^|]* \| (covered|failing|waived|open) \| ([^|]*) \| (.*) \|$", re.MULTILINE
)


@pytest.fixture(scope="module")
def marks(root):
    """What every test of this suite carries."""
    return req.collect_marks(root)


def test_page_names_the_tests_that_carry_each_requirement(root, marks):
    page = {number: row for number, *row in ROW.findall((root / "docs/compliance.md").read_text())}
    rows, waivers = req.load(root / "docs/requirements"), req.load_waivers(root / "docs/requirements")
    assert set(page) == set(rows)
    carried: dict[str, list[str]] = {}
    kinds: dict[str, set[str]] = {}
    for test, mark in marks.items():
        for number in mark.requirements:
            assert number in rows, f"{test} carries {number}, which is no requirement"
            carried.setdefault(number, []).append(test)
            kinds.setdefault(number, set()).update(mark.shown_by)
    stale = []
    for number, (state, how, shown) in page.items():
        expected = ", ".join(kind for kind in req.EVIDENCE if kind in kinds.get(number, ()))
        wrong = (state == "covered") != (number in carried) or how != expected
        if wrong or (number in carried and shown != names(carried[number])):
            stale.append(number)
    assert not stale, f"run make test and commit docs/compliance.md: {stale[:5]}"
    assert all(page[number][0] in ("waived", "covered") for number in waivers)


@pytest.mark.parametrize(
    ("test", "kind"),
    [
        ("model/upli/test_transactions.py::test_command_map", "model"),
        ("model/upli/test_transactions.py::test_orig_data_beats", "model"),
        ("upli/test_calendar.py::test_phase_always", "proof"),
        ("upli/test_calendar.py::test_check", "RTL"),
        ("upli/test_channels.py::test_totals", "structure"),
        ("bfm/test_models.py::test_random_traffic", "bus model"),
        ("bfm/test_agents.py::test_random_traffic", "RTL"),
        ("sim/pod/test_run.py::test_every_byte_matches_over_noisy_links", "RTL"),
        ("sim/pod/test_topology.py::test_each_switch_port_faces_another_accelerator", "other"),
    ],
)
def test_evidence_is_what_a_test_can_reach(marks, test, kind):
    """Tests of each kind in this suite, of which it is known."""
    found = {mark.shown_by for name, mark in marks.items() if name.split("[")[0] == f"tests/{test}"}
    assert found == {(kind,)}


def test_no_test_of_a_model_alone_counts_as_hardware(marks):
    folder = {name: mark.shown_by for name, mark in marks.items() if name.startswith("tests/model/")}
    assert folder and not any({"proof", "RTL", "structure"} & set(kinds) for kinds in folder.values())
