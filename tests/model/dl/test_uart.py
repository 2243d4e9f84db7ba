"""The UART of the executable model: worked cases, two sides under random traffic, Vendor Defined Packets."""

import random
from collections import deque

import pytest

from ualink_sim.model.dl.messages import (
    MessageError,
    NoOp,
    UARTCreditUpdate,
    UARTResetRequest,
    UARTResetResponse,
    UARTTransport,
    VendorDefinedPacket,
)
from ualink_sim.model.dl.uart import NO_OPS, ResetStep, Uart, UartEvent
from ualink_sim.model.dl.uart_credits import Transmitter, pack_vendor_defined, unpack_vendor_defined

SEQUENCE = [NoOp().encode()] * NO_OPS + [UARTResetRequest().encode()]
RESPONSE = UARTResetResponse().encode()


def update(data_fc_seq):
    return UARTCreditUpdate(data_fc_seq=data_fc_seq).encode()


def say(uart):
    """All that it has to send, and that ``more`` tells where messages end."""
    dwords = []
    while (offer := uart.send()) is not None:
        dwords.append(offer[0])
    return dwords


def tell(uart, *dwords):
    for dword in dwords:
        uart.receive(dword)


@pytest.mark.req("DL-077", "DL-090", "DL-097", "DL-098", "DL-100", "DL-107")
def test_first_credit_update():
    uart = Uart(8, 5)
    uart.transmit = False
    uart.write(1)
    assert say(uart) == []
    uart.transmit = True
    assert say(uart) == [update(5)]


@pytest.mark.req("DL-096", "DL-099", "DL-101", "DL-105")
@pytest.mark.parametrize("base", [0, 4000, 4095])
@pytest.mark.parametrize("credits, fill", [(0, 3), (1, 3), (3, 1), (32, 40), (40, 40), (40, 32)])
def test_length(credits, fill, base):
    transmitter = Transmitter(64)
    transmitter.data_fc_seq = (base + credits) % 4096
    transmitter.tcc = base
    transmitter.buffer.extend(range(fill))
    message = transmitter.transport()
    count = min(credits, fill, 32)
    assert message == ([UARTTransport(length=count - 1).encode(), *range(count)] if count else None)
    assert transmitter.credits == credits - count and len(transmitter.buffer) == fill - count


@pytest.mark.req("DL-097", "DL-098")
def test_later_credit_updates():
    uart = Uart(8, 5)
    assert say(uart) == [update(5)]
    tell(uart, *UARTTransport.dwords([7, 8, 9]))
    for _ in range(8):
        uart.flit_sent()
    assert say(uart) == []
    assert uart.read() == 7
    assert say(uart) == [update(6)]
    assert uart.read() == 8
    for _ in range(3):
        uart.flit_sent()
        assert say(uart) == []
    uart.flit_sent()
    assert say(uart) == [update(7)]


@pytest.mark.req("DL-061", "DL-092", "DL-093", "DL-094", "DL-095", "DL-103", "DL-104")
def test_reset():
    left, right = Uart(8, 5, time_out_flits=3), Uart(8, 6)
    for a, b in ((left, right), (right, left)):
        tell(b, *say(a))
    left.write(1)
    right.write(2)
    tell(left, *say(right))
    left.start_reset()
    assert left.disabled and left.read() is None and left.write(9)
    said = say(left)
    assert said == SEQUENCE
    for _ in range(3):
        assert left.step is ResetStep.WAIT and UartEvent.RESET_TIMED_OUT not in left.events
        left.flit_time()
    assert say(left) == SEQUENCE and left.events == [UartEvent.RESET_TIMED_OUT]
    tell(right, *SEQUENCE)
    assert right.disabled and right.write(9)
    answer = say(right)
    assert answer == [RESPONSE, update(6)]
    tell(left, update(9), RESPONSE | 1 << 13)
    assert left.disabled and left.transmitter.credits == 0
    tell(left, *answer)
    assert not left.disabled and left.transmitter.credits == 6
    assert say(left) == [update(5)]
    tell(left, RESPONSE)
    assert left.events.count(UartEvent.PROTOCOL_ERROR) == 2


@pytest.mark.req("DL-061", "DL-092", "DL-095")
@pytest.mark.parametrize("requester", [True, False])
def test_reset_in_mid_message(requester):
    uart = Uart()
    say(uart)
    tell(uart, update(50))
    for word in range(1, 10):
        uart.write(word)
    before = [uart.send() for _ in range(4)]
    assert [dword for dword, _ in before] == [UARTTransport(length=8).encode(), 1, 2, 3]
    if requester:
        uart.start_reset()
        assert say(uart) == SEQUENCE
    else:
        tell(uart, UARTResetRequest().encode())
        assert say(uart) == [0] * 6 + [RESPONSE, update(128)]


@pytest.mark.req("DL-074", "DL-075", "DL-077")
def test_offline_in_mid_message():
    uart = Uart()
    say(uart)
    tell(uart, update(50))
    for word in range(1, 10):
        uart.write(word)
    before = [uart.send() for _ in range(4)]
    uart.transmit, uart.receiving, uart.offline = False, False, True
    assert before[-1] == (3, True) and say(uart) == [0] * 6
    tell(uart, UARTResetRequest().encode(), *UARTTransport.dwords([1, 2]))
    assert not uart.disabled and uart.events == [UartEvent.DISCARDED] * 2


@pytest.mark.req("DL-006")
def test_errors():
    uart = Uart(8, 2)
    say(uart)
    for dword in (update(9) | 1 << 9, UARTResetRequest(stream_id=3).encode(), RESPONSE):
        tell(uart, dword)
    tell(uart, *UARTTransport.dwords([1], stream_id=2), update(4), update(5), update(3))
    assert uart.events == [UartEvent.PROTOCOL_ERROR] * 6 and uart.transmitter.credits == 4
    tell(uart, *UARTTransport.dwords([1, 2, 3]))
    assert uart.events[6:] == [UartEvent.OVERFLOW] and [uart.read(), uart.read(), uart.read()] == [1, 2, None]


class Wire:
    """Two sides with dwords in flight; random pace everywhere."""

    def __init__(self, rng, sides):
        self.rng, self.sides = rng, sides
        self.flying = deque(), deque()
        self.got = [[], []]

    def step(self, to_write):
        rng = self.rng
        for n, uart in enumerate(self.sides):
            if rng.random() < 0.6 and (offer := uart.send()):
                self.flying[n].append(offer[0])
            if rng.random() < 0.6 and self.flying[1 - n]:
                uart.receive(self.flying[1 - n].popleft())
            if to_write[n] and rng.random() < 0.7 and uart.write(to_write[n][0]):
                to_write[n].popleft()
            if rng.random() < 0.5 and (word := uart.read()) is not None:
                self.got[n].append(word)
            if rng.random() < 0.3:
                uart.flit_sent()


@pytest.mark.req("DL-006", "DL-007", "DL-086", "DL-087", "DL-096")
@pytest.mark.parametrize("sizes", [((1, 1), (2, 2)), ((128, 128), (128, 128)), ((9, 64), (64, 3))])
def test_every_word_arrives(sizes):
    rng = random.Random(str(sizes))
    sides = [Uart(*size) for size in sizes]
    wire = Wire(rng, sides)
    count = 5000 if sizes[0][0] == 128 else 500
    words = [[rng.getrandbits(32) for _ in range(count)] for _ in sides]
    to_write = [deque(some) for some in words]
    for _ in range(100 * count):
        wire.step(to_write)
        if all(len(got) == count for got in wire.got):
            break
    assert wire.got == words[::-1] and not any(uart.events for uart in sides)


@pytest.mark.req("DL-102")
@pytest.mark.parametrize("length", [1, 31, 32, 256])
def test_vendor_defined_packets_span_transport_messages(length):
    """Packets and Transport Messages have nothing to do with each other's boundaries."""
    rng = random.Random(length)
    left, right = Uart(128, 128), Uart(20, 24)
    wire = Wire(rng, [left, right])
    packets = [(0xFFFF, 0x12, [rng.getrandbits(32) for _ in range(length)]) for _ in range(4)]
    packets.append((0x1AB8, 0xFE, [0, 0xFFFF_FFFF]))
    stream = [dword for packet in packets for dword in pack_vendor_defined(*packet)]
    assert stream[0] == 0xFFFF_1200 | length - 1
    to_write = [deque(stream), deque()]
    for _ in range(60_000):
        wire.step(to_write)
        if len(wire.got[1]) == len(stream):
            break
    found = unpack_vendor_defined(wire.got[1])
    assert [(head.vendor_id, head.type, payload) for head, payload in found] == packets
    assert unpack_vendor_defined(wire.got[1][:-1]) == found[:-1]


def test_refuses_packets():
    for count in (0, 257):
        with pytest.raises(MessageError, match=f"{count} payload dwords"):
            pack_vendor_defined(0xFFFF, 0, [0] * count)
    assert VendorDefinedPacket.decode(0xFFFF_12FF).length == 255
