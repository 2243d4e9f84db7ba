"""The committed page of compliance says what the marks in the tests say."""

import re

from ualink_sim import requirements as req
from ualink_sim.compliance import names

ROW = re.compile(r"^\| ([A-Z]+-\d{3}) \| .* \| .* \| (covered|failing|waived|open) \| (.*) \|$", re.MULTILINE)


def test_page_names_the_tests_that_carry_each_requirement(root):
    page = {number: (state, shown) for number, state, shown in ROW.findall((root / "docs/compliance.md").read_text())}
    rows, waivers = req.load(root / "docs/requirements"), req.load_waivers(root / "docs/requirements")
    assert set(page) == set(rows)
    carried: dict[str, list[str]] = {}
    for test, numbers in req.collect_marks(root).items():
        for number in numbers:
            assert number in rows, f"{test} carries {number}, which is no requirement"
            carried.setdefault(number, []).append(test)
    stale = [number for number, (_, shown) in page.items() if number in carried and shown != names(carried[number])]
    stale += [number for number, (state, _) in page.items() if (state == "covered") != (number in carried)]
    assert not stale, f"run make test and commit docs/compliance.md: {stale[:5]}"
    assert all(page[number][0] in ("waived", "covered") for number in waivers)
