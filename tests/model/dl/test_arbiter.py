"""Both levels of the message arbitration, and the framing of what was arbitrated."""

import random

import pytest

from ualink_sim.model.dl.arbiter import MessageArbiter, RoundRobin
from ualink_sim.model.dl.decode_messages import Message, MessageStream, Payload, Unknown
from ualink_sim.model.dl.messages import ChannelNegotiation, DeviceId, UARTTransport


@pytest.mark.req("DL-043")
def test_round_robin():
    turns = RoundRobin("abc")
    assert [turns.choose("abc") for _ in range(4)] == list("abca")
    assert turns.choose("a") == "a" and turns.choose("ac") == "c" and turns.choose("") is None


@pytest.mark.req("DL-040", "DL-041", "DL-042", "DL-044")
def test_a_long_message_is_in_one_piece():
    """33 dwords go over more than six DL flits of five segments; the others wait, then take their turns."""
    arbiter, stream = MessageArbiter(), MessageStream()
    payload = list(range(32))
    sources = {
        "basic": [DeviceId().encode()] * 3,
        "control": [ChannelNegotiation().encode()] * 3,
        "uart": UARTTransport.dwords(payload),
    }
    order, kinds = [], []
    while any(sources.values()):
        name = arbiter.choose([name for name, dwords in sources.items() if dwords])
        dword = sources[name].pop(0)
        order.append(name)
        kinds.append(stream.receive(dword))
        arbiter.packed(more=name == "uart" and bool(sources["uart"]))
    assert order == ["basic", "control"] + ["uart"] * 33 + ["basic", "control"] * 2
    assert [kind.dword for kind in kinds if isinstance(kind, Payload)] == payload
    assert [kind.last for kind in kinds if isinstance(kind, Payload)] == [False] * 31 + [True]
    assert sum(isinstance(kind, Message) for kind in kinds) == 7


@pytest.mark.req("DL-038", "DL-039", "DL-040")
def test_payload_is_never_a_message():
    rng = random.Random(3)
    stream = MessageStream()
    for length in range(32):
        stream.receive(UARTTransport(length=length, stream_id=3).encode())
        for n in range(length + 1):
            dword = rng.choice([UARTTransport(length=31).encode(), rng.getrandbits(32)])
            assert stream.receive(dword) == Payload(dword, 3, n == length)
        assert stream.receive(0x0000_00C0) == Unknown(0x0000_00C0)
    stream.receive(UARTTransport(length=9).encode())
    stream.flush()
    assert isinstance(stream.receive(0), Message)
