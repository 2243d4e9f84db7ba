"""A receiver whose every stage holds a flit, when the link goes down, Drop Mode begins, or one of them is illegal."""

import pytest

from support.tl.illegal import CONFIG as FEW
from support.tl.illegal import control, flow, read, write_response
from support.tl.receive import CACHE, OFFLINE, OPENS, RECEIVE, _bench, run
from ualink.config import Credits, TLConfig
from ualink.tl.receive.error import ReceiveError
from ualink_sim.model.tl.fields import READ, CompressedRequest, Credit, FlowControl, UncompressedRequest
from ualink_sim.model.tl.sequence import message_half_flit

pytestmark = RECEIVE

CONFIG = TLConfig(
    rx_cache=CACHE,
    req_cmd=Credits(pool=40),
    rsp_cmd=Credits(pool=4),
    req_data=Credits(pool=8),
    rsp_data=Credits(pool=8),
)
OFFERED = 6
"""The cycle in which a Request without data is offered whose flit comes in cycle 0."""

FC = 3
"""The cycle in which its credits are told."""

SETTLE = 12
"""Cycles of a session after which Requests may come, four of before being caught."""


def entry(number):
    """Row, way and address bits of the load with this number."""
    return number % CACHE.rows, number // CACHE.rows, 0x12_3456_0000 + number


def load(sector, number):
    row, way, region = entry(number)
    request = UncompressedRequest(cmd=READ, pool=1, tag=number, addr=region << 18, src_acc_id=row, cload=1, cway=way)
    return sector, request


def use(sector, number):
    row, way, _ = entry(number)
    return sector, CompressedRequest(pool=1, tag=100 + number, src_acc_id=row, cway=way)


def full_stages(flits):
    """As many flits, from the third one on with all four entries of the catch buffer taken; the numbers in each."""
    numbers, count = [], 0
    for n in range(flits):
        brought = 2 if n < 3 else 1
        numbers.append(range(count, count + brought))
        count += brought
    return [flow(control(*(load(4 * n, number) for n, number in enumerate(some)))) for some in numbers], numbers


def uses(count):
    """All loads are read again, at the rate of the limit; the flits, and the addresses that must come of them."""
    flits = []
    for first in range(0, count, 4):
        some = range(first, min(first + 4, count))
        flits += [flow(control(*(use(2 * n, number) for n, number in enumerate(some)))), *[flow()] * 3]
    return flits, [(100 + number, entry(number)[2] << 20) for number in range(count)]


def found(got, first, end=999):
    return [(beat["tag"], beat["addr"]) for beat in got.beats("req") if first <= beat["tag"] < end]


@pytest.mark.req("TL-221", "TL-225", "TL-142", "TL-154", "TL-156")
@pytest.mark.parametrize("down", [1, 2, 3, 4, 7])
def test_the_link_goes_down_and_up_with_a_flit_in_every_stage(down):
    """Flits come up to the last cycle before and from the first one after; nothing is lost, doubled or mixed up."""
    flits, numbers = full_stages(9)
    fall, loads = len(flits), numbers[-1][-1] + 1
    returned = [flow(control((n % 7, FlowControl(req_cmd=Credit(n % 7 + 1))))) for n in range(SETTLE)]
    again, expected = uses(loads)
    got = run(CONFIG, [*flits, *[OFFLINE] * down, *returned, *again])
    assert got.errors == []
    # One leaves in each cycle, and the last in that in which the link goes down.
    assert found(got, 0, 100) == [(n, entry(n)[2] << 20) for n in range(fall - OFFERED + 1)]
    assert found(got, 100) == expected
    assert [fc["req_cmd"][0] for fc in got.fc] == [n % 7 + 1 for n in range(SETTLE)]
    up = fall + down
    assert got.buffers_free[fall : up + OPENS] == [1] + [0] * (down + OPENS - 1)
    assert all(got.buffers_free[up + SETTLE :])


@pytest.mark.req("TL-156", "TL-157", "TL-221")
@pytest.mark.parametrize("down", [1, 2, 3])
def test_credits_and_messages_of_a_flit_count_for_its_session_only(down):
    """A flit that came in one of the last cycles before the link went down is told of before, or never."""
    complete = message_half_flit(1, bytes([1]) * 31)
    for after in range(6):
        old = [flow(control((3, FlowControl(req_cmd=Credit(5)))), complete, 2), *[None] * after]
        new = [*[None] * after, flow(control((2, FlowControl(rsp_data=Credit(9, vc=1)))))]
        got = run(CONFIG, [*old, *[OFFLINE] * down, *new], drain=8)
        told = [(fc["req_cmd"][0], fc["rsp_data"][2]) for fc in got.fc]
        assert told == [(5, 0)] * (after + 1 >= FC - 1) + [(0, 9)], after
        fall = 1 + after
        assert [done for done, _ in got.peer[fall + 2 :]] == [0] * len(got.peer[fall + 2 :]), after


@pytest.mark.req("TL-216", "TL-225", "RAS-052")
@pytest.mark.parametrize("start", range(10))
def test_drop_mode_begins_with_a_flit_in_every_stage(start):
    """It begins in cycle ``start`` of ten flits, of which it delivers nothing more; every load of them counts."""
    flits, numbers = full_stages(10)
    loads = numbers[-1][-1] + 1
    dut = _bench(CONFIG).dut

    def discard(level):
        return lambda ctx: ctx.set(dut.discard, level)

    again, expected = uses(loads)
    # A cycle in which Drop Mode begins has no flit of its own: it stands between two.
    stream = [*flits[:start], discard(1), *flits[start:], *[None] * 3]
    got = run(CONFIG, [*stream, OFFLINE, OFFLINE, discard(0), *[None] * SETTLE, *again])
    assert got.errors == []
    delivered = found(got, 0, 100)
    assert delivered == [(n, entry(n)[2] << 20) for n in range(max(0, start - OFFERED + 1))]
    assert found(got, 100) == expected
    assert not any(got.buffers_free[start + 1 : len(stream) + 2 + OPENS])


EARLY = {
    "corrupt": (ReceiveError.FLIT_CORRUPT, (*flow(control((0, read()))), 1)),
    "field": (ReceiveError.FTYPE, flow(b"\xff" * 32)),
    "sequence": (ReceiveError.MANDATORY_NOP, flow(upper=b"\x01" + bytes(31))),
}
LATE = {
    "request": (ReceiveError.REQ_CMD_CREDIT, flow(control((0, read(pool=0, vchan=1)), (4, read(tag=0x2FF))))),
    "response": (ReceiveError.RSP_CMD_CREDIT, flow(control((0, write_response(pool=0, vchan=2))))),
}
BEHIND = (
    flow(control((4, read(tag=0x201)))),
    flow(control((1, write_response(tag=0x202)))),
    flow(control((0, FlowControl(req_cmd=Credit(6), rsp_data=Credit(8))))),
    flow(message_half_flit(1, bytes([1]) * 31), message=1),
    flow(control((0, write_response(rd_wr=1, len=0, tag=0x203))), b"\x33" * 32),
)
SEEN = flow(control((0, read(tag=0x101)), (4, write_response(tag=0x102))))


def tags(got):
    return sorted(beat["tag"] for name in ("req", "wr_rsp", "rd_rsp") for beat in got.beats(name))


@pytest.mark.req("TL-087", "TL-088", "TL-220")
@pytest.mark.parametrize("kind", [*EARLY, *LATE])
def test_nothing_behind_an_error_is_heard(kind):
    """Each kind of flit right behind it, and one, two, three … cycles later; what came just before is delivered."""
    code, bad = {**EARLY, **LATE}[kind]
    for gap in range(7):
        for first in range(len(BEHIND)):
            behind = [*[None] * gap, *BEHIND[first:], *[None] * 9, OFFLINE]
            got = run(FEW, [SEEN, *[None] * 3, SEEN, bad, *behind, *[None] * OPENS, SEEN], drain=6)
            [(cycle, error)] = got.errors
            assert (error, got.log[:2]) == (code, (code, 1))
            assert cycle == 5 + (3 if kind in EARLY else 6), (gap, first)
            assert tags(got) == [0x101] * 3 + [0x102] * 3, (gap, first)
            heard = [flit for n, flit in enumerate(behind) if kind in LATE and n + 1 < 6 - 2 and flit in BEHIND]
            assert len(got.fc) == (BEHIND[2] in heard), (gap, first)
            assert any(done for done, _ in got.peer) == (BEHIND[3] in heard), (gap, first)


@pytest.mark.req("TL-088", "TL-220")
@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("early", EARLY)
def test_of_two_errors_one_is_told_and_neither_is_delivered(late, early):
    """The field without a credit comes first, but an illegal flit right behind it is found before."""
    for gap in range(6):
        flits = [SEEN, LATE[late][1], *[None] * gap, EARLY[early][1], SEEN, *[None] * 9, OFFLINE]
        got = run(FEW, [*flits, *[None] * OPENS, SEEN], drain=6)
        [(_, error)] = got.errors
        assert error is (EARLY[early] if gap + 1 + 3 < 6 else LATE[late])[0], gap
        assert got.log[:2] == (error, 1)
        assert tags(got) == [0x101] * 2 + [0x102] * 2, gap
