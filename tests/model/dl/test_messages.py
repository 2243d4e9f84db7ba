"""DL messages and channel negotiation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ualink_sim.model.dl.messages import (
    MESSAGE_TYPES,
    ChannelCommand,
    ChannelNegotiation,
    DeviceId,
    MessageError,
    NoOp,
    PortNumber,
    TLRateNotification,
    UARTCreditUpdate,
    UARTResetRequest,
    UARTResetResponse,
    UARTTransport,
    VendorDefinedPacket,
    decode_message,
)

VECTORS = [
    (NoOp(), 0x00000000),
    (TLRateNotification(), 0x00000100),
    (TLRateNotification(ack=1), 0x00001100),
    (TLRateNotification(rate=31_250), 0x7A120100),
    (TLRateNotification(rate=3_125), 0x0C350100),
    (TLRateNotification(rate=0xFFFF), 0xFFFF0100),
    (DeviceId(), 0x00000140),
    (DeviceId(ack=1), 0x00001140),
    (DeviceId(id=0x3FF, type=1, valid=1), 0xA3FF0140),
    (PortNumber(), 0x00000180),
    (PortNumber(ack=1), 0x00001180),
    (PortNumber(port_number=0xABC, valid=1), 0x8ABC0180),
    (ChannelNegotiation(), 0x00000120),
    (ChannelNegotiation(target_state=8, command=ChannelCommand.REQUEST), 0x00480120),
    (ChannelNegotiation(target_state=8, command=ChannelCommand.ACK, response=8), 0x08680120),
    (ChannelNegotiation(target_state=0xC, command=ChannelCommand.REQUEST), 0x004C0120),
    (ChannelNegotiation(target_state=0xC, command=ChannelCommand.ACK, response=0xC), 0x0C6C0120),
    (ChannelNegotiation(target_state=0, command=ChannelCommand.REQUEST), 0x00400120),
    (ChannelNegotiation(command=ChannelCommand.DECISION_PENDING, response=0xC), 0x0C800120),
    (UARTTransport(), 0x00000004),
    (UARTTransport(length=31), 0xF8000004),
    (UARTCreditUpdate(), 0x00000044),
    (UARTCreditUpdate(data_fc_seq=0x080), 0x08000044),
    (UARTResetRequest(), 0x00000184),
    (UARTResetRequest(stream_id=5, all_streams=1), 0x00001B84),
    (UARTResetResponse(), 0x000001C4),
    (UARTResetResponse(stream_id=1, all_streams=1, status=7), 0x0000F3C4),
]

TABLES = ("DL-038", "DL-039", "DL-048", "DL-050", "DL-055", "DL-056", "DL-059", "DL-103", "DL-104", "DL-105", "DL-107")


@pytest.mark.req(*TABLES)
@pytest.mark.parametrize(("message", "dword"), VECTORS)
def test_vectors(message, dword):
    assert message.encode() == dword
    assert decode_message(dword) == message


@pytest.mark.req("DL-036", "DL-184", *TABLES)
@given(st.sampled_from(sorted(MESSAGE_TYPES)), st.integers(0, 0xFFFFFFFF))
def test_reserved_bits_are_zero_and_ignored(code, noise):
    kind = MESSAGE_TYPES[code]
    code_bits = code[0] << 2 | code[1] << 6
    message = decode_message(noise & ~0x1FC | code_bits)
    assert isinstance(message, kind)
    members = sum((1 << width) - 1 << low for low, width in kind.BITS.values())
    assert message.encode() == noise & members | code_bits
    assert decode_message(message.encode()) == message


@pytest.mark.req("DL-038", "DL-039")
def test_unknown_codes():
    defined = 0
    for code in range(128):
        dword = (code & 0xF) << 2 | code >> 4 << 6
        if (code & 0xF, code >> 4) in MESSAGE_TYPES:
            defined += 1
        else:
            with pytest.raises(MessageError, match="no message"):
                decode_message(dword)
            with pytest.raises(MessageError, match="no message"):
                decode_message(dword | 1)
    assert defined == 9


def test_values_that_do_not_fit():
    with pytest.raises(MessageError, match="10 bits"):
        DeviceId(id=1024).encode()


@pytest.mark.req("DL-040", "DL-105")
def test_transport_message():
    for count in (1, 2, 32):
        dwords = UARTTransport.dwords(list(range(count)))
        assert len(dwords) == count + 1 and decode_message(dwords[0]) == UARTTransport(length=count - 1)
    for count in (0, 33):
        with pytest.raises(MessageError, match=f"{count} payload"):
            UARTTransport.dwords([0] * count)


@pytest.mark.req("DL-102")
def test_vendor_defined_packet():
    packet = VendorDefinedPacket(length=0xFF, type=0x12, vendor_id=0xFFFF)
    assert packet.encode() == 0xFFFF12FF and VendorDefinedPacket.decode(0xFFFF12FF) == packet
