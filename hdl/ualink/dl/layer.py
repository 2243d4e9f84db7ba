"""The data link layer of one port (UALink_200 §6)."""

from types import SimpleNamespace

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import DLConfig
from ualink.dl.flit.beat_keeper import BeatKeeper
from ualink.dl.flit.check import FlitCheck
from ualink.dl.flit.containment import IngressContainment
from ualink.dl.flit.crc_generator import CrcGenerator
from ualink.dl.flit.error_injection import ErrorInjection
from ualink.dl.flit.packer import Packer
from ualink.dl.flit.receive_buffer import ReceiveBuffer
from ualink.dl.flit.strike import BeatStrike, FlitStrike
from ualink.dl.flit.unpacker import Unpacker
from ualink.dl.interface import tl_flit_signature
from ualink.dl.link.forward_progress import ForwardProgress
from ualink.dl.link.state import LinkStateMachine
from ualink.dl.message_service import MessageService
from ualink.dl.rate.pacer import Pacer
from ualink.dl.registers.firmware import COUNTERS, FULL_RATE, DLConfigSignature, DLStatusSignature, EventCounters
from ualink.dl.replay.buffer import share_members
from ualink.dl.replay.receive import ReplayReceive
from ualink.dl.replay.transmit import ReplayTransmit
from ualink.lib.forward import show
from ualink.phy.interface import RX_BEAT_LAYOUT, TX_BEAT_LAYOUT, SlotStatus, TxKind

__all__ = ["DataLink"]


class DataLink(wiring.Component):
    """Data link of one port: TL flits on one side, ten-beat flit slots of 64 bytes a cycle on the other.

    Latency, with ``crc_stages`` 2: a TL flit taken in cycle t is in the beat offered on ``tx`` from cycle t + 4. The
    first TL flit of an accepted payload flit whose last beat arrives in cycle t leaves ``rx_flit`` in cycle t + 7, one
    more flit per cycle after it.

    With ``cycles_per_beat`` above 1 a beat comes and goes at most every so many cycles: ``rx`` brings them no nearer to
    each other, and ``tx`` offers them no sooner one after the other. Each TL flit then takes so many cycles.

    While the link is not Up, and again while channel 0 is offline, TL flits are neither taken nor delivered. What was
    on its way when the link went down is lost; ``online`` falls, so that both TLs start anew.

    Parameters
    ----------
    config : of the port.
    shared : TxReplay is that of all ports which take turns with this one; there are ``share`` and ``first_row``.

    Members
    -------
    share, first_row : of TxReplay, as of ``ReplayBuffer``.
    tx_flit, rx_flit : TL flits to and from the partner.
    online : channel 0 can receive TL flits; it can send them as well as soon as its negotiation is complete, before
        that ``tx_flit`` is not ready.
    tx, rx, local_fault, remote_fault : the reconciliation sublayer; a cycle in which ``tx`` is not ready stalls the
        whole transmit side, a cycle later.
    own_rate : most TL flits sent while the own TL clock changes, in units of 50 kHz.
    tl_error : level, until ``online`` has fallen: the TL cannot go on; the link goes down, to DL Idle, and up again.
    uart_tx, uart_rx : dwords that firmware writes and reads.
    config, status : ``DLConfigSignature``, ``DLStatusSignature``.
    """

    def __init__(self, config: DLConfig | None = None, *, shared: bool = False):
        self._config = config = config or DLConfig()
        self._shared = shared
        super().__init__(
            {
                **(share_members(config.replay_depth) if shared else {}),
                "tx_flit": In(tl_flit_signature()),
                "rx_flit": Out(tl_flit_signature(always_ready=True)),
                "online": Out(1),
                "tx": Out(stream.Signature(TX_BEAT_LAYOUT)),
                "rx": In(stream.Signature(RX_BEAT_LAYOUT, always_ready=True)),
                "local_fault": In(1),
                "remote_fault": In(1),
                "own_rate": In(16, init=FULL_RATE),
                "tl_error": In(1),
                "uart_tx": In(stream.Signature(32)),
                "uart_rx": Out(stream.Signature(32)),
                "config": In(DLConfigSignature(config)),
                "status": Out(DLStatusSignature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, cycles_per_beat = self._config, self._config.cycles_per_beat
        link = LinkStateMachine(config.idle_flit_times)
        blocks = SimpleNamespace(
            pacer=Pacer(told=cycles_per_beat > 1),
            egress_strike=FlitStrike(),
            packer=Packer(cycles_per_beat),
            transmit=ReplayTransmit(config, shared=self._shared),
            crc_generator=CrcGenerator(
                config.crc_covers_zero_field, config.crc_stages, cycles_per_beat, unhurried=config.unhurried
            ),
            wire_strike=BeatStrike(),
            check=FlitCheck(config.crc_covers_zero_field, config.crc_stages, cycles_per_beat),
            receive_buffer=ReceiveBuffer(cycles_per_beat, unhurried=config.unhurried),
            unpacker=Unpacker(cycles_per_beat),
            ingress_strike=FlitStrike(always_ready=True),
            containment=IngressContainment(),
            messages=MessageService(config),
            injection=ErrorInjection(),
            counters=EventCounters(),
            receive=ResetInserter(link.flush)(ReplayReceive()),
            progress=ResetInserter(link.flush)(ForwardProgress()),
        )
        if cycles_per_beat == 1:
            blocks.keeper = BeatKeeper()
        m.submodules.link_state = link
        for name, block in vars(blocks).items():
            m.submodules[name] = block
        for block in (blocks.packer, blocks.transmit, blocks.receive_buffer, blocks.unpacker, blocks.containment):
            m.d.comb += block.flush.eq(link.flush)

        if self._shared:
            m.d.comb += [blocks.transmit.share.eq(self.share), blocks.transmit.first_row.eq(self.first_row)]
        self._towards_the_wire(m, link, blocks)
        self._from_the_wire(m, link, blocks)
        self._messages(m, link, blocks)
        self._link_state(m, link, blocks)
        self._inject(m, blocks)
        self._show(m, link, blocks)
        return m

    def _towards_the_wire(self, m, link, blocks):
        packer, transmit, crc, receive = blocks.packer, blocks.transmit, blocks.crc_generator, blocks.receive
        connect(m, flipped(self.tx_flit), blocks.pacer.flit_in)
        connect(m, blocks.pacer.flit_out, blocks.egress_strike.flit_in)
        connect(m, blocks.egress_strike.flit_out, packer.flit)
        connect(m, blocks.messages.message, packer.message)
        connect(m, packer.beat, transmit.packed)
        connect(m, transmit.beat, crc.beats_in)
        connect(m, crc.beats_out, blocks.wire_strike.beats_in)
        if self._config.cycles_per_beat == 1:
            connect(m, blocks.wire_strike.beats_out, blocks.keeper.beats_in)
            connect(m, blocks.keeper.beats_out, flipped(self.tx))
        else:
            # The CRC generator has the beat in hand that a keeper would have.
            connect(m, blocks.wire_strike.beats_out, flipped(self.tx))
            m.d.comb += blocks.pacer.tick.eq(transmit.beat.valid & transmit.beat.ready)
        # No DL flit follows one that is spoilt; the link goes down at the end of the slot that has begun by then.
        withheld = Signal()
        contained = transmit.egress_error & link.flits
        with m.If(contained):
            m.d.sync += withheld.eq(1)
        # Not before the last beat of that slot has gone: it may wait for the wire into the next one.
        with m.If(link.flush & transmit.slot_end):
            m.d.sync += withheld.eq(0)
        m.d.comb += [
            blocks.pacer.pace.eq(self.config.pace),
            blocks.pacer.own_rate.eq(self.own_rate),
            blocks.pacer.partner_rate.eq(blocks.messages.status.partner_rate),
            packer.accept_one.eq(transmit.accept_one),
            packer.accept_two.eq(transmit.accept_two),
            transmit.withhold.eq(withheld | contained),
            crc.invert.eq(transmit.invert),
            packer.channel_online.eq(blocks.messages.transmit),
            transmit.next_kind.eq(link.next_kind),
            transmit.up.eq(link.up),
            transmit.codeword_group.eq(self.config.codeword_group),
            transmit.rx_last_seq_calc.eq(receive.rx_last_seq_calc),
            transmit.rx_last_ack.eq(receive.rx_last_ack),
            transmit.request_replay.eq(receive.request_replay | blocks.injection.replay_request),
            transmit.strike.eq(blocks.injection.sent_crc),
            transmit.replay.eq(receive.replay_accepted),
            transmit.replay_from.eq(receive.ack_req_seq),
        ]

    def _from_the_wire(self, m, link, blocks):
        check, receive, buffer, unpacker = blocks.check, blocks.receive, blocks.receive_buffer, blocks.unpacker
        for watcher in (check, buffer):
            m.d.comb += [watcher.rx.valid.eq(self.rx.valid), watcher.rx.p.eq(self.rx.p)]
        connect(m, buffer.beat, unpacker.beat)
        connect(m, unpacker.flit, blocks.ingress_strike.flit_in)
        connect(m, blocks.ingress_strike.flit_out, blocks.containment.received)
        connect(m, unpacker.message, blocks.containment.received_message)
        connect(m, blocks.containment.message, blocks.messages.received)
        m.d.comb += [
            receive.ended.eq(check.ended & link.flits & (check.status != SlotStatus.CONTROL)),
            receive.good.eq((check.status == SlotStatus.GOOD) & ~blocks.injection.received_crc),
            receive.header.eq(check.header),
            receive.rx_replay_limit.eq(self.config.rx_replay_limit),
            receive.held.eq(blocks.transmit.held),
            buffer.accept.eq(receive.accept),
            blocks.containment.fault.eq(buffer.fault | unpacker.fault | blocks.injection.ingress_control),
            self.rx_flit.valid.eq(blocks.containment.flit.valid & blocks.messages.receive),
            self.rx_flit.p.eq(blocks.containment.flit.p),
        ]

    def _messages(self, m, link, blocks):
        messages = blocks.messages
        connect(m, flipped(self.config), messages.config)
        connect(m, flipped(self.uart_tx), messages.uart_tx)
        connect(m, messages.uart_rx, flipped(self.uart_rx))
        # Flit times are counted a cycle late.
        m.d.sync += messages.slot_end.eq(blocks.transmit.slot_end)
        m.d.comb += [
            messages.flush.eq(link.flush),
            messages.flit_sent.eq(blocks.transmit.flit_sent),
            self.online.eq(messages.receive),
        ]

    def _link_state(self, m, link, blocks):
        transmit, progress = blocks.transmit, blocks.progress
        # The slot after a spoilt flit has most of its beats to go.
        spoilt = Signal()
        m.d.sync += spoilt.eq(transmit.egress_error)
        m.d.comb += [
            link.local_fault.eq(self.local_fault),
            link.remote_fault.eq(self.remote_fault),
            link.enable.eq(self.config.enable),
            link.slot_end.eq(transmit.slot_end),
            link.ended.eq(blocks.check.ended),
            link.status.eq(blocks.check.status),
            link.containment.eq(spoilt | blocks.containment.containment | self.tl_error),
            link.time_out.eq(progress.expires),
            progress.slot_end.eq(transmit.slot_end),
            progress.waiting.eq(link.up & (transmit.held != 0)),
            progress.acked.eq(blocks.receive.acked),
            progress.tx_ack_time_out.eq(self.config.tx_ack_time_out),
        ]

    def _inject(self, m, blocks):
        """Errors on demand: what arms them, what they strike, and when they have struck."""
        injection, crc = blocks.injection, blocks.crc_generator
        egress, wire, ingress = blocks.egress_strike, blocks.wire_strike, blocks.ingress_strike
        last_taken = crc.beats_in.valid & crc.beats_in.ready & crc.beats_in.p.last
        m.d.comb += [
            injection.enable.eq(self.config.inject_enable),
            injection.select.eq(self.config.inject_select),
            injection.trigger.eq(self.config.inject),
            egress.data.eq(injection.egress_data),
            egress.control.eq(injection.egress_control),
            injection.flit_taken.eq(egress.passed),
            injection.crc_slot_end.eq(last_taken),
            injection.crc_struck.eq(last_taken & (crc.beats_in.p.kind == TxKind.DATA)),
            wire.bit.eq(injection.sent_bit),
            injection.wire_slot_end.eq(wire.slot_end),
            injection.wire_struck.eq(wire.struck),
            injection.slot_received.eq(blocks.receive.ended),
            ingress.data.eq(injection.ingress_data),
            injection.flit_received.eq(ingress.passed),
        ]

    def _show(self, m, link, blocks):
        transmit, receive, check, messages = blocks.transmit, blocks.receive, blocks.check, blocks.messages
        show(m, messages.status, self.status, names=messages.status.signature.members)
        events = {
            "crc_errors": receive.bad & ~check.lost,
            "lost_flits": receive.ended & check.lost,
            "replays_requested": transmit.request_replay,
            "replays_accepted": receive.replay_accepted,
            "dropped_flits": receive.dropped,
            "commands_ignored": receive.command_ignored,
            "protocol_errors": receive.protocol_error | messages.protocol_error | blocks.unpacker.format_error,
            "flits_sent": transmit.flit_sent,
            "payload_flits_sent": transmit.payload_sent,
            "flits_replayed": transmit.flit_replayed,
            "flits_received": receive.accept | receive.accept_nop,
            "payload_flits_received": receive.accept,
            "link_downs": link.left_up,
            "forward_progress_time_outs": blocks.progress.time_out,
            "ingress_containments": blocks.containment.found,
            "egress_containments": transmit.egress_error & link.flits,
            "unknown_messages": messages.unknown,
        }
        m.d.comb += [
            self.status.link_state.eq(link.state),
            self.status.rx_replay.eq(receive.rx_replay),
            self.status.tx_replay.eq(transmit.tx_replay),
            self.status.held.eq(transmit.held),
            self.status.containment_ingress.eq(blocks.containment.found),
            self.status.containment_egress.eq(transmit.egress_error & link.flits),
            self.status.forward_progress_time_out.eq(blocks.progress.time_out),
        ]
        for name in COUNTERS:
            m.d.comb += [
                blocks.counters.events[name].eq(events[name]),
                getattr(self.status, name).eq(blocks.counters.counts[name]),
            ]
