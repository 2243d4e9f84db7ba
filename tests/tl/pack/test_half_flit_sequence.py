"""Half-flit sequence of the transmitter: the standard's grids, random offers and stalls, slots lost and not lost."""

import random

import pytest

from support.packing_grids import AUTHENTICATED, GRIDS, control_items, is_control, rows
from support.tl.sequence import Offer, run
from ualink_sim.model.tl.fields import (
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
    encode_control_half_flit,
)
from ualink_sim.model.tl.sequence import (
    INITIAL_CREDIT_RELEASE_COMPLETE,
    ControlFields,
    DataHalfFlit,
    Issue,
    ReceiveSequence,
    Tags,
    message_half_flit,
)

UNCOMPRESSED = {"R": 0x03, "W": 0x28, "WF": 0x29, "AR": 0x30, "AN": 0x32}
COMPRESSED = {"R": 0b000, "W": 0b100, "WF": 0b110}
FC = FlowControl(req_cmd=Credit(5), rsp_cmd=Credit(5, 1), req_data=Credit(20), rsp_data=Credit(20, 3))
NOTHING = Offer(offered=False)
COMPLETE = message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE, bytes([1]))


def issue(rng, sector, control, poisoned=()):
    """``control`` with random data, byte enables and tag."""
    enables = rng.randbytes(32) if control.has_byte_enables() else b""
    data = rng.randbytes(64 * control.data_beats())
    return Issue(sector, control, data, enables, frozenset(poisoned), rng.getrandbits(64) | 1)


def field_of(kind, sectors, tag):
    """The field that ``packing_grids`` calls ``kind``."""
    name, _, _ = kind.partition("!")
    beats = int(name.strip("ARWFN+") or 1)
    name = name.rstrip("+0123456789")
    if name in ("RR", "WR"):
        form = CompressedResponse if sectors == 1 else UncompressedResponse
        return form(tag=tag, rd_wr=int(name == "RR"), len=beats - 1)
    if sectors == 2:
        return CompressedRequest(cmd=COMPRESSED[name], tag=tag, len=beats - 1)
    return UncompressedRequest(cmd=UNCOMPRESSED[name], tag=tag, num_beats=0 if name == "R" else beats - 1)


def grid(table):
    """The Control half-flits of ``table`` as offers, and its flits as (64 bytes, message bits)."""
    rng = random.Random(table)
    offers, content, issues = [], {"NOP": (bytes(32), 0), "POISON": (message_half_flit(0x20), 1)}, {}
    for lower, _, _ in rows(table):
        if not is_control(lower):
            continue
        made = []
        for sector, sectors, name, kind in control_items(lower):
            if kind is None:
                made.append(Issue(sector, FC))
                continue
            bad = [int(beat) for beat in kind.partition("!")[2]]
            issues[name] = issue(rng, sector, field_of(kind, sectors, len(issues) + 1), bad)
            made.append(issues[name])
            data = issues[name].data
            content |= {f"{name}.{k}": (data[32 * k : 32 * k + 32], 0) for k in range(len(data) // 32)}
            content[f"{name}.BE"] = issues[name].byte_enables, 0
        offers.append(Offer(tuple(made)))
        content[lower] = encode_control_half_flit([(i.sector, i.field) for i in made]), 0
    flits = []
    for lower, upper, _ in rows(table):
        names = upper.split()[1:] if upper.startswith("TAGS") else ()
        tags = b"".join(issues[name].tag.to_bytes(8, "little") for name in names)
        halves = content[lower], (tags.ljust(32, b"\0"), 0) if names else content[upper]
        flits.append((halves[0][0] + halves[1][0], halves[0][1] | halves[1][1] << 1))
    return offers, flits


@pytest.mark.req(
    *("TL-039", "TL-040", "TL-041", "TL-042", "TL-043", "TL-044", "TL-045", "TL-047", "TL-048", "TL-049", "TL-050"),
    *("TL-053", "TL-054", "TL-062", "TL-066", "TL-067"),
)
@pytest.mark.parametrize("table", GRIDS)
def test_grid_of_the_standard(table):
    """Control half-flits that are always there give the table, flit for flit, and no cycle is lost."""
    offers, expected = grid(table)
    result = run(
        lambda taken, swap_next, allowances: offers[len(taken)] if len(taken) < len(offers) else NOTHING,
        len(expected) + 6,
        authentication=table in AUTHENTICATED,
    )
    assert [flit for _, *flit in result.flits] == [list(flit) for flit in expected]
    assert result.flits[-1][0] - result.flits[0][0] == len(expected) - 1


def random_fields(rng, authentication, allowances):
    """Fields anywhere in the sectors, within the limits."""
    issues, sector, left = [], 0, {"request": allowances[0], "response": allowances[1]}
    tags = 4 if authentication else 8
    while sector < 8:
        size = rng.choice([n for n in (1, 2, 4) if sector % n == 0])
        tag, beats = rng.randrange(2048), rng.randint(1, 4)
        choice = {
            4: [UncompressedRequest(cmd=cmd, tag=tag, num_beats=beats - 1) for cmd in (3, 0x28, 0x29, 0x2A, 0x3C)],
            2: [CompressedRequest(cmd=cmd, tag=tag, len=beats - 1) for cmd in (0, 4, 6)]
            + [UncompressedResponse(tag=tag, rd_wr=rd_wr, len=beats - 1) for rd_wr in (0, 1)],
            1: [None, None, FC, CompressedReadResponse(tag=tag)]
            + [CompressedResponse(tag=tag, rd_wr=rd_wr, len=beats - 1) for rd_wr in (0, 1)],
        }[size]
        control = rng.choice(choice)
        kind = control and ("request" if control.is_request else "response" if control.is_response else None)
        if control and (kind is None or (left[kind] and tags)) and rng.random() < 0.7:
            if kind:
                left[kind] -= 1
                tags -= 1
            bad = [beat for beat in range(control.data_beats()) if rng.random() < 0.2]
            issues.append(issue(rng, sector, control, bad))
        sector += size
    return issues


def random_offers(rng, authentication, *, offered=0.8, messages=0.05):
    """A ``choose`` that offers something new in every cycle."""

    def choose(taken, swap_next, allowances):
        fc = tuple(Issue(sector, FC) for sector in range(8) if rng.random() < 0.2)
        if rng.random() >= offered:
            return Offer(fc, offered=False)
        if rng.random() < messages:
            return Offer(message=COMPLETE)
        if authentication and swap_next:
            return Offer(fc)
        return Offer(tuple(random_fields(rng, authentication, allowances)))

    return choose


@pytest.mark.req(
    *("TL-015", "TL-039", "TL-040", "TL-041", "TL-042", "TL-043", "TL-044", "TL-045", "TL-047", "TL-048", "TL-049"),
    *("TL-050", "TL-051", "TL-054", "TL-059", "TL-060", "TL-061", "TL-062", "TL-063", "TL-064", "TL-079", "TL-130"),
    *("TL-046", "TL-131", "TL-134", "TL-217"),
)
@pytest.mark.parametrize("authentication", [False, True])
@pytest.mark.parametrize("offered, ready, there", [(1.0, 1.0, 1.0), (0.8, 0.5, 0.7), (0.3, 0.9, 1.0), (0.6, 1.0, 0.4)])
def test_random_offers_and_stalls(authentication, offered, ready, there):
    """Every flit is what the model makes of the offers; the receiver's model understands it without an error."""
    rng = random.Random(f"{authentication} {offered} {ready} {there}")
    result = run(
        random_offers(rng, authentication, offered=offered),
        700,
        authentication=authentication,
        ready=lambda: rng.random() < ready,
        visible=lambda: 2 if rng.random() < there else rng.randint(0, 1),
    )
    assert len(result.flits) > 150 and {entry.swap for entry in result.taken} == {False, True}
    assert any(not entry.offer.offered for entry in result.taken) == (offered < 1)
    receive = ReceiveSequence(authentication)
    events = [event for _, data, message in result.flits for event in receive.receive(data, message)]
    assert not receive.failed
    sent = [entry.offer for entry in result.taken]
    fields = [sorted((i.sector, i.field) for i in offer.issues) for offer in sent if offer.issues]
    seen = [list(event.fields) for event in events if isinstance(event, ControlFields)]
    assert seen == [sorted(made, key=lambda item: item[0]) for made in fields][: len(seen)]
    assert len(fields) - len(seen) <= 2
    if authentication:
        tags = [sorted((i.sector, i.tag) for i in o.issues if i.field is not FC) for o in sent]
        tags = [[tag for _, tag in made] for made in tags if made]
        got = [[tag for _, tag in event.tags] for event in events if isinstance(event, Tags)]
        assert got == tags[: len(got)] and len(tags) - len(got) <= 2
    halves = [half for offer in sent for half in offer.half_flits]
    got = [(e.data, e.poisoned) for e in events if isinstance(e, DataHalfFlit)]
    assert got == [(bytes(32) if bad else data, bool(bad)) for data, bad in halves][: len(got)]


@pytest.mark.parametrize("authentication", [False, True])
def test_no_slot_is_lost(authentication):
    """With something to send in every cycle a flit leaves in every cycle."""
    rng = random.Random(11)
    result = run(random_offers(rng, authentication, offered=1.0, messages=0), 400, authentication=authentication)
    cycles = [cycle for cycle, _, _ in result.flits]
    assert cycles == list(range(cycles[0], 400))


READ = CompressedRequest(cmd=0, tag=1)
WRITE = CompressedRequest(cmd=4, tag=2)
LONE = {
    "read": (READ,),
    "write response": (CompressedResponse(tag=3),),
    "flow control": (FC,),
    "write": (WRITE,),
}


@pytest.mark.parametrize("authentication", [False, True])
@pytest.mark.parametrize("name", LONE)
def test_latency_on_an_idle_link(name, authentication):
    """From ``offered`` to ``tx_flit``, with data or without."""
    fields = LONE[name]
    offer = Offer(tuple(issue(random.Random(1), 2 * n, control) for n, control in enumerate(fields)))
    choose = lambda taken, swap_next, allowances: NOTHING if taken else offer  # noqa: E731
    result = run(choose, 20, authentication=authentication)
    first = result.flits[0][0] - result.taken[0].cycle
    assert (result.taken[0].cycle, first) == (0, 3)


def test_what_waits_may_improve_until_its_slot():
    """A half-flit without data is not taken while the DL takes nothing; one not offered rides in a swap slot."""
    rng = random.Random(2)
    read, two = Offer((issue(rng, 0, READ),)), Offer((issue(rng, 0, READ), issue(rng, 2, READ)))
    write_full = Offer((issue(rng, 0, CompressedRequest(cmd=6)),))
    flow_control = Offer((Issue(7, FC),), offered=False)
    stalled = [(read, False)] * 4
    script = [
        (read, True),
        *stalled,
        (two, False),
        (two, True),
        (two, True),
        (write_full, True),
        *[(flow_control, True)] * 8,
    ]
    steps, now = iter(script), {}

    def ready():
        now["offer"], now["ready"] = next(steps)
        return now["ready"]

    result = run(lambda taken, swap_next, allowances: now["offer"], len(script), ready=ready)
    assert [(entry.offer, entry.cycle) for entry in result.taken] == [
        (read, 0),
        (read, 1),  # the flits before it have not left, and have room in front of them
        (read, 2),
        (read, 3),  # that the DL takes nothing is heard a cycle late
        (two, 7),
        (write_full, 8),
        (flow_control, 9),
    ]
    assert result.taken[6].swap and len(result.flits) == 7
