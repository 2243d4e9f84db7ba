"""The receiver takes the standard's packing examples as they are printed, bit for bit.

Only those without Compressed Requests and authentication. Each comes twice in a row: all end before a control slot.
"""

import random

import pytest

from packing_grids import AUTHENTICATED, GRIDS, control_items, is_control, rows
from tl_receive import ROOMY, run
from tl_traffic import Expected, check
from ualink_sim.model.tl_fields import (
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
    encode_control_half_flit,
)
from ualink_sim.model.tl_sequence import Issue

COMMANDS = {"R": 0x03, "W": 0x28, "WF": 0x29, "AR": 0x30, "AN": 0x32}


def items_of(table):
    return [item for lower, _, _ in rows(table) if is_control(lower) for item in control_items(lower)]


def eligible(table):
    """Without authentication and without a Request of two sectors."""
    return table not in AUTHENTICATED and not any(
        sectors == 2 and kind and kind[0] in "RWA" and not kind.startswith(("RR", "WR"))
        for _, sectors, _, kind in items_of(table)
    )


TABLES = [table for table in GRIDS if eligible(table)]


def issue_of(rng, sector, sectors, kind):
    """A field of ``kind`` (see ``packing_grids``) with random contents, its data and byte enables."""
    if kind is None:
        counts = (rng.randrange(1, 8), rng.randrange(1, 8), rng.randrange(1, 32), rng.randrange(1, 32))
        credits = [Credit(count, rng.choice((None, 0, 1, 2, 3))) for count in counts]
        names = ("req_cmd", "rsp_cmd", "req_data", "rsp_data")
        return Issue(sector, FlowControl(**dict(zip(names, credits))))
    name, _, poisoned = kind.partition("!")
    name, beats = name.rstrip("0123456789"), int(name.lstrip("ARWFN") or 1)
    common = {"tag": rng.randrange(1 << 11), "vchan": rng.randrange(4), "pool": 1, "dst_acc_id": rng.randrange(1 << 10)}
    if name in ("RR", "WR"):
        make = CompressedResponse if sectors == 1 else UncompressedResponse
        control = make(**common, rd_wr=int(name == "RR"), len=beats - 1)
    else:
        control = UncompressedRequest(
            **common, cmd=COMMANDS[name], addr=rng.randrange(1 << 55), num_beats=0 if name == "R" else beats - 1
        )
    enables = rng.randbytes(32) if name in ("W", "AR", "AN") else b""
    poison = frozenset(int(beat) for beat in poisoned)
    return Issue(sector, control, rng.randbytes(64 * control.data_beats()), enables, poison)


def half_of(cell, issues, rng):
    """32 bytes and message bit of a half-flit that is no Control half-flit."""
    if cell == "NOP":
        return bytes(32), 0
    if cell == "POISON":
        return b"\x20" + rng.randbytes(31), 1
    name, _, number = cell.partition(".")
    issue = issues[name]
    return issue.byte_enables if number == "BE" else issue.data[32 * int(number) : 32 * int(number) + 32], 0


def flits_of(table, rng, expected):
    issues = {}
    for lower, upper, _ in rows(table):
        if is_control(lower):
            control = []
            for sector, sectors, name, kind in control_items(lower):
                issue = issue_of(rng, sector, sectors, kind)
                issues[name] = issue
                control.append(issue)
            control.sort(key=lambda issue: issue.sector)
            first = encode_control_half_flit([(issue.sector, issue.field) for issue in control]), 0
            for issue in control:
                expected.add(issue)
            returns = [issue.field for issue in control if isinstance(issue.field, FlowControl)]
            if returns:
                expected.fc.append({name: ored(returns, name) for name in FlowControl.COUNT_BITS})
        else:
            first = half_of(lower, issues, rng)
        second = half_of(upper, issues, rng)
        yield first[0] + second[0], first[1] | second[1] << 1


def ored(returns, name):
    counts = [0] * 5
    for control in returns:
        credit = getattr(control, name)
        counts[0 if credit.vc is None else 1 + credit.vc] |= credit.count
    return tuple(counts)


def test_tables_with_uncompressed_requests_are_all_here():
    assert TABLES == ["5-5", "5-6", "5-7", "5-9", "5-12 Rx", "5-13", "5-15", "5-16"]


@pytest.mark.req("TL-066", "TL-067", "TL-068", "TL-069", "TL-043", "TL-044", "TL-045", "TL-082", "TL-037")
@pytest.mark.parametrize("table", TABLES)
def test_packing_example(table):
    rng, expected = random.Random(table), Expected()
    flits = [*flits_of(table, rng, expected), *flits_of(table, rng, expected)]
    check(run(ROOMY, flits, drain=16), expected)
