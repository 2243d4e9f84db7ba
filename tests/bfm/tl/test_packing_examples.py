"""The standard's packing examples as the checker sees them: every half-flit is what its table says it is."""

import pytest

from model.tl.test_packing_examples import EFFICIENCY, Grid
from support.packing_grids import GRIDS, is_control, rows
from ualink_sim.bfm.tl.checker import LinkChecker
from ualink_sim.bfm.tl.observed import Due
from ualink_sim.bfm.tl.options import TLOptions

# The tables begin in the middle of things, with loaded caches; what FC fields and byte enables say is made up.
CREDITS = {"before_release", "credit_req_cmd", "credit_rsp_cmd", "credit_req_data", "credit_rsp_data"}
IGNORED = frozenset(CREDITS | {"never_loaded", "byte_enables", "fc_duplicate"})
RULES = (
    4,
    5,
    7,
    15,
    *range(26, 29),
    30,
    *range(32, 35),
    *range(38, 46),
    *range(47, 51),
    62,
    66,
    67,
    *range(78, 85),
    138,
)


def _due(cell):
    if cell == "NOP":
        return Due.NOP
    if cell.startswith("TAGS"):
        return Due.TAGS
    if cell.endswith(".BE"):
        return Due.BYTE_ENABLES
    return Due.CONTROL if is_control(cell) else Due.DATA


def observe(table):
    """The flits of a table, taken apart, with their cells; nothing must be wrong with them."""
    grid = Grid(table)
    checker = LinkChecker(TLOptions(authentication=grid.authentication, ignore=IGNORED))
    flits = []
    for (lower, upper), cells in zip(grid.flits, rows(table)):
        flits.append((checker.sent(lower[0] + upper[0], lower[1] | upper[1] << 1), cells[:2]))
    assert not checker.follower.owed
    return grid, flits


@pytest.mark.req(*(f"TL-{number:03}" for number in RULES))
@pytest.mark.parametrize("table", GRIDS)
def test_every_half_flit_is_what_the_table_says(table):
    grid, flits = observe(table)
    for seen, cells in flits:
        for half, cell in zip(seen.halves, cells):
            assert half.due is _due(cell), cell
            assert half.poisoned == (cell == "POISON")
            if half.owed is not None and not half.poisoned:
                owner, index = cell.split(".")
                assert grid.names[half.owed.field.tag] == owner
                assert index == "BE" or half.owed.index == int(index)
        assert seen.swap == (
            is_control(cells[0]) and seen.upper.owed is not None and seen.upper.owed.field not in _own(seen)
        )


def _own(seen):
    return [control for _, control in seen.fields]


@pytest.mark.req(*(f"TL-{number:03}" for number in range(68, 76)))
@pytest.mark.parametrize("table", EFFICIENCY)
def test_efficiency(table):
    _, flits = observe(table)
    data = sum(32 for seen, _ in flits for half in seen.halves if half.due is Due.DATA)
    count, data_bytes, percent = EFFICIENCY[table]
    assert (len(flits), data) == (count, data_bytes)
    assert round(100 * data / (64 * len(flits)), 2) == percent
