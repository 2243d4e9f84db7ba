"""The receiver takes all of the standard's packing examples as they are printed, bit for bit.

Each comes twice in a row: all end before a control slot. The entries that Compressed Requests read are loaded before.
"""

import random
from dataclasses import replace

import pytest

from support.packing_grids import AUTHENTICATED, GRIDS, control_items, is_control, rows
from support.tl.receive import CACHE, RECEIVE, ROOMY, run
from support.tl.traffic import Expected, check
from ualink_sim.model.tl.compression import AddressCache
from ualink_sim.model.tl.fields import (
    CompressedRequest,
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
    encode_control_half_flit,
)
from ualink_sim.model.tl.sequence import Issue

pytestmark = RECEIVE

CONFIG = ROOMY.replace(rx_cache=CACHE)
NOP_FLIT = bytes(64), 0
COMMANDS = {"R": 0x03, "W": 0x28, "WF": 0x29, "AR": 0x30, "AN": 0x32}
CODES = {"R": 0b000, "W": 0b100, "WF": 0b110}
ENTRY = {"src_acc_id": 5, "cway": 2}
"""The entry that all Compressed Requests of a table read."""


def issue_of(rng, sector, sectors, kind):
    """A field of ``kind`` (see ``packing_grids``) with random contents, its data, byte enables and tag."""
    if kind is None:
        counts = (rng.randrange(1, 8), rng.randrange(1, 8), rng.randrange(1, 32), rng.randrange(1, 32))
        credits = [Credit(count, rng.choice((None, 0, 1, 2, 3))) for count in counts]
        names = ("req_cmd", "rsp_cmd", "req_data", "rsp_data")
        return Issue(sector, FlowControl(**dict(zip(names, credits))))
    name, _, poisoned = kind.rstrip("+").partition("!")
    name, beats = name.rstrip("0123456789"), int(name.lstrip("ARWFN") or 1)
    common = {"tag": rng.randrange(1 << 11), "vchan": rng.randrange(4), "pool": 1, "dst_acc_id": rng.randrange(1 << 10)}
    if name in ("RR", "WR"):
        make = CompressedResponse if sectors == 1 else UncompressedResponse
        control = make(**common, rd_wr=int(name == "RR"), len=beats - 1)
    elif sectors == 2:
        addr = rng.randrange(1 << 12) << 2 | rng.randrange(5 - beats)
        control = CompressedRequest(**common, **ENTRY, cmd=CODES[name], len=beats - 1, addr=addr)
    else:
        load = {**ENTRY, "cload": 1} if kind.endswith("+") else {}
        num_beats = 0 if name == "R" else beats - 1
        control = UncompressedRequest(
            **common, **load, cmd=COMMANDS[name], addr=rng.randrange(1 << 55), num_beats=num_beats
        )
    enables = rng.randbytes(32) if name in ("W", "AR", "AN") else b""
    poison = frozenset(int(beat) for beat in poisoned)
    return Issue(sector, control, rng.randbytes(64 * control.data_beats()), enables, poison, rng.randrange(1, 1 << 64))


def half_of(cell, issues, rng):
    """32 bytes and message bit of a half-flit that is no Control half-flit."""
    if cell == "NOP":
        return bytes(32), 0
    if cell == "POISON":
        return b"\x20" + rng.randbytes(31), 1
    if cell.startswith("TAGS"):
        return b"".join(issues[name].tag.to_bytes(8, "little") for name in cell.split()[1:]).ljust(32, b"\0"), 0
    name, _, number = cell.partition(".")
    issue = issues[name]
    return issue.byte_enables if number == "BE" else issue.data[32 * int(number) : 32 * int(number) + 32], 0


def flits_of(table, rng, expected, cache):
    issues = {}
    for lower, upper, _ in rows(table):
        if is_control(lower):
            control = [issue_of(rng, sector, sectors, kind) for sector, sectors, _, kind in control_items(lower)]
            issues |= {name: issue for (_, _, name, _), issue in zip(control_items(lower), control)}
            control.sort(key=lambda issue: issue.sector)
            first = encode_control_half_flit([(issue.sector, issue.field) for issue in control]), 0
            for issue in control:
                request = issue.field.is_request
                expected.add(untagged(table, issue), expanded=cache.receive(issue.field) if request else None)
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


def untagged(table, issue):
    return issue if table in AUTHENTICATED else replace(issue, tag=0)


def load(rng, authentication, expected, cache):
    """A flit that loads the entry, and some that give the source rate limit time."""
    issue = issue_of(rng, 0, 4, "R4+")
    issue = issue if authentication else replace(issue, tag=0)
    expected.add(issue, expanded=cache.receive(issue.field))
    upper = issue.tag.to_bytes(32, "little")
    return [(encode_control_half_flit([(0, issue.field)]) + upper, 0), *[NOP_FLIT] * 8]


NUMBERS = (*range(66, 76), 43, 44, 45, 48, 49, 53, 82, 37, 121, 128, 137, 138)


@pytest.mark.req(*(f"TL-{number:03}" for number in NUMBERS))
@pytest.mark.parametrize("table", GRIDS)
def test_packing_example(table):
    rng, expected, cache = random.Random(table), Expected(), AddressCache("src_acc_id", CACHE.rows, CACHE.ways)
    authentication = table in AUTHENTICATED
    flits = load(rng, authentication, expected, cache)
    flits += flits_of(table, rng, expected, cache)
    if table in ("5-12 Tx", "5-23", "5-24"):
        # They begin with more Requests than the rate limit allows at their end.
        flits += [NOP_FLIT] * 4
    flits += flits_of(table, rng, expected, cache)
    check(run(CONFIG, flits, drain=16, authentication=int(authentication)), expected)
