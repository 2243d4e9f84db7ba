"""Channel negotiation, flow by flow."""

import contextlib
import random
from collections import deque

import pytest

from ualink_sim.model.dl.channel import TL_CHANNEL, UART_CHANNEL, ChannelControl, ChannelError, ChannelState
from ualink_sim.model.dl.messages import ChannelCommand, ChannelNegotiation

REQUEST, ACK = ChannelCommand.REQUEST, ChannelCommand.ACK
NACK, PENDING = ChannelCommand.NACK, ChannelCommand.DECISION_PENDING


def sides():
    return ChannelControl(), ChannelControl()


def codes(message):
    return message.target_state, message.command, message.response


@pytest.mark.req("DL-062", "DL-067", "DL-073", "DL-080", "DL-082", "DL-083", "DL-085")
@pytest.mark.parametrize("number", [TL_CHANNEL, UART_CHANNEL])
def test_three_way_handshake(number):
    left, right = sides()
    for online in (True, False):
        code = online << 3 | number
        request = left.request(number, online)
        assert codes(request) == (code, REQUEST, 0)
        [answer] = right.receive(request)
        assert codes(answer) == (code, ACK, code)
        assert right.online(number) != online and left.online(number) != online
        assert right.channels[number].receiving
        [confirm] = left.receive(answer)
        assert codes(confirm) == (code, ACK, code) and left.online(number) == online
        assert right.receive(confirm) == [] and right.online(number) == online
        assert left.channels[number].state is right.channels[number].state is ChannelState.IDLE


@pytest.mark.req("DL-073", "DL-075")
def test_everything_is_offline_after_reset():
    left, _ = sides()
    assert not any(channel.online or channel.receiving for channel in left.channels.values())


@pytest.mark.req("DL-062", "DL-068")
def test_nack_ends_the_attempt():
    left, _ = sides()
    left.request(0, True)
    assert left.receive(ChannelNegotiation(target_state=0, command=NACK, response=8)) == []
    assert not left.online(0) and left.channels[0].state is ChannelState.IDLE


@pytest.mark.req("DL-062", "DL-069", "DL-070", "DL-080", "DL-084")
def test_decision_pending():
    left, right = sides()
    right.ready = False
    [answer] = right.receive(left.request(4, True))
    assert codes(answer) == (0, PENDING, 0xC)
    assert left.receive(answer) == [] and left.channels[4].state is ChannelState.BLOCK
    for number in (0, 4):
        with pytest.raises(ChannelError, match="decision pending"):
            left.request(number, True)
    assert right.channels[4].state is ChannelState.OWE
    [answer] = left.receive(right.request(4, True))
    [confirm] = right.receive(answer)
    left.receive(confirm)
    assert left.online(4) and right.online(4)
    left.request(0, True)


@pytest.mark.req("DL-065", "DL-071", "DL-072")
def test_identical_simultaneous_requests():
    left, right = sides()
    first, second = left.request(0, True), right.request(0, True)
    [answer], [theirs] = left.receive(second), right.receive(first)
    assert left.channels[0].state is ChannelState.BOTH
    [confirm] = left.receive(theirs)
    assert left.channels[0].state is ChannelState.ACKD and not left.online(0)
    assert right.receive(answer) and right.receive(confirm) == [] and right.online(0)
    left, right = sides()
    from_left, from_right = deque([left.request(0, True)]), deque([right.request(0, True)])
    left.ready = right.ready = False
    log = {"left": [], "right": []}
    while from_left or from_right:
        answers_left = left.receive(from_right.popleft()) if from_right else []
        answers_right = right.receive(from_left.popleft()) if from_left else []
        from_left.extend(answers_left)
        from_right.extend(answers_right)
        log["left"] += answers_left
        log["right"] += answers_right
    assert [codes(m) for m in log["left"]] == [codes(m) for m in log["right"]] == [(8, ACK, 8)] * 2
    assert left.online(0) and right.online(0)
    assert left.channels[0].state is right.channels[0].state is ChannelState.IDLE


@pytest.mark.req("DL-064")
def test_no_own_request_while_another_is_under_way():
    left, right = sides()
    [_] = right.receive(left.request(0, True))
    for number in (0, 4):
        with pytest.raises(ChannelError):
            right.request(number, True)
        with pytest.raises(ChannelError):
            left.request(number, True)
    right.channels[0].abandon()
    right.request(4, True)
    fixed = ChannelControl(may_request=False)
    with pytest.raises(ChannelError, match="may not start"):
        fixed.request(0, True)


@pytest.mark.req("DL-078")
def test_request_for_the_current_state():
    left, right = sides()
    with pytest.raises(ChannelError, match="already"):
        left.request(0, False)
    [answer] = right.receive(ChannelNegotiation(target_state=0, command=REQUEST))
    assert codes(answer) == (0, ACK, 0) and right.channels[0].errors == 1
    assert not right.online(0) and right.channels[0].state is ChannelState.IDLE
    assert right.receive(ChannelNegotiation(target_state=0, command=ACK, response=0)) == []
    assert not right.online(0)


@pytest.mark.req("DL-065")
def test_no_decision_pending_while_asking_for_the_other_channel():
    left, right = sides()
    left.ready = False
    left.request(0, True)
    [answer] = left.receive(right.request(4, True))
    assert answer.command == ACK


@pytest.mark.req("DL-062", "DL-067", "DL-072")
def test_random_negotiations_end_alike():
    rng = random.Random(8)
    for _ in range(300):
        left, right = sides()
        wires = deque(), deque()
        for step in range(60):
            for side, out, into in ((left, *wires), (right, *wires[::-1])):
                if step < 40 and rng.random() < 0.2:
                    channel = rng.choice([0, 4])
                    with contextlib.suppress(ChannelError):
                        out.append(side.request(channel, not side.online(channel)))
                side.ready = step >= 40 or rng.random() < 0.8
                while into and (step > 50 or rng.random() < 0.5):
                    out.extend(side.receive(into.popleft()))
                owed = [c for c in side.channels.values() if c.state is ChannelState.OWE]
                idle = [c for c in side.channels.values() if c.state is ChannelState.IDLE]
                if len(owed) == len(idle) == 1 and rng.random() < 0.5:
                    out.append(owed[0].request(True))
        for _ in range(6):
            while wires[0]:
                wires[1].extend(right.receive(wires[0].popleft()))
            while wires[1]:
                wires[0].extend(left.receive(wires[1].popleft()))
        for channel in (0, 4):
            if left.channels[channel].state is right.channels[channel].state is ChannelState.IDLE:
                assert left.online(channel) == right.online(channel)
