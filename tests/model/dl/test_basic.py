"""Basic messages of the model: single and simultaneous requests, and what each side knows afterwards."""

import pytest

from ualink_sim.model.dl.basic import BasicService
from ualink_sim.model.dl.messages import DeviceId, NoOp, PortNumber, TLRateNotification

TYPES = (TLRateNotification, DeviceId, PortNumber)


def exchange(left, right):
    """Send in turns until both are silent; what went each way."""
    log = [], []
    while True:
        messages = left.choose(), right.choose()
        if messages == (None, None):
            return log
        for n, (message, sender, receiver) in enumerate(zip(messages, (left, right), (right, left))):
            if message is not None:
                log[n].append(message)
                sender.sent(message)
                receiver.receive(message)


def sides():
    return (
        BasicService(DeviceId(id=5, type=1, valid=1), PortNumber(port_number=77, valid=1), rate=3_125),
        BasicService(DeviceId(id=9, type=0, valid=0), PortNumber(port_number=0xC01, valid=1), rate=30_664),
    )


@pytest.mark.req("DL-045", "DL-046", "DL-048", "DL-050", "DL-053", "DL-054", "DL-055", "DL-056", "DL-057", "DL-059")
def test_single_requests():
    left, right = sides()
    for kind in TYPES:
        left.ask(kind)
    sent, answers = exchange(left, right)
    assert sent == [
        TLRateNotification(rate=3_125),
        DeviceId(id=5, type=1, valid=1),
        PortNumber(port_number=77, valid=1),
    ]
    assert answers == [
        TLRateNotification(ack=1),
        DeviceId(ack=1, id=0, type=0, valid=0),
        PortNumber(ack=1, port_number=1, valid=1),
    ]
    assert right.partner_device == left.device and right.partner_rate == 3_125
    assert left.partner_device == DeviceId() and left.partner_rate == 31_250
    assert left.partner_port == PortNumber(port_number=1, valid=1)
    assert all(e.answered for e in left.exchanges.values())
    assert not any(e.answered for e in right.exchanges.values())


@pytest.mark.req("DL-047")
def test_simultaneous_requests():
    left, right = sides()
    for kind in TYPES:
        left.ask(kind)
        right.ask(kind)
    for messages in exchange(left, right):
        for kind in TYPES:
            assert [message.ack for message in messages if type(message) is kind] == [0, 1]
    assert all(e.answered for side in (left, right) for e in side.exchanges.values())


@pytest.mark.req("DL-043")
def test_types_take_turns():
    side = BasicService()
    for kind in TYPES * 3:
        side.receive(kind(rate=1) if kind is TLRateNotification else kind())
    assert [type(side.choose()) for _ in range(9)] == list(TYPES * 3)


@pytest.mark.req("DL-060")
def test_no_op_needs_nothing():
    side = BasicService()
    side.receive(NoOp())
    assert side.choose() is None and not side.errors


def test_errors():
    side = BasicService()
    for message in (DeviceId(ack=1, id=1, valid=1), TLRateNotification(rate=0), DeviceId(type=2)):
        errors = side.errors
        side.receive(message)
        assert side.errors == errors + 1
    assert side.partner_device == DeviceId(type=2) and side.partner_rate == 31_250
