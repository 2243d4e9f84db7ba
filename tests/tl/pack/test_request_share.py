"""Which Requests go: the truth table, what its rows say, and that the block does what they say."""

from itertools import product

from amaranth.sim import Simulator

from ualink.tl.pack.request_share import REQUESTS_IN_SIGHT, SHARE, Asks, RequestShare
from ualink.tl.pack.stack import PAIRS, REGIONS

ROWS = {row.forms: row for row in SHARE}
PAIRS_OF = {"C": 1, "U": 2}


def test_the_docstring_shows_the_table():
    printed = [line.split(maxsplit=3) for line in (RequestShare.__doc__ or "").split("====\n")[2].splitlines()]
    expected = [
        [row.forms or "none", str(row.pairs), str(row.lowest) if row.pairs else "–", row.asks.value] for row in SHARE
    ]
    assert printed[:-1] == expected


def test_requests_and_what_they_leave_are_the_half_flit():
    for row in SHARE:
        assert sum(PAIRS_OF[form] for form in row.forms) + row.pairs == PAIRS
        assert not row.pairs or (row.lowest, row.pairs) in REGIONS
        assert not row.forms or row.forms[:-1] in ROWS


def follow(forms, may, turn, due, fit):
    """How many go, row after row."""
    for count in range(1, REQUESTS_IN_SIGHT + 1):
        row = ROWS.get(forms[:count])
        if count > may or row is None:
            return count - 1
        unasked = {
            Asks.NOT: True,
            Asks.IN_TURN: not turn,
            Asks.IN_TURN_WITHOUT_FC: not turn and not due,
            Asks.ALWAYS: False,
        }
        if not unasked[row.asks] and row.pairs < fit:
            return count - 1
    return REQUESTS_IN_SIGHT


def test_all_that_can_be_asked():
    """``fit`` is least where the Responses and a due FC field have room in that many pairs; PAIRS + 1: in none."""
    dut = RequestShare()

    async def bench(ctx):
        for forms in map("".join, product("CU", repeat=REQUESTS_IN_SIGHT)):
            for may, turn, due, fit in product(range(REQUESTS_IN_SIGHT + 1), (0, 1), (0, 1), range(PAIRS + 2)):
                # Those that may go have the forms of these rows.
                ctx.set(dut.rows, sum(forms[:may].startswith(row.forms) << n for n, row in enumerate(SHARE)))
                ctx.set(dut.responses_turn, turn)
                ctx.set(dut.due, due)
                ctx.set(dut.fit, (1 << PAIRS + 1) - (1 << fit))
                await ctx.delay(1e-9)
                count = follow(forms, may, turn, due, fit)
                row = ROWS[forms[:count]]
                assert ctx.get(dut.requests) == (1 << count) - 1
                assert ctx.get(dut.left) == 1 << row.pairs
                region = 1 << REGIONS.index((row.lowest, row.pairs)) if row.pairs else 0
                assert ctx.get(dut.regions) == region

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
