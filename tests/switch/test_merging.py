"""What rows of a core have for an egress port, merged: transfers whole, in the order of their row, in turns."""

import random

import pytest
from amaranth.hdl import Value

from support.switch.bench import coded, pack, random_request, random_response, run
from support.switch.rows import EgressRoom, Row, Transfer
from ualink.switch.merging.request_merge import RequestMerge
from ualink.switch.merging.response_merge import ResponseMerge
from ualink.upli.channels import CODED_LAYOUTS

ROWS, ITEMS = 3, 60


def request_transfers(rng, row):
    """Of a row, which the Requests name as their source; with marks of each kind."""
    end = Value.cast(RequestMerge(1).arrival.transfer).shape().width - 1
    for _ in range(ITEMS):
        request, beats = random_request(rng, row, 0, rng.choice((None, None, 1, 2, 3, 4)))
        words = [coded("orig_data", pack("orig_data", beat)) for beat in beats]
        cycles = [
            {"come_data": 1, "transfer": word | (n == len(words) - 1) << end}
            | {"late_beat_wrong": rng.getrandbits(1), "late_poison": rng.getrandbits(1)}
            for n, word in enumerate(words)
        ]
        head = {"come": 1, "item": coded("req", pack("req", request))}
        # Some say that they have data and come without, or the other way round.
        head |= {"with_data": int(bool(words) ^ (rng.random() < 0.2)), "late_wrong": int(rng.random() < 0.2)}
        yield Transfer([head | cycles[0], *cycles[1:]] if cycles else [head], bool(words))


def response_transfers(rng, channel, row):
    for _ in range(ITEMS):
        beats = random_response(rng, channel, row, 0, rng.randrange(1, 5) if channel == "rd_rsp" else 1)
        yield Transfer(
            [
                {"come": 1, "beat": coded(channel, pack(channel, beat)), "first": int(n == 0)}
                | {"late_wrong": rng.getrandbits(1), "late_poison": rng.getrandbits(1)}
                for n, beat in enumerate(beats)
            ],
            True,
        )


def row_of(channel, word):
    field = CODED_LAYOUTS[channel]["src_phys_acc_id"]
    return word >> field.offset & ((1 << field.width) - 1)


def merge(dut, sent, rate):
    """What comes out of ``dut``, cycle by cycle, until all that is ``sent`` by rows has."""
    rows = [Row(arrival, items, f"{rate} {n}") for n, (arrival, items) in enumerate(zip(dut.arrivals, sent))]
    egress = EgressRoom(dut.arrival, rate)

    async def scenario(ctx):
        await ctx.tick().repeat(20)
        while any(row.busy for row in rows) or ctx.get(dut.under_way):
            await ctx.tick()
        await ctx.tick().repeat(3)

    run(dut, scenario, background=[*(row.process for row in rows), egress.process])
    return egress.came


@pytest.mark.req("UPLI-302", "SW-026", "SW-043", "SW-047")
@pytest.mark.parametrize("rate", [1.0, 0.7, 0.3])
def test_requests_keep_the_order_of_their_row_and_their_data(rate):
    """Of each row all Requests come in order. Data come with their Request and then beat after beat, each with what was
    found of it. A Request is wrong if it or its first beat was, or if it did not come as it says."""
    dut, rng = RequestMerge(ROWS), random.Random(f"requests {rate}")
    sent = [list(request_transfers(rng, row)) for row in range(ROWS)]
    of_row = [iter(items) for items in sent]
    left: list[dict[str, int]] = []
    rows = []
    for now in merge(dut, sent, rate):
        if now["come"]:
            rows.append(row_of("req", now["item"]))
            expected = next(of_row[rows[-1]]).told
            head = expected[0]
            came_with = "transfer" in head
            if came_with:
                assert not left, "two transfers in one another"
                left = list(expected)
            bad = head["wrong"] or head["with_data"] != came_with or head.get("beat_wrong", 0)
            assert [now[name] for name in ("item", "with_data", "wrong")] == [head["item"], came_with, int(bad)]
        assert now["come_data"] == bool(left), "a gap within a transfer, or data without a Request"
        if left:
            beat = left.pop(0)
            assert all(now[name] == beat[name] for name in ("transfer", "beat_wrong", "poison"))
    assert len(rows) == ROWS * ITEMS


@pytest.mark.req("SW-026", "SW-043", "SW-047")
@pytest.mark.parametrize("channel", ["rd_rsp", "wr_rsp"])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_responses_keep_the_order_of_their_row(channel, rate):
    dut, rng = ResponseMerge(channel, ROWS), random.Random(f"{channel} {rate}")
    sent = [list(response_transfers(rng, channel, row)) for row in range(ROWS)]
    of_row = [iter(items) for items in sent]
    left: list[dict[str, int]] = []
    count = 0
    for now in merge(dut, sent, rate):
        assert now["come"] or not left, "a gap within a transfer"
        if now["come"]:
            if now["first"]:
                assert not left, "two transfers in one another"
                left = list(next(of_row[row_of(channel, now["beat"])]).told)
                count += 1
            beat = left.pop(0)
            assert all(now[name] == beat[name] for name in ("beat", "first", "wrong", "poison"))
    assert count == ROWS * ITEMS


@pytest.mark.req("SW-039", "SW-041")
def test_rows_take_turns():
    """While all have single beats, each goes once in each turn, and no slot is lost."""
    dut = ResponseMerge("wr_rsp", ROWS)
    rng = random.Random("turns")
    sent = [list(response_transfers(rng, "wr_rsp", row)) for row in range(ROWS)]
    rows = [row_of("wr_rsp", now["beat"]) for now in merge(dut, sent, 1.0) if now["come"]]
    turns = rows[6 : ROWS * ITEMS // 2]
    assert turns == [turns[n % ROWS] for n in range(len(turns))] and len(set(turns[:ROWS])) == ROWS
