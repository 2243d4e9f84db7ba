"""The data link layer of one port (UALink_200 §6)."""

from amaranth.hdl import Module, ResetInserter
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect

from ualink.config import DLConfig
from ualink.dl.channel import Channel
from ualink.dl.containment import IngressContainment
from ualink.dl.crc_generator import CrcGenerator
from ualink.dl.error_injection import ErrorInjection
from ualink.dl.flit_check import FlitCheck
from ualink.dl.forward_progress import ForwardProgress
from ualink.dl.interface import tl_flit_signature
from ualink.dl.link_state import LinkStateMachine
from ualink.dl.packer import Packer
from ualink.dl.receive_buffer import ReceiveBuffer
from ualink.dl.registers import COUNTERS, DLConfigSignature, DLStatusSignature, EventCounters
from ualink.dl.replay_receive import ReplayReceive
from ualink.dl.replay_transmit import ReplayTransmit
from ualink.dl.unpacker import Unpacker
from ualink.phy.interface import RX_BEAT_LAYOUT, TX_BEAT_LAYOUT, SlotStatus, TxKind

__all__ = ["DataLink"]


class DataLink(wiring.Component):
    """Data link of one port: TL flits on one side, ten-beat flit slots of 64 bytes a cycle on the other.

    Latency: a TL flit taken in cycle t is in the beat offered on ``tx`` from cycle t + 3. The first TL flit of an
    accepted payload flit whose last beat arrives in cycle t leaves ``rx_flit`` in cycle t + 5, one more flit per
    cycle after it.

    While the link is not Up, and again while channel 0 is offline, TL flits are neither taken nor delivered. What was
    on its way when the link went down is lost; ``online`` falls, so that both TLs start anew.

    Members
    -------
    tx_flit, rx_flit : TL flits to and from the partner.
    online : channel 0 can receive TL flits; it can send them as well as soon as its negotiation is complete, before
        that ``tx_flit`` is not ready.
    tx, rx, local_fault, remote_fault : the reconciliation sublayer; a cycle in which ``tx`` is not ready stalls the
        whole transmit side.
    config, status : ``DLConfigSignature``, ``DLStatusSignature``.
    """

    def __init__(self, config: DLConfig | None = None):
        self._config = config = config or DLConfig()
        super().__init__(
            {
                "tx_flit": In(tl_flit_signature()),
                "rx_flit": Out(tl_flit_signature(always_ready=True)),
                "online": Out(1),
                "tx": Out(stream.Signature(TX_BEAT_LAYOUT)),
                "rx": In(stream.Signature(RX_BEAT_LAYOUT, always_ready=True)),
                "local_fault": In(1),
                "remote_fault": In(1),
                "config": In(DLConfigSignature(config)),
                "status": Out(DLStatusSignature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.link_state = link = LinkStateMachine(config.idle_flit_times)
        m.submodules.packer = packer = Packer()
        m.submodules.transmit = transmit = ReplayTransmit(config)
        m.submodules.crc_generator = crc_generator = CrcGenerator(config.crc_covers_zero_field)
        m.submodules.check = check = FlitCheck(config.crc_covers_zero_field)
        m.submodules.receive_buffer = receive_buffer = ReceiveBuffer()
        m.submodules.unpacker = unpacker = Unpacker()
        m.submodules.containment = containment = IngressContainment()
        m.submodules.injection = injection = ErrorInjection()
        m.submodules.counters = counters = EventCounters()
        receive, channel, progress = ReplayReceive(), Channel(0), ForwardProgress()
        m.submodules.receive = ResetInserter(link.flush)(receive)
        m.submodules.channel_0 = ResetInserter(link.flush)(channel)
        m.submodules.forward_progress = ResetInserter(link.flush)(progress)

        # Towards the wire. The channel is the only source of DL messages: the arbiter of message classes has its
        # place here.
        connect(m, wiring.flipped(self.tx_flit), packer.flit)
        connect(m, channel.message, packer.message)
        connect(m, packer.beat, transmit.packed)
        connect(m, transmit.beat, crc_generator.beats_in)
        m.d.comb += [
            packer.accept.eq(transmit.accept),
            packer.channel_online.eq(channel.transmit),
            packer.flush.eq(link.flush),
            self.tx.valid.eq(crc_generator.beats_out.valid),
            crc_generator.beats_out.ready.eq(self.tx.ready),
            self.tx.p.data.eq(crc_generator.beats_out.p.data),
            self.tx.p.first.eq(crc_generator.beats_out.p.first),
            self.tx.p.last.eq(crc_generator.beats_out.p.last),
            self.tx.p.kind.eq(crc_generator.beats_out.p.kind),
            transmit.next_kind.eq(link.next_kind),
            transmit.up.eq(link.up),
            transmit.flush.eq(link.flush),
            transmit.codeword_group.eq(self.config.codeword_group),
            transmit.rx_last_seq_calc.eq(receive.rx_last_seq_calc),
            transmit.rx_last_ack.eq(receive.rx_last_ack),
            transmit.request_replay.eq(receive.request_replay | injection.replay_request),
            transmit.replay.eq(receive.replay_accepted),
            transmit.replay_from.eq(receive.ack_req_seq),
        ]

        # From the wire.
        for watcher in (check, receive_buffer):
            m.d.comb += [watcher.rx.valid.eq(self.rx.valid), watcher.rx.p.eq(self.rx.p)]
        connect(m, receive_buffer.beat, unpacker.beat)
        connect(m, unpacker.flit, containment.received)
        m.d.comb += [
            receive.ended.eq(check.ended & link.flits & (check.status != SlotStatus.CONTROL)),
            receive.good.eq((check.status == SlotStatus.GOOD) & ~injection.received_crc),
            receive.header.eq(check.header),
            receive.rx_replay_limit.eq(self.config.rx_replay_limit),
            receive.tx_last_seq.eq(transmit.tx_last_seq),
            receive_buffer.ended.eq(check.ended),
            receive_buffer.accept.eq(receive.accept),
            receive_buffer.flush.eq(link.flush),
            unpacker.flush.eq(link.flush),
            channel.received.valid.eq(unpacker.message.valid),
            channel.received.payload.eq(unpacker.message.payload),
            containment.fault.eq(receive_buffer.fault | unpacker.fault | injection.ingress_control),
            containment.flush.eq(link.flush),
            self.rx_flit.valid.eq(containment.flit.valid & channel.receive),
            self.rx_flit.p.eq(containment.flit.p),
        ]

        # Errors on demand come on top of what is wired above.
        sent = self.tx.valid & self.tx.ready
        m.d.comb += [
            injection.enable.eq(self.config.inject_enable),
            injection.select.eq(self.config.inject_select),
            injection.trigger.eq(self.config.inject),
            packer.flit.p.data[0].eq(self.tx_flit.p.data[0] ^ injection.egress_data),
            packer.flit.p.control_parity.eq(self.tx_flit.p.control_parity ^ injection.egress_control),
            injection.flit_taken.eq(self.tx_flit.valid & self.tx_flit.ready),
            crc_generator.beats_in.p.invert.eq(transmit.beat.p.invert ^ injection.sent_crc),
            injection.crc_slot_end.eq(transmit.slot_end),
            injection.crc_struck.eq(transmit.flit_sent),
            self.tx.p.data[0].eq(
                crc_generator.beats_out.p.data[0]
                ^ (injection.sent_bit & self.tx.p.first & (self.tx.p.kind == TxKind.DATA))
            ),
            injection.wire_slot_end.eq(sent & self.tx.p.last),
            injection.wire_struck.eq(sent & self.tx.p.first & (self.tx.p.kind == TxKind.DATA)),
            injection.slot_received.eq(receive.ended),
            containment.received.p.data[0].eq(unpacker.flit.p.data[0] ^ injection.ingress_data),
            injection.flit_received.eq(unpacker.flit.valid),
        ]

        # Link and channel state.
        m.d.comb += [
            link.local_fault.eq(self.local_fault),
            link.remote_fault.eq(self.remote_fault),
            link.enable.eq(self.config.enable),
            link.slot_end.eq(transmit.slot_end),
            link.ended.eq(check.ended),
            link.status.eq(check.status),
            link.containment.eq(transmit.egress_error | containment.containment),
            link.time_out.eq(progress.time_out),
            channel.want_online.eq(self.config.channel_0_online),
            channel.may_request.eq(self.config.may_request_channels),
            channel.time_out_flits.eq(self.config.channel_time_out),
            channel.slot_end.eq(transmit.slot_end),
            progress.slot_end.eq(transmit.slot_end),
            progress.waiting.eq(link.up & (transmit.held != 0)),
            progress.acked.eq(receive.acked),
            progress.tx_ack_time_out.eq(self.config.tx_ack_time_out),
            self.online.eq(channel.receive),
        ]

        events = {
            "crc_errors": receive.bad & ~check.lost,
            "lost_flits": receive.ended & check.lost,
            "replays_requested": receive.request_replay,
            "replays_accepted": receive.replay_accepted,
            "dropped_flits": receive.dropped,
            "commands_ignored": receive.command_ignored,
            "protocol_errors": receive.protocol_error | channel.protocol_error | unpacker.format_error,
            "flits_sent": transmit.flit_sent,
            "payload_flits_sent": transmit.payload_sent,
            "flits_replayed": transmit.flit_replayed,
            "flits_received": receive.accept | receive.accept_nop,
            "payload_flits_received": receive.accept,
            "link_downs": link.left_up,
        }
        m.d.comb += [
            self.status.link_state.eq(link.state),
            self.status.online.eq(channel.online),
            self.status.rx_replay.eq(receive.rx_replay),
            self.status.tx_replay.eq(transmit.tx_replay),
            self.status.held.eq(transmit.held),
            self.status.containment_ingress.eq(containment.found),
            self.status.containment_egress.eq(transmit.egress_error),
        ]
        for name in COUNTERS:
            m.d.comb += [
                getattr(counters, f"event_{name}").eq(events[name]),
                getattr(self.status, name).eq(getattr(counters, f"count_{name}")),
            ]
        return m
