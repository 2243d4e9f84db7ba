"""TL receiver as a whole: legal random traffic with every kind of consumer, latency, full rate, credits, restart."""

import itertools
from collections import Counter

import pytest

from support.tl.receive import OFFLINE, OPENS, READS, RECEIVE, ROOMY, SMALL, Consumer, run
from support.tl.traffic import Expected, Traffic, check
from ualink_sim.model.tl.fields import CompressedResponse, UncompressedRequest, UncompressedResponse
from ualink_sim.model.tl.sequence import (
    INITIAL_CREDIT_RELEASE_COMPLETE,
    NOP_MESSAGE,
    Issue,
    TransmitSequence,
    message_half_flit,
)

pytestmark = RECEIVE

NOP_FLIT = bytes(64), 0


def burst_rule(got):
    """The first OrigData beat is in the cycle of its Request; beats of OrigData and of read bursts have no gap."""
    starts = [cycle for cycle, beat in got.req if beat["cmd"] & 0x20]
    assert [cycle for cycle, beat in got.orig_data if beat["offset"] == 0] == starts
    for beats, in_burst in (
        (got.orig_data, lambda beat: beat["offset"]),
        (got.rd_rsp, lambda beat: beat["num_beats"] and beat["offset"]),
    ):
        for (earlier, _), (later, beat) in itertools.pairwise(beats):
            assert not in_burst(beat) or later == earlier + 1


@pytest.mark.req(
    *("TL-001", "TL-003", "TL-005", "TL-006", "TL-008", "TL-010", "TL-011", "TL-012", "TL-013", "TL-014", "TL-015"),
    *("TL-016", "TL-021", "TL-024", "TL-025", "TL-026", "TL-027", "TL-028", "TL-029", "TL-030", "TL-031", "TL-038"),
    *("TL-040", "TL-041", "TL-042", "TL-055", "TL-056", "TL-058", "TL-059", "TL-060", "TL-061", "TL-062", "TL-077"),
    *("TL-079", "TL-080", "TL-085", "TL-101", "TL-104", "TL-171", "TL-172", "TL-174", "TL-176"),
    *("TL-178", "TL-179", "TL-193", "TL-195", "TL-197", "TL-199", "TL-208", "TL-210", "TL-211", "TL-213", "TL-214"),
    "TL-222",
)
@pytest.mark.parametrize("consumer", ["free", "agent", "random"])
def test_random_traffic(consumer):
    traffic = Traffic(SMALL, consumer, idle=0.1)
    got = run(SMALL, traffic.flits(150), consumer=consumer, drain=150, watch=traffic.release)
    check(got, traffic.expected)
    assert len(got.req) > 15 and len(got.rd_rsp) > 30
    if consumer != "random":
        burst_rule(got)


@pytest.mark.req("TL-148", "TL-149", "TL-150", "TL-151", "TL-158", "TL-162", "TL-163", "TL-164", "TL-146", "TL-147")
def test_every_credit_comes_back_to_its_bucket():
    traffic = Traffic(SMALL, "credits")
    got = run(SMALL, traffic.flits(120), consumer="agent", drain=120, watch=traffic.release)
    assert Counter(got.releases) == Counter(traffic.spent)
    assert traffic.credits == Traffic(SMALL, 0).credits
    check(got, traffic.expected)


@pytest.mark.req("TL-130", "TL-131", "TL-132", "TL-134", "TL-135", "TL-139", "TL-140", "TL-141", "TL-142", "TL-144")
def test_fields_at_the_rate_limit():
    """Every flit is a Control half-flit with as many Requests and Write Responses as the rate limits allow."""
    traffic = Traffic(ROOMY, "limit", density=1, messages=0, data=False, requests=0.7)
    got = run(ROOMY, traffic.flits(150), drain=12)
    check(got, traffic.expected)
    assert len(got.req) > 130 and len(got.wr_rsp) > 130


@pytest.mark.req("TL-027", "TL-038", "TL-042")
def test_data_at_full_rate():
    """4-beat WriteFulls and reads back to back: the data leave at one beat per cycle, a few cycles behind the flits."""
    sequence, expected, flits = TransmitSequence(), Expected(), []
    for n in range(10):
        write = Issue(4, UncompressedRequest(cmd=0x29, num_beats=3, tag=n, pool=1), bytes([n]) * 256)
        read = Issue(0, CompressedResponse(rd_wr=1, len=3, tag=n, pool=1), bytes([128 + n]) * 256)
        expected.add(write)
        expected.add(read)
        flits.append(sequence.send([read, write]))
        while not sequence.control_slot:
            flits.append(sequence.send())
    flits.append(sequence.send())
    got = run(ROOMY, flits, drain=8)
    check(got, expected)
    assert len(flits) == 86
    assert got.orig_data[-1][0] - (len(flits) - 1) <= 7
    burst_rule(got)


def single_flit(*issues):
    return TransmitSequence().send(issues)


@pytest.mark.req("TL-103", "TL-215")
def test_stalled_requests_do_not_block_responses_nor_the_other_way_round():
    class Half(Consumer):
        def readies(self):
            return {"req": self.mode, "orig_data": self.mode, "rd_rsp": not self.mode, "wr_rsp": not self.mode}

    for mode, moving, standing in ((0, ("rd_rsp", "wr_rsp"), ("req", "orig_data")), (1, ("req",), ("rd_rsp",))):
        traffic = Traffic(ROOMY, "blocked", messages=0)
        got = run(ROOMY, traffic.flits(60), consumer=Half(mode), drain=60)
        for channel in moving:
            assert got.beats(channel) == getattr(traffic.expected, channel) != []
        assert not any(getattr(got, channel) for channel in standing)


@pytest.mark.req("TL-103")
def test_a_stalled_read_response_does_not_block_write_responses():
    class NoReads(Consumer):
        def readies(self):
            return {**super().readies(), "rd_rsp": 0}

    traffic = Traffic(ROOMY, "reads", messages=0)
    got = run(ROOMY, traffic.flits(60), consumer=NoReads("free"), drain=40)
    assert got.beats("wr_rsp") == traffic.expected.wr_rsp != []
    assert got.rd_rsp == []


def test_latency():
    read = UncompressedRequest(cmd=READS[0], tag=5, pool=1)
    got = run(ROOMY, [single_flit(Issue(0, read))], drain=8)
    assert got.offered["req"] == [6]
    got = run(ROOMY, [single_flit(Issue(2, UncompressedResponse(tag=5, pool=1)))], drain=8)
    assert got.offered["wr_rsp"] == [6]
    sequence = TransmitSequence()
    write = Issue(0, UncompressedRequest(cmd=0x28, tag=5, pool=1), bytes(64), bytes(32))
    got = run(ROOMY, [sequence.send([write]), *[None] * 5, sequence.send()], drain=8)
    assert got.offered["req"] == got.offered["orig_data"] == [6 + 4]


@pytest.mark.req("TL-132", "TL-133", "TL-136")
def test_nothing_waits_for_another_flit():
    """The catch buffers empty by themselves: eight Responses and two Requests of one flit, and no flit behind it."""
    responses = [Issue(n, CompressedResponse(tag=n, pool=1)) for n in range(8)]
    got = run(ROOMY, [single_flit(*responses)], drain=14)
    assert [beat["tag"] for beat in got.beats("wr_rsp")] == list(range(8))
    requests = [Issue(4 * n, UncompressedRequest(cmd=3, tag=n, pool=1)) for n in range(2)]
    got = run(ROOMY, [single_flit(*requests)], drain=10)
    assert [beat["tag"] for beat in got.beats("req")] == [0, 1]


@pytest.mark.req("TL-057", "TL-065", "TL-167", "TL-222")
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shared", [0, 1])
def test_initial_credit_release_complete(upper, shared):
    payload = bytes([0xFE | shared]) + bytes(range(30))
    message = message_half_flit(INITIAL_CREDIT_RELEASE_COMPLETE, payload)
    other = message_half_flit(NOP_MESSAGE, bytes([1 - shared]))
    flit = (other + message, 3) if upper else (message + bytes(32), 1)
    got = run(SMALL, [NOP_FLIT, flit, NOP_FLIT, OFFLINE, None], drain=4)
    assert got.peer[:6] == [(0, 0), (0, 0), (0, 0), (0, 0), (1, shared), (0, 0)]
    assert got.errors == []


@pytest.mark.req("TL-065")
def test_unknown_message_takes_its_slot_and_is_reported():
    sequence, expected = TransmitSequence(), Expected()
    write = Issue(4, UncompressedRequest(cmd=0x28, num_beats=1, pool=1), bytes(range(128)), bytes(range(32)))
    expected.add(write)
    unknown = bytes([0x21]) + bytes(31)
    flits = [sequence.send([write], upper_message=unknown), sequence.send(lower_message=unknown)]
    while sequence.owed:
        flits.append(sequence.send())
    got = run(ROOMY, flits, drain=8)
    check(got, expected)
    assert got.unknown_messages == 2


@pytest.mark.req("TL-082", "TL-214")
@pytest.mark.parametrize("half", [0, 1])
def test_one_poisoned_half_poisons_the_beat(half):
    write = Issue(0, UncompressedRequest(cmd=0x29, num_beats=1, pool=1), bytes(range(1, 129)))
    sequence, expected = TransmitSequence(), Expected()
    expected.add(Issue(0, write.field, write.data, poisoned=frozenset({1})))
    flits = [sequence.send([write]), sequence.send(), sequence.send()]
    # Data half-flits 2 and 3 are the upper half of flit 1 and, swapped, the upper half of flit 2.
    flit, _ = flits[1 + half]
    flits[1 + half] = flit[:32] + b"\x20" + bytes(range(31)), 2
    got = run(ROOMY, flits, drain=8)
    check(got, expected)
    assert got.half_poisoned == 1


@pytest.mark.req("TL-028")
@pytest.mark.parametrize("uwm_has_byte_enables", [True, False])
def test_byte_enables_of_a_upli_write_message(uwm_has_byte_enables):
    config = ROOMY.replace(uwm_has_byte_enables=uwm_has_byte_enables)
    traffic = Traffic(config, "uwm")
    got = run(config, traffic.flits(60))
    check(got, traffic.expected)
    assert any(beat["cmd"] == 0x2A for beat in got.beats("req"))


@pytest.mark.req("TL-035", "TL-036", "TL-032", "TL-033", "TL-034")
def test_atomic_at_address_128():
    """The byte enables of a 64-byte Atomic at address 128 are bytes 16..23 of their half-flit."""
    operands, enables = bytes(range(64)), bytes(16) + b"\x0f\xf0" * 4 + bytes(8)
    sequence = TransmitSequence()
    issue = Issue(4, UncompressedRequest(cmd=0x30, addr=128 >> 2, len=15, pool=1), operands, enables)
    got = run(ROOMY, [sequence.send([issue]), sequence.send()], drain=8)
    [(_, beat)] = got.orig_data
    assert beat["byte_en"] == 0xF00FF00FF00FF00F
    assert beat["data"] == int.from_bytes(operands, "little")


@pytest.mark.req("TL-212")
def test_num_beats_of_reads():
    """A plain Read has num_beats 0 whatever NUMBEATS says; a read-class VDC keeps it (D05); neither owes data."""
    issues = [Issue(0, UncompressedRequest(cmd=0x03, num_beats=2, pool=1))]
    issues.append(Issue(4, UncompressedRequest(cmd=0x09, num_beats=2, pool=1)))
    got = run(ROOMY, [single_flit(*issues), NOP_FLIT], drain=8)
    assert [beat["num_beats"] for beat in got.beats("req")] == [0, 2]


@pytest.mark.req("TL-181")
def test_compressed_responses_have_status_okay_and_no_source():
    """Also a Compressed Response to a Read with LEN 0: one beat, offset 0, last 1 (ruling D07)."""
    issue = Issue(7, CompressedResponse(rd_wr=1, len=0, dst_acc_id=7, tag=9, pool=1), bytes(64))
    sequence = TransmitSequence()
    got = run(ROOMY, [sequence.send([issue]), sequence.send()], drain=8)
    [(_, beat)] = got.rd_rsp
    assert (beat["status"], beat["src_phys_acc_id"], beat["dst_phys_acc_id"]) == (0, 0, 7)
    assert (beat["num_beats"], beat["offset"], beat["last"]) == (0, 0, 1)


@pytest.mark.req("TL-039", "TL-221")
def test_restart_flushes_everything_and_starts_a_new_sequence():
    """Link down amid owed data with full queues; then the lower slot is a control slot and all credits are there."""
    before, after = Traffic(SMALL, "before"), Traffic(SMALL, "after")

    class Late(Consumer):
        cycles = 0

        def readies(self):
            self.cycles += 1
            return dict.fromkeys(("req", "orig_data", "rd_rsp", "wr_rsp"), int(self.cycles > 44))

    flits = [before.flit() for _ in range(40)]
    got = run(SMALL, [*flits, *[OFFLINE] * 4, *[None] * OPENS, *after.flits(40)], consumer=Late("free"), drain=30)
    assert got.req and got.orig_data
    got.fc = got.fc[-len(after.expected.fc) :]
    check(got, after.expected)


@pytest.mark.req("TL-210")
def test_a_transfer_that_has_begun_is_finished_when_the_link_goes_down():
    sequence, expected = TransmitSequence(), Expected()
    write = Issue(4, UncompressedRequest(cmd=0x28, num_beats=3, pool=1), bytes(range(256)), bytes(range(32)))
    read = Issue(0, CompressedResponse(rd_wr=1, len=3, pool=1), bytes(range(255, -1, -1)))
    expected.add(write)
    expected.add(read)
    flits = [sequence.send([read, write])]
    while sequence.owed:
        flits.append(sequence.send())
    whole = run(ROOMY, flits, drain=10)
    check(whole, expected)
    down = whole.orig_data[0][0] + 1
    gap = [None] * (down - len(flits))
    again = TransmitSequence().send([Issue(0, UncompressedRequest(cmd=3, tag=77, pool=1))])
    got = run(ROOMY, [*flits, *gap, *[OFFLINE] * 5, *[None] * OPENS, again], drain=10)
    assert got.beats("orig_data") == expected.orig_data
    assert got.beats("rd_rsp") == expected.rd_rsp
    assert [beat["tag"] for beat in got.beats("req")] == [0, 77]
    burst_rule(got)
