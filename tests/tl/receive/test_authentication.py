"""Authentication tags: with the fields they belong to, through every queue, and nowhere when authentication is off."""

import pytest

from support.tl.receive import RECEIVE, ROOMY, SMALL, run
from support.tl.received import received
from support.tl.traffic import Expected, Traffic, check
from support.upsets import collect
from ualink.tl.receive.top import Receive
from ualink_sim.model.tl.fields import (
    CompressedReadResponse,
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
)
from ualink_sim.model.tl.sequence import NOP_MESSAGE, Issue, TransmitSequence, message_half_flit

pytestmark = RECEIVE

UNTAGGED = SMALL.replace(authentication=False)


@pytest.mark.req("TL-046", "TL-047", "TL-048", "TL-049", "TL-051", "TL-053", "TL-213", "TL-104", "SW-073", "SW-074")
@pytest.mark.parametrize("consumer", ["free", "agent", "random"])
def test_random_traffic_with_tags(consumer):
    traffic = Traffic(SMALL, f"tags {consumer}", idle=0.1, authentication=True)
    flits = []
    keep = (flits.append(flit) or flit for flit in traffic.flits(200))
    got = run(SMALL, keep, consumer=consumer, drain=150, watch=traffic.release, authentication=1)
    check(got, traffic.expected)
    assert {channel: got.beats(channel) for channel in received(SMALL, [])} == received(SMALL, flits, True)
    assert len(got.req) > 15 and len(got.rd_rsp) > 30
    for channel in ("req", "rd_rsp", "wr_rsp"):
        assert all(beat["auth_tag"] for beat in got.beats(channel))


@pytest.mark.req("TL-046", "TL-213")
@pytest.mark.parametrize("config, level", [(SMALL, 0), (UNTAGGED, 0), (UNTAGGED, 1)])
def test_without_authentication_all_tags_are_zero(config, level):
    """Whether it is turned off or was never built: then the input has no effect."""
    traffic = Traffic(config, "no tags")
    got = run(config, traffic.flits(120), drain=100, watch=traffic.release, authentication=level)
    check(got, traffic.expected)
    assert len(got.req) > 15
    for channel in ("req", "rd_rsp", "wr_rsp"):
        assert not any(beat["auth_tag"] for beat in got.beats(channel))


FIELDS = {
    "U": (4, lambda n: UncompressedRequest(cmd=0x08, tag=n, pool=1)),
    "W": (2, lambda n: UncompressedResponse(tag=n, pool=1)),
    "s": (1, lambda n: CompressedReadResponse(tag=n, pool=1)),
    "c": (1, lambda n: CompressedResponse(tag=n, pool=1)),
    "f": (1, lambda n: FlowControl(req_cmd=Credit(1, vc=n % 4))),
    ".": (1, lambda n: None),
}
"""Sectors and field of each letter; the letters of a layout go from sector 0 upward."""


@pytest.mark.req("TL-047", "TL-053", "TL-054")
@pytest.mark.parametrize(
    "layout", ["UU", "U.c.c", "cccc....", "....cccc", "c.WU", "WfsU", "ffffffs.", "W.cWfc", "UW.."]
)
def test_tags_ascend_with_the_sectors(layout):
    """Tag slot k is that of the k-th Request or Response; FC and NOP fields have none."""
    issues, sector = [], 0
    for n, letter in enumerate(layout):
        sectors, make = FIELDS[letter]
        control = make(n)
        if control:
            tagged = control.is_request or control.is_response
            data = bytes(64 * control.data_beats())
            issues.append(Issue(sector, control, data, tag=(0xA0 + n) << 56 | n if tagged else 0))
        sector += sectors
    assert sector == 8
    sequence, expected = TransmitSequence(True), Expected()
    flits = [sequence.send(issues)]
    while sequence.owed:
        flits.append(sequence.send())
    for issue in issues:
        expected.add(issue)
    got = run(ROOMY, flits, drain=12, authentication=1)
    got.fc = []
    check(got, expected)
    assert sum(len(getattr(got, channel)) for channel in ("req", "rd_rsp", "wr_rsp")) == sum(
        letter not in "f." for letter in layout
    )


@pytest.mark.req("TL-213", "TL-104")
def test_every_beat_of_a_burst_has_its_tag():
    sequence, expected, flits = TransmitSequence(True), Expected(), []
    for n in range(3):
        issue = Issue(0, CompressedResponse(rd_wr=1, len=n + 1, tag=n, pool=1), bytes(64 * (n + 2)), tag=0x1234 + n)
        expected.add(issue)
        flits.append(sequence.send([issue]))
        while sequence.owed:
            flits.append(sequence.send())
    got = run(ROOMY, flits, drain=12, authentication=1)
    check(got, expected)
    assert [beat["auth_tag"] - 0x1234 for beat in got.beats("rd_rsp")] == [0, 0, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.req("TL-050", "TL-051", "TL-045")
def test_flow_control_beside_a_swapped_half_flit_and_beside_a_nop():
    """A swap flit brings credits; one without anything owed brings credits and a NOP or a message; neither has tags."""
    credits = Issue(2, FlowControl(req_cmd=Credit(3, vc=1)))
    write = Issue(0, UncompressedRequest(cmd=0x28, tag=1, pool=1), bytes(range(64)), bytes(range(32)), tag=0xBEEF)
    after = Issue(0, UncompressedRequest(cmd=0x03, tag=2, pool=1), tag=0xCAFE)
    sequence, expected = TransmitSequence(True), Expected()
    flits = [sequence.send([write]), sequence.send(), sequence.send([credits]), sequence.send([after])]
    flits.append(sequence.send([credits]))
    flits.append(sequence.send([credits], upper_message=message_half_flit(NOP_MESSAGE, b"\xaa" * 31)))
    expected.add(write)
    expected.add(after)
    got = run(ROOMY, flits, drain=10, authentication=1)
    assert [fc["req_cmd"] for fc in got.fc] == [(0, 0, 3, 0, 0)] * 3
    got.fc = []
    check(got, expected)
    assert [beat["auth_tag"] for beat in got.beats("req")] == [0xBEEF, 0xCAFE]


@pytest.mark.req("TL-054")
def test_what_stands_in_unused_tag_slots_is_ignored():
    lower, _ = TransmitSequence(True).send([Issue(2, UncompressedResponse(tag=3, pool=1), tag=0x77)])
    got = run(ROOMY, [(lower[:40] + b"\xff" * 24, 0)], drain=8, authentication=1)
    assert got.errors == []
    assert [beat["auth_tag"] for beat in got.beats("wr_rsp")] == [0x77]


def test_what_is_built_without_authentication_has_no_room_for_tags():
    def sizes(config):
        _, registers, memories = collect(Receive(config))
        return sum(register.bits for register in registers), {memory.path: memory.bits for memory in memories}

    (registers, memories), (fewer, narrower) = sizes(SMALL), sizes(UNTAGGED)
    catch_buffers, checked, heads = 4 + 8, 3, 3 * 3
    assert registers - fewer == 64 * (catch_buffers + checked + heads)
    queues = [path for path in memories if memories[path] - narrower[path] == 64]
    assert sorted(path[:2] for path in queues) == [
        ("requests", "queue"),
        ("responses", "read_queue"),
        ("responses", "write_queue"),
    ]
    assert all(memories[path] == narrower[path] for path in memories if path not in queues)
