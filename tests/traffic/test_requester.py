"""What can go wrong with a Response: each is found, named and counted exactly once."""

import pytest

from support.traffic.partner import OTHER, OWN, SEED, Partner, changed
from ualink.traffic.interface import ErrorKind
from ualink.traffic.statistics import COUNTERS, ERRORS
from ualink_sim.model.traffic import Command, Pattern, Settings, line_data, plans
from ualink_sim.model.upli.transactions import Status, WrRspBeat

ASKED = 10
SETTINGS = Settings(
    pattern=Pattern.RANDOM, region=6, read=110, write=60, atomic=40, own=OWN, first=OTHER, seed=0x1234_5678_9ABC_DEF1
)
PLANS = [plan for plan, _ in zip(plans(SETTINGS), range(ASKED))]
READ = next(n for n, plan in enumerate(PLANS) if plan.command == Command.READ)
WRITE = next(n for n, plan in enumerate(PLANS) if plan.command in (Command.WRITE, Command.WRITE_FULL))
TIME_OUT = 50
LATE = 100
BEATS = PLANS[READ].beats


def _flip(beat, lane):
    data = bytearray(beat.data)
    data[lane] ^= 0x10
    return changed(beat, data=bytes(data))


def _on_wr_rsp(beat):
    return WrRspBeat(tag=beat.tag, dst_phys_acc_id=beat.dst_phys_acc_id)


def _alone(beats):
    """In Single Beat mode, last offset first."""
    order = [changed(beat, num_beats=0, last=False) for beat in reversed(beats)]
    return [*order[:-1], changed(order[-1], last=True)]


# Which Request, what its Response becomes, what is counted, the first error.
CASES = {
    "nothing wrong": (READ, lambda b: b, {}, "NONE"),
    "single beat mode": (READ, _alone, {}, "NONE"),
    "wrong byte": (READ, lambda b: [b[0], _flip(b[1], 37), *b[2:]], {"wrong_bytes": 1}, "DATA"),
    "wrong line": (READ, lambda b: [changed(b[0], data=bytes(64)), *b[1:]], {"wrong_bytes": 64}, "DATA"),
    "read lost": (READ, lambda b: [], {"time_outs": 1}, "TIME_OUT"),
    "write lost": (WRITE, lambda b: [], {"time_outs": 1}, "TIME_OUT"),
    "read late": (READ, lambda b: [LATE, *b], {"time_outs": 1, "late_responses": BEATS}, "TIME_OUT"),
    "write late": (WRITE, lambda b: [LATE, *b], {"time_outs": 1, "late_responses": 1}, "TIME_OUT"),
    "last beat lost": (READ, lambda b: b[:-1], {"time_outs": 1}, "TIME_OUT"),
    "read twice": (READ, lambda b: [*b, *b], {"duplicate_responses": BEATS}, "DUPLICATE"),
    "write twice": (WRITE, lambda b: [*b, *b], {"duplicate_responses": 1}, "DUPLICATE"),
    "strange tag": (READ, lambda b: [changed(b[0], tag=2000, last=True), *b], {"unexpected_tags": 1}, "UNEXPECTED_TAG"),
    "tag of nobody": (WRITE, lambda b: [changed(b[0], tag=15), *b], {"unexpected_tags": 1}, "UNEXPECTED_TAG"),
    "isolate": (WRITE, lambda b: [changed(b[0], status=Status.ISOLATE), *b], {}, "NONE"),
    "read on WrRsp": (READ, lambda b: [_on_wr_rsp(b[0]), *b], {"wrong_channels": 1}, "WRONG_CHANNEL"),
    "for another": (
        READ,
        lambda b: [changed(b[0], dst_phys_acc_id=7), *b[1:]],
        {"misrouted_responses": 1},
        "MISROUTED",
    ),
    "write for another": (WRITE, lambda b: [changed(b[0], dst_phys_acc_id=4)], {"misrouted_responses": 1}, "MISROUTED"),
    "decode error": (
        READ,
        lambda b: [changed(beat, status=Status.DECODE_ERROR, data=b"\xff" * 64) for beat in b],
        {"status_errors": 1},
        "STATUS",
    ),
    "write refused": (WRITE, lambda b: [changed(b[0], status=Status.TARGET_ABORT)], {"status_errors": 1}, "STATUS"),
    "poison": (
        READ,
        lambda b: [b[0], changed(b[1], data_error=True, data=bytes(64)), *b[2:]],
        {"poisoned_beats": 1},
        "POISON",
    ),
    # Data are judged later than Status and poison: what was wrong with the beat before still comes first.
    "wrong byte, then poison": (
        READ,
        lambda b: [_flip(b[0], 5), changed(b[1], data_error=True, data=bytes(64)), *b[2:]],
        {"wrong_bytes": 1, "poisoned_beats": 1},
        "DATA",
    ),
    "poison, then wrong byte": (
        READ,
        lambda b: [changed(b[0], data_error=True, data=bytes(64)), _flip(b[1], 5), *b[2:]],
        {"wrong_bytes": 1, "poisoned_beats": 1},
        "POISON",
    ),
    "beat missing": (READ, lambda b: [b[0], *b[2:]], {"beat_errors": 1}, "BEATS"),
    "beat twice": (READ, lambda b: [b[0], b[0], *b[1:]], {"beat_errors": 1}, "BEATS"),
    "wrong number of beats": (READ, lambda b: [changed(b[0], num_beats=1), *b[1:]], {"beat_errors": 1}, "BEATS"),
    "status changes": (
        READ,
        lambda b: [*b[:-1], changed(b[-1], status=Status.CMPTO)],
        {"beat_errors": 1, "status_errors": 1},
        "BEATS",
    ),
    "ends early": (
        READ,
        lambda b: [changed(b[0], last=True), *b[1:]],
        {"beat_errors": 1, "duplicate_responses": BEATS - 1},
        "BEATS",
    ),
}


@pytest.fixture(scope="module")
def outcomes():
    """All cases in one simulation, everything forgotten between them."""
    partner, found = Partner(), {}
    dut = partner.dut

    async def story(ctx):
        partner.set(ctx, SETTINGS, requests=ASKED, time_out=TIME_OUT, outstanding=16)
        await ctx.tick().repeat(260)
        for name, (which, spoil, _, _) in CASES.items():
            partner.forget()
            partner.spoil = lambda number, beats, which=which, spoil=spoil: spoil(beats) if number == which else beats
            await partner.run(ctx)
            if partner.later:
                await ctx.tick().repeat(LATE)
            shown = dut.statistics
            counts = {name: ctx.get(shown.counts[name]) for name in (*COUNTERS, *ERRORS)}
            found[name] = (
                counts,
                ctx.get(shown.first_error),
                ctx.get(dut.lost),
                list(partner.requests),
                list(partner.written),
            )
            await partner.clear(ctx)

    partner.simulate(story)
    return found


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_counted_once(outcomes, case):
    which, _, expected, kind = CASES[case]
    counts, first, lost, requests, _ = outcomes[case]
    got = {name: counts[name] for name in ("wrong_bytes", *ERRORS) if counts[name]}
    assert got == expected
    assert first.kind == ErrorKind[kind]
    assert lost == expected.get("time_outs", 0)
    assert counts["requests"] == ASKED == counts["responses"] + lost
    if kind not in ("NONE", "UNEXPECTED_TAG"):
        assert first.tag == requests[which].tag
        assert first.line - first.offset * (kind == "DATA") == PLANS[which].line


def test_requests_are_those_of_the_model(outcomes):
    for request, plan in zip(outcomes["nothing wrong"][3], PLANS, strict=True):
        cmd = {Command.READ: 0x03, Command.WRITE: 0x28, Command.ATOMIC: 0x30, Command.WRITE_FULL: 0x29}[plan.command]
        assert (request.cmd, request.addr, request.len) == (cmd, plan.line * 64, 16 * plan.beats - 1)
        assert (request.src_phys_acc_id, request.dst_phys_acc_id) == (OWN, plan.dst)
        assert request.num_beats == (0 if plan.command == Command.READ else plan.beats - 1)


def test_data_written_are_those_of_the_model(outcomes):
    written = [
        (line_data(plan.line + beat, plan.dst, SEED), beat, beat == plan.beats - 1)
        for plan in PLANS
        for beat in range(plan.beats)
        if plan.command != Command.READ
    ]
    assert [(beat.data, beat.offset, beat.last) for beat in outcomes["nothing wrong"][4]] == written


def test_the_first_wrong_word_is_shown(outcomes):
    first = outcomes["wrong byte"][1]
    line = line_data(PLANS[READ].line + 1, OTHER, SEED)
    expected = int.from_bytes(line[32:40], "little")
    assert (first.offset, first.word, first.expected) == (1, 4, expected)
    assert first.found == expected ^ 0x10 << 8 * (37 - 32)


def test_bytes_each_way(outcomes):
    counts = outcomes["nothing wrong"][0]
    assert counts["beats_sent"] == sum(plan.beats for plan in PLANS if plan.command != Command.READ)
    assert counts["beats_received"] == sum(
        plan.beats for plan in PLANS if plan.command in (Command.READ, Command.ATOMIC)
    )
