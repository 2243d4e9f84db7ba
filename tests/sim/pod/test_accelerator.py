"""What a simulated accelerator compares: every change of a Request or Response on its way is told."""

import random

import pytest

from ualink_sim.beats import orig_data_beats, upli_request
from ualink_sim.bfm.upli.memory_handler import to_beat
from ualink_sim.bfm.upli.transaction import Transaction
from ualink_sim.model.upli.completer import Completer
from ualink_sim.model.upli.transactions import Status
from ualink_sim.pod.accelerator import Accelerator, Journey
from ualink_sim.request import Request

TAG, RESPONSE_TAG = 0x0123456789ABCDEF, 0xFEDCBA9876543210
READ = Request(line=1, src=0, dst=1, op="read", addr=0x40, len=128, byte_en=(1 << 128) - 1, attr=0xFF)
WRITE = Request(line=2, src=0, dst=1, op="write_full", addr=0, len=64, data=bytes(range(64)), byte_en=(1 << 64) - 1)


def journey(request):
    """A journey up to the arrival of the Request, and what its Response is."""
    beats = orig_data_beats(request)
    sent = to_beat(upli_request(request, tag=5)) | {"auth_tag": TAG, "port_id": 0}
    found = Journey(request, Transaction(sent, [to_beat(beat) for beat in beats]))
    found.arrive({**sent, "pool": 1}, [to_beat(beat) for beat in beats])
    response = Completer().execute(upli_request(request, tag=5), beats)
    found.expected, found.response_tag = found.outcome_of(response), RESPONSE_TAG
    found.transaction.response = [to_beat(beat) | {"auth_tag": RESPONSE_TAG} for beat in response]
    return found


@pytest.mark.parametrize("request_", [READ, WRITE], ids=["read", "write"])
def test_what_arrives_unchanged_matches(request_):
    assert journey(request_).mismatch == ""


@pytest.mark.parametrize("request_", [READ, WRITE], ids=["read", "write"])
@pytest.mark.parametrize("field", ["auth_tag", "addr", "len", "attr", "cmd", "dst_phys_acc_id"])
def test_a_changed_request_is_told(request_, field):
    found = journey(request_)
    sent = found.transaction
    for bit in {0, random.Random(field).randrange(4), 63 if field == "auth_tag" else 1}:
        found.expected = None
        found.arrive(sent.request | {field: sent.request[field] ^ 1 << bit}, sent.data)
        found.expected = journey(request_).expected
        assert found.mismatch == f"the Request arrived with other {field}"


@pytest.mark.parametrize("request_", [READ, WRITE], ids=["read", "write"])
@pytest.mark.parametrize("bit", [0, 31, 63])
def test_a_changed_response_tag_is_told_on_every_beat(request_, bit):
    for number in range(len(journey(request_).transaction.response)):
        found = journey(request_)
        found.transaction.response[number]["auth_tag"] ^= 1 << bit
        assert found.mismatch == "the Response arrived with another auth_tag"


@pytest.mark.parametrize("number, told", [(1, ""), (2, "the Request arrived at accelerator 2")])
def test_a_request_that_arrives_at_another_accelerator_is_told(number, told):
    """Switch and links carry it as it was, to where it does not belong."""
    found = journey(WRITE)
    accelerator = object.__new__(Accelerator)
    accelerator.number, accelerator._draw_tag = number, lambda: RESPONSE_TAG
    accelerator._find = lambda key: found
    accelerator._perform = lambda journey, request, data: Completer().execute(upli_request(WRITE, tag=5), data)
    accelerator._answer(found.transaction.request, orig_data_beats(WRITE))
    assert found.mismatch == told


def test_other_changes_of_responses_and_data_are_told():
    read, write = journey(READ), journey(WRITE)
    read.transaction.response[1]["data"] ^= 1 << 8
    assert read.mismatch == "byte 0x81 is 01, not 00"
    write.transaction.response[0]["status"] = int(Status.TARGET_ABORT)
    assert write.mismatch == "status is TARGET_ABORT, not OKAY"
    again = journey(WRITE)
    again.arrive(again.transaction.request, again.transaction.data)
    assert again.mismatch == "the Request was executed twice"
    changed = journey(WRITE)
    changed.expected, expected = None, changed.expected
    changed.arrive(changed.transaction.request, [changed.transaction.data[0] | {"data": 0}])
    changed.expected = expected
    assert changed.mismatch == "the Request's data arrived changed"
    nobody = journey(READ)
    nobody.expected = None
    assert nobody.mismatch == "answered although nobody executed it"
