"""The judge of fault campaigns: it sees what is missing, what is too much, and what is wrong."""

from dataclasses import replace

import pytest

from support.faults.kinds import KINDS
from support.faults.outcome import RESET, Report, judge
from support.faults.settlement import UNWRITTEN, ended
from support.faults.strikes import HERE, THERE
from support.stream_device import WHOLE, Ask
from ualink_sim.model.upli.transactions import Status

EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
DATA = bytes(range(256))


def good(kind, ports=4) -> Report:
    """A report of what ``kind`` is to lead to."""
    shown = {HERE: sorted(kind.here.must), THERE: sorted(kind.there.must)}
    return Report(kind.name, 0, ports, 0, True, "", shown, [], 26.0, 26.0, 26.0)


@EVERY
def test_an_outcome_as_expected_is_good(kind):
    assert judge(kind, good(kind)) == []


@EVERY
def test_a_fault_that_is_not_struck_is_none(kind):
    assert judge(kind, replace(good(kind), struck=False)) == ["nothing was struck"]


@EVERY
def test_whatever_is_missing_or_too_much_is_found(kind):
    for end, outcome in ((HERE, kind.here), (THERE, kind.there)):
        for word in outcome.must:
            shown = {**good(kind).shown, end: sorted(outcome.must - {word})}
            assert judge(kind, replace(good(kind), shown=shown)) == [f"{end} does not show {word}"]
        for word in {"ask.poison", "drop.protocol_error", "error.ftype"} - outcome.must:
            shown = {**good(kind).shown, end: sorted(outcome.must | {word})}
            assert judge(kind, replace(good(kind), shown=shown)) == [f"{end} shows {word}"]


@EVERY
def test_ends_that_are_taken_for_one_another_are_found(kind):
    shown = {HERE: good(kind).shown[THERE], THERE: good(kind).shown[HERE]}
    symmetric = kind.here.must == kind.there.must
    assert bool(judge(kind, replace(good(kind), shown=shown))) != symmetric


@EVERY
def test_the_outcome_of_another_kind_is_not_taken(kind):
    for other in KINDS.values():
        shows = (other.here.must, other.there.must)
        fits = all(mine.must <= theirs <= mine.must | mine.may for mine, theirs in zip((kind.here, kind.there), shows))
        assert (judge(kind, good(other)) == []) == fits


@EVERY
def test_lost_bandwidth_is_found(kind):
    assert judge(kind, replace(good(kind), after=20.0))
    assert judge(kind, replace(good(kind), before=0.0, after=0.0))
    assert judge(kind, replace(good(kind), cleared=10.0))
    assert bool(judge(kind, replace(good(kind), cleared=20.0))) == (kind.recovery != RESET)


def test_what_is_wrong_stays_wrong():
    kind = KINDS["flipped_bits"]
    assert judge(kind, replace(good(kind), wrong=["a: 0x0 was never answered"])) == ["a: 0x0 was never answered"]


def write(status, count=1):
    return Ask(0, DATA, beats=[{"status": status}] * count)


def read(data, status=Status.OKAY, poisoned=()):
    beats = [
        {
            "status": status,
            "offset": n,
            "data": int.from_bytes(data[64 * n : 64 * n + 64], "little"),
            "data_error": int(n in poisoned),
        }
        for n in range(WHOLE // 64)
    ]
    return Ask(0, beats=beats)


def test_writes_are_done_once_or_not_at_all():
    unwritten = UNWRITTEN * 4
    assert ended(write(Status.OKAY), times=1, stands=DATA) == (set(), [])
    assert ended(write(Status.CMPTO), times=0, stands=unwritten) == ({"time_out"}, [])
    assert ended(write(Status.CMPTO), times=1, stands=DATA) == ({"time_out"}, [])
    assert ended(write(Status.TARGET_ABORT), times=1, stands=DATA[:64] + unwritten[64:]) == ({"abort"}, [])
    assert ended(write(Status.OKAY), times=2, stands=DATA)[1] == ["came 2 times"]
    assert ended(write(Status.OKAY), times=0, stands=DATA)[1] == ["came 0 times"]
    assert ended(write(Status.TARGET_ABORT), times=0, stands=unwritten)[1] == ["came 0 times"]
    assert ended(write(Status.OKAY), times=1, stands=unwritten[:64] + DATA[64:])[1] == ["left wrong data at 0x0"]
    assert ended(write(Status.CMPTO), times=1, stands=DATA[64:] + DATA[:64])[1] != []
    assert ended(write(Status.DECODE_ERROR), times=1, stands=DATA) == ({"other"}, ["was answered with status 3"])
    assert ended(write(Status.OKAY, count=0)) == (set(), ["was never answered"])


def test_wrong_data_are_marked_or_found():
    spoiled = DATA[:200] + b"\0" + DATA[201:]
    assert ended(read(DATA), expected=DATA) == (set(), [])
    assert ended(read(spoiled, poisoned=[3]), expected=DATA) == ({"poison"}, [])
    assert ended(read(spoiled), expected=DATA)[1] == ["gave a wrong beat 3, and nothing says so"]
    assert ended(read(spoiled, poisoned=[2]), expected=DATA)[1] == ["gave a wrong beat 3, and nothing says so"]
    assert ended(read(b"\xff" * WHOLE, Status.CMPTO), expected=DATA) == ({"time_out"}, [])
