"""DL messages that break rules."""

from support.bfm.dl.breaking import UP, at, breaks, raw
from ualink_sim.model.dl.messages import (
    ChannelCommand,
    ChannelNegotiation,
    DeviceId,
    NoOp,
    PortNumber,
    TLRateNotification,
    UARTCreditUpdate,
    UARTResetRequest,
    UARTResetResponse,
    UARTTransport,
)

# Messages.


@breaks("message_reserved")
def compressed_message(link):
    raw(link, 0x00000101)


@breaks("message_code")
def undefined_type(link):
    raw(link, 0x000001C0)


@breaks("message_reserved")
def reserved_bit_of_a_message(link):
    raw(link, DeviceId().encode() | 1 << 10)


@breaks("message_reserved")
def port_number_of_11_bits(link):
    raw(link, PortNumber(port_number=1024, valid=1).encode())


@breaks("message_reserved")
def reserved_device_type(link):
    raw(link, DeviceId(type=2).encode())


@breaks("message_reserved")
def reserved_channel_command(link):
    raw(link, ChannelNegotiation(target_state=8, command=1).encode())


@breaks("message_reserved")
def channel_that_does_not_exist(link):
    raw(link, ChannelNegotiation(target_state=9, command=ChannelCommand.REQUEST).encode())


@breaks("basic_fields")
def id_that_is_not_valid(link):
    raw(link, DeviceId(id=5).encode())


@breaks("basic_fields")
def port_number_that_is_not_valid(link):
    raw(link, PortNumber(port_number=5).encode())


@breaks("basic_fields")
def rate_in_a_response(link):
    raw(link, TLRateNotification(ack=1, rate=3125).encode())


@breaks("basic_unasked")
def response_to_nothing(link):
    raw(link, DeviceId(ack=1).encode())


@breaks("basic_answer")
def request_not_answered(link):
    link.device._basic.hear = lambda dword, what: None
    at(link, UP, link.partner.ask_device_id)


@breaks("no_op")
def lonely_no_op(link):
    raw(link, NoOp().encode(), DeviceId().encode())


@breaks("no_op")
def forty_one_no_ops(link):
    raw(link, *[NoOp().encode()] * 41, more=True)


@breaks("no_op")
def reset_without_no_ops(link):
    raw(link, UARTResetRequest().encode())


@breaks("channel_0_offline")
def flit_while_offline(link):
    link.device.channels.want[0] = link.partner.channels.want[0] = False

    def send():
        link.device.channels.online = lambda number: True
        link.device.send(bytes(64))

    at(link, UP, send)


@breaks("channel_4_offline")
def uart_while_offline(link):
    link.device.channels.want[4] = link.partner.channels.want[4] = False
    raw(link, UARTCreditUpdate(data_fc_seq=128).encode())


def _request(link, target, silent=True):
    """The partner asks for a channel state; the device's own answer is suppressed."""
    message = ChannelNegotiation(target_state=target, command=ChannelCommand.REQUEST)

    def ask():
        if silent:
            link.device.channels.hear = lambda dword, what: None
        link.partner.raw_messages.append((message.encode(), False))

    at(link, UP, ask)


@breaks("channel_answer")
def channel_request_not_answered(link):
    _request(link, 0)


@breaks("channel_request")
def request_for_the_current_state(link):
    raw(link, ChannelNegotiation(target_state=8, command=ChannelCommand.REQUEST).encode())


@breaks("channel_request")
def request_twice(link):
    link.partner.channels.hear = lambda dword, what: None
    request = ChannelNegotiation(target_state=8, command=ChannelCommand.REQUEST).encode()
    raw(link, request, request)


@breaks("channel_unasked")
def ack_of_nothing(link):
    raw(link, ChannelNegotiation(target_state=0, command=ChannelCommand.ACK, response=0).encode())


@breaks("channel_response")
def response_with_another_state(link):
    _request(link, 0)
    raw(link, ChannelNegotiation(target_state=8, command=ChannelCommand.ACK, response=0).encode(), time=UP + 8)


@breaks("channel_response")
def request_with_a_response(link):
    raw(link, ChannelNegotiation(target_state=0, command=ChannelCommand.REQUEST, response=8).encode())


@breaks("channel_refused")
def nack(link):
    _request(link, 0)
    raw(link, ChannelNegotiation(target_state=8, command=ChannelCommand.NACK, response=0).encode(), time=UP + 8)


@breaks("channel_refused")
def decision_pending_to_an_offline_request(link):
    _request(link, 0)
    raw(link, ChannelNegotiation(command=ChannelCommand.DECISION_PENDING, response=0).encode(), time=UP + 8)


@breaks("channel_owed", options={"owed": 30})
def owed_request_never_comes(link):
    link.device.channels.want[4] = False
    _request(link, 12, silent=False)


# UART: channel 4 is online.


def _transport(dwords):
    return UARTTransport.dwords(list(range(1, dwords + 1)))


@breaks("uart_framing")
def transport_pauses(link):
    raw(link, *_transport(4)[:3], more=True)


@breaks("uart_stream")
def stream_one(link):
    raw(link, UARTCreditUpdate(stream_id=1, data_fc_seq=5).encode())


@breaks("uart_credits")
def more_than_the_credits(link):
    for _ in range(5):
        raw(link, *_transport(32), more=True)


@breaks("uart_grant")
def credit_for_nothing(link):
    raw(link, UARTCreditUpdate(data_fc_seq=129).encode())


@breaks("uart_reset")
def credit_during_a_reset(link):
    link.partner._uart.hear = lambda dword, what: None
    at(link, UP, link.device.uart.start_reset)
    raw(link, UARTCreditUpdate(data_fc_seq=128).encode(), time=UP + 15)


@breaks("uart_reset")
def data_during_a_reset(link):
    link.partner._uart.hear = lambda dword, what: None
    at(link, UP, link.device.uart.start_reset)
    raw(link, *_transport(2), more=True, time=UP + 15)


@breaks("uart_reset")
def data_before_the_reset_response(link):
    def stop():
        link.device._uart.hear = lambda dword, what: None
        link.partner.uart.start_reset()

    at(link, UP, stop)
    raw(link, *_transport(2), more=True, time=UP + 25)


@breaks("uart_reset_answer", options={"uart_reset_answer": 30})
def reset_not_answered(link):
    def stop():
        link.device._uart.hear = lambda dword, what: None
        link.partner.uart.start_reset()

    at(link, UP, stop)


@breaks("message_reserved")
def response_with_a_status(link):
    raw(link, UARTResetResponse(status=1).encode())
