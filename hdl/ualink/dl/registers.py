"""What firmware sets and sees of one data link (UALink_200 §6.6.4-5, §6.7.2)."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import DLConfig
from ualink.dl.interface import LinkState

__all__ = ["COUNTERS", "DLConfigSignature", "DLStatusSignature", "EventCounters"]

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
)
"""Counted events, in this order: data flits with bad CRC; flits lost by the RS; sets of Replay Requests sent; Replay
Requests acted upon; good flits dropped; Acks and Replay Requests out of range; number 0, reserved codes, channel
messages out of place, impossible segment headers; DL flits sent; those with payload; those out of TxReplay; DL flits
accepted; those with payload; times that the link left Up."""


class DLConfigSignature(wiring.Signature):
    """Set by firmware, given by the block above; the reset values are those of ``config`` and of the standard.

    Members
    -------
    enable : let the link leave Idle; 0.
    channel_0_online : TL flits are wanted; 1.
    may_request_channels : this device may start channel negotiations (ruling A-11 (DL)); 1.
    rx_replay_limit : flit times in replay state before Replay Requests are repeated; above the round trip (ruling
        A-21 (DL)).
    codeword_group : flits that one FEC failure can take: 1, 2 or 4; 4.
    tx_ack_time_out : forward-progress time-out in flit times; 0 switches it off.
    channel_time_out : 10 ms in flit times, for channel negotiations; 390,625 (200 Gb/s); 0 switches it off.
    """

    def __init__(self, config: DLConfig):
        super().__init__(
            {
                "enable": Out(1),
                "channel_0_online": Out(1, init=1),
                "may_request_channels": Out(1, init=1),
                "rx_replay_limit": Out(8, init=config.rx_replay_limit),
                "codeword_group": Out(3, init=4),
                "tx_ack_time_out": Out(24, init=config.tx_ack_time_out),
                "channel_time_out": Out(24, init=390_625),
            }
        )


class DLStatusSignature(wiring.Signature):
    """Shown to firmware: the link state, the state of both replay machines, and counters of 32 bits that wrap around.

    Members
    -------
    link_state : ``LinkState``.
    online : channel 0 is online.
    rx_replay, tx_replay : a replay is waited for; a replay is being sent.
    held : unacknowledged flits.
    …: one per name in ``COUNTERS``; they survive a link down.
    """

    def __init__(self):
        super().__init__(
            {
                "link_state": Out(LinkState),
                "online": Out(1),
                "rx_replay": Out(1),
                "tx_replay": Out(1),
                "held": Out(8),
                **{name: Out(COUNTER_BITS) for name in COUNTERS},
            }
        )


class EventCounters(wiring.Component):
    """One counter of 32 bits per name in ``COUNTERS``.

    Members
    -------
    event_… : count one up in this cycle.
    count_… : the count, one cycle later.
    """

    def __init__(self):
        super().__init__(
            {f"event_{name}": In(1) for name in COUNTERS} | {f"count_{name}": Out(COUNTER_BITS) for name in COUNTERS}
        )

    def elaborate(self, platform):
        m = Module()
        for name in COUNTERS:
            with m.If(getattr(self, f"event_{name}")):
                count = getattr(self, f"count_{name}")
                m.d.sync += count.eq(count + 1)
        return m
