"""What firmware sets and sees of one data link (UALink_200 §6.6.4-5, §6.7.2)."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import DLConfig
from ualink.dl.interface import DEVICE_ID_LAYOUT, PORT_NUMBER_LAYOUT, LinkState
from ualink.lib.event_counter import EventCounter

__all__ = [
    "COUNTERS",
    "FULL_RATE",
    "STATUS_FLAGS",
    "STATUS_PULSES",
    "DLConfigSignature",
    "DLStatusSignature",
    "EventCounters",
]

COUNTER_BITS = 32

COUNTERS = (
    "crc_errors",
    "lost_flits",
    "replays_requested",
    "replays_accepted",
    "dropped_flits",
    "commands_ignored",
    "protocol_errors",
    "flits_sent",
    "payload_flits_sent",
    "flits_replayed",
    "flits_received",
    "payload_flits_received",
    "link_downs",
    "forward_progress_time_outs",
    "ingress_containments",
    "egress_containments",
    "unknown_messages",
)
"""Counted events, in this order: data flits with bad CRC; flits lost by the RS; sets of Replay Requests sent; Replay
Requests acted upon; good flits dropped; Acks and Replay Requests out of range; number 0, reserved codes, messages out
of place, impossible segment headers; DL flits sent; those with payload; those out of TxReplay; DL flits accepted; those
with payload; times that the link left Up; times that it did so because no Ack came, because of a bad TL flit received,
because of a bad one to be sent; messages that do not exist."""


FULL_RATE = 31_250
"""1562.5 MHz in units of 50 kHz (UALink_200 §6.4.2.2)."""

STATUS_FLAGS = (
    "device_answered",
    "port_answered",
    "rate_answered",
    "uart_resetting",
)

STATUS_PULSES = (
    "channel_timed_out",
    "uart_overflow",
    "uart_discarded",
    "uart_reset_timed_out",
    "uart_reset_received",
    "uart_protocol_error",
    "containment_ingress",
    "containment_egress",
    "forward_progress_time_out",
)
"""Events that last one cycle of the port."""


class DLConfigSignature(wiring.Signature):
    """Set by firmware, given by the block above; the reset values are those of ``config`` and of the standard.

    Members that ask for something (``ask_…``, ``announce_rate``, ``uart_reset``, ``inject``) do so
    when they rise.

    Members
    -------
    enable : let the link leave Idle; 0.
    channel_0_online : TL flits are wanted; 1.
    channel_4_online : the UART is wanted; 0.
    may_request_channels : this device may start channel negotiations (ruling A-11 (DL)); 1.
    rx_replay_limit : flit times in replay state before Replay Requests are repeated; above the round trip (ruling
        A-21 (DL)).
    codeword_group : flits that one FEC failure can take: 1, 2 or 4; 4.
    tx_ack_time_out : forward-progress time-out in flit times; 0 switches it off.
    channel_time_out : 10 ms in flit times, for channel negotiations and UART resets; 390,625 (200 Gb/s); 0 switches it
        off.
    local_device, local_port : what Device ID and Port Number messages of this side tell, not valid.
    ask_device, ask_port : ask the partner for the same.
    pace : most TL flits that this side sends, in units of 50 kHz; 31,250 is every slot.
    announce_rate, rate : tell the partner the rate of this side's TL clock.
    uart_reset, uart_reset_all : reset the UART stream; say in the Reset Request that it means all streams.
    inject_enable, inject_select, inject : error injection.
    """

    def __init__(self, config: DLConfig):
        super().__init__(
            {
                "enable": Out(1),
                "channel_0_online": Out(1, init=1),
                "channel_4_online": Out(1),
                "may_request_channels": Out(1, init=1),
                "rx_replay_limit": Out(8, init=config.rx_replay_limit),
                "codeword_group": Out(3, init=4),
                "tx_ack_time_out": Out(24, init=config.tx_ack_time_out),
                "channel_time_out": Out(24, init=390_625),
                "local_device": Out(DEVICE_ID_LAYOUT),
                "local_port": Out(PORT_NUMBER_LAYOUT),
                "ask_device": Out(1),
                "ask_port": Out(1),
                "pace": Out(16, init=FULL_RATE),
                "announce_rate": Out(1),
                "rate": Out(16, init=FULL_RATE),
                "uart_reset": Out(1),
                "uart_reset_all": Out(1),
                "inject_enable": Out(1),
                "inject_select": Out(4),
                "inject": Out(1),
            }
        )


class DLStatusSignature(wiring.Signature):
    """Shown to firmware: the link state, the state of replay, channels and messages, and counters of 32 bits that wrap
    around.

    Members
    -------
    link_state : ``LinkState``.
    online, online_4 : channel 0, channel 4 is online.
    rx_replay, tx_replay : a replay is waited for; a replay is being sent.
    held : unacknowledged flits.
    partner_device, partner_port, partner_rate : what the partner last told; its rate is 31,250 before.
    device_answered, port_answered, rate_answered : the Request sent last has its Ack.
    channel_timed_out : pulse: a channel negotiation was given up.
    uart_resetting, uart_tx_level, uart_rx_level : the stream is being reset; dwords in the UART buffers.
    uart_overflow, uart_discarded, uart_reset_timed_out, uart_reset_received, uart_protocol_error : pulses, as of
        ``Uart``.
    containment_ingress, containment_egress : pulses: an uncorrectable error took the link down.
    forward_progress_time_out : pulse: no Ack came, which took the link down.
    …: one per name in ``COUNTERS``; they survive a link down.
    """

    def __init__(self):
        super().__init__(
            {
                "link_state": Out(LinkState),
                "online": Out(1),
                "online_4": Out(1),
                "rx_replay": Out(1),
                "tx_replay": Out(1),
                "held": Out(8),
                "partner_device": Out(DEVICE_ID_LAYOUT),
                "partner_port": Out(PORT_NUMBER_LAYOUT),
                "partner_rate": Out(16, init=FULL_RATE),
                **{name: Out(1) for name in STATUS_FLAGS},
                "uart_tx_level": Out(12),
                "uart_rx_level": Out(12),
                **{name: Out(1) for name in STATUS_PULSES},
                **{name: Out(COUNTER_BITS) for name in COUNTERS},
            }
        )


class EventCounters(wiring.Component):
    """One counter of 32 bits per name in ``COUNTERS``.

    Members
    -------
    events : a bit of each name: count one up.
    counts : 32 bits of each name, two cycles later, as of ``EventCounter``: true whenever it is read.
    """

    def __init__(self):
        super().__init__(
            {
                "events": In(data.StructLayout(dict.fromkeys(COUNTERS, 1))),
                "counts": Out(data.StructLayout(dict.fromkeys(COUNTERS, COUNTER_BITS))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for name in COUNTERS:
            m.submodules[name] = counter = EventCounter(COUNTER_BITS)
            m.d.comb += [
                counter.event.eq(self.events[name]),
                self.counts[name].eq(counter.count),
            ]
        return m
