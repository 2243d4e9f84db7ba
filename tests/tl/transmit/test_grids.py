"""The packing examples of the standard, made by the transmitter out of the beats that stand behind them."""

import random
from itertools import accumulate

import pytest

from support.packing_grids import AUTHENTICATED, control_items, is_control, rows
from support.tl.stimulus import (
    ATOMIC_NR,
    ATOMIC_R,
    PLENTY,
    READ,
    WRITE,
    WRITE_FULL,
    Stimulus,
    read_response,
    request,
    request_field,
    write_response,
)
from support.tl.transmit import TRANSMIT, Partner, check, run
from ualink.config import AddressCacheConfig, Credits, TLConfig

pytestmark = TRANSMIT

COMMANDS = {"R": READ, "W": WRITE, "WF": WRITE_FULL, "AR": ATOMIC_R, "AN": ATOMIC_NR}
CONFIG = TLConfig(
    **{name: Credits(pool=4) for name in ("req_cmd", "rsp_cmd", "req_data", "rsp_data")},
    tx_cache=AddressCacheConfig(rows=4, ways=4),
)
STALL = 40
"""Cycles for which the DL does not take a Control half-flit with fields, so that all of the next one waits."""
START = 20

MADE = {
    "5-5": "TL-066",
    "5-9": "TL-066",
    "5-12 Tx": "TL-066",
    "5-12 Rx": "TL-066",
    "5-15": "TL-068",
    "5-16": "TL-069",
    "5-17": "TL-070",
    "5-18": "TL-071",
    "5-19": "TL-072",
    "5-20": "TL-073",
    "5-21": "TL-074",
    "5-22": "TL-075",
    "5-25": "TL-138",
}
"""The tables that this transmitter makes as they are printed, and what they show. In the others the standard has put a
field or FC into another of the free sectors."""


def requested(kind, compressed, rng):
    """The Request of a table's ``kind``, such as WF4, that goes in the form that the table shows."""
    plain = kind.rstrip("+!01234")
    beats = int(kind[len(plain)]) if kind[len(plain) :] else 1
    cmd = COMMANDS[plain]
    form = {"attr": 0xFF if cmd == READ else 0, "meta_data": 0} if compressed or "+" in kind else {"attr": 0x0F}
    return request(
        cmd, beats=beats, rng=rng, addr=0x40_0000, len=16 * beats - 1, dst_phys_acc_id=1, **{"meta_data": 0, **form}
    )


class Grid:
    """A table as beats, one group for each Control half-flit, and where their fields must stand."""

    def __init__(self, table, rng):
        self.flits = list(rows(table))
        self.groups = []
        self.primed = any(width == 2 for items in self._controls() for _, width, name, _ in items if "Req" in name)
        for items in self._controls():
            requests, reads, writes = [], [], []
            for _, width, _, kind in sorted(items):
                if kind is None:
                    continue
                if kind.startswith("RR"):
                    reads.append(read_response(int(kind[2]), rng=rng, status=0 if width == 1 else 2))
                elif kind == "WR":
                    writes.append(write_response(rng=rng, status=0 if width == 1 else 2))
                else:
                    requests.append(requested(kind, width == 2, rng))
            self.groups.append((requests, reads, writes, any(kind is None for *_, kind in items)))

    def _controls(self):
        return [list(control_items(lower)) for lower, _, _ in self.flits if is_control(lower)]

    def expected(self):
        """(sector, sectors) of the fields of each flit, Flow Control included."""
        return [
            sorted((sector, width) for sector, width, _, _ in control_items(lower)) if is_control(lower) else []
            for lower, _, _ in self.flits
        ]


def play(table):
    """The flits of the transmitter as (sector, sectors) of their fields, from the first group on."""
    rng = random.Random(table)
    grid = Grid(table, rng)
    authentication = table in AUTHENTICATED
    # Loads the region into the cache; then a lead whose last half-flit stands in an upper slot.
    opening = [requested("R1", True, rng)] if grid.primed else []
    opening.append(request(WRITE_FULL if authentication else WRITE, beats=4, rng=rng))
    stimulus = Stimulus(
        opening + [transfer for requests, *_ in grid.groups for transfer in requests],
        [beats for _, reads, _, _ in grid.groups for beats in reads],
        [beat for _, _, writes, _ in grid.groups for beat in writes],
    )
    ends = [len(opening)]
    for requests, reads, writes, _ in grid.groups:
        ends.append(ends[-1] + len(requests) + len(reads) + len(writes))
    totals = {"req": [len(opening)], "rd_rsp": [0], "wr_rsp": [0]}
    for requests, reads, writes, _ in grid.groups:
        for channel, count in (("req", len(requests)), ("rd_rsp", sum(map(len, reads))), ("wr_rsp", len(writes))):
            totals[channel].append(totals[channel][-1] + count)
    so_far = {"stalled_until": 0, "fields": 0, "groups": 0}

    def group(partner):
        """The group that may be offered now: the one behind the last whole group that the partner has or is offered."""
        return sum(len(partner.fields) + partner.coming() >= end for end in ends)

    def hold(channel, waiting, cycle, partner):
        if cycle < START:
            return True
        if channel not in totals:
            return False
        return totals[channel][-1] - len(waiting) >= totals[channel][min(group(partner), len(ends) - 1)]

    def stall(cycle, partner):
        fields = len(partner.fields) + partner.coming()
        if fields != so_far["fields"]:
            so_far["fields"], so_far["stalled_until"] = fields, cycle + STALL
        return cycle < so_far["stalled_until"]

    def releases(cycle, partner):
        number = group(partner) - 1
        if number < so_far["groups"] or number >= len(grid.groups) or number < 0:
            return []
        so_far["groups"] = number + 1
        if not grid.groups[number][3]:
            return []
        partner.transmit_credits.send(request_field(request(READ, vc=0)[0], pool=1))
        return [("req_cmd", 1, 0, 1)]

    partner = Partner(PLENTY, authentication=authentication)
    run(CONFIG, stimulus, partner=partner, hold=hold, stall=stall, releases=releases, also=START + 60)
    check(stimulus, partner)
    counts = accumulate(sum(f.is_request or f.is_response for _, f in fields) for _, fields, _ in partner.flits)
    first = next(n for n, count in enumerate(counts) if count > ends[0])
    return [[(sector, f.sectors) for sector, f in fields] for _, fields, _ in partner.flits[first:]], grid.expected()


@pytest.mark.parametrize("table", [pytest.param(table, marks=pytest.mark.req(shown)) for table, shown in MADE.items()])
def test_table(table):
    """Every Control half-flit in its flit, all fields in their sectors; the partner finds data and tags behind them."""
    shown, expected = play(table)
    assert shown[: len(expected)] == expected
    assert not any(shown[len(expected) :])
