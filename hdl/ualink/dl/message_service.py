"""DL messages of one port: what alternative sectors carry, and what becomes of what they brought (UALink_200 §6.4)."""

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import DLConfig
from ualink.dl.interface import DEVICE_ID_LAYOUT, PORT_NUMBER_LAYOUT
from ualink.dl.message.arbiter import MessageArbiter
from ualink.dl.message.basic_messages import BasicMessages
from ualink.dl.message.control_messages import ControlMessages
from ualink.dl.message.decoder import MessageDecoder
from ualink.dl.registers.firmware import FULL_RATE, DLConfigSignature
from ualink.dl.uart.top import Uart

__all__ = ["MessageService", "MessageStatusSignature"]


class MessageStatusSignature(wiring.Signature):
    """What ``DLStatusSignature`` shows of messages, under the same names."""

    def __init__(self):
        super().__init__(
            {
                "online": Out(1),
                "online_4": Out(1),
                "partner_device": Out(DEVICE_ID_LAYOUT),
                "partner_port": Out(PORT_NUMBER_LAYOUT),
                "partner_rate": Out(16, init=FULL_RATE),
                "device_answered": Out(1),
                "port_answered": Out(1),
                "rate_answered": Out(1),
                "channel_timed_out": Out(1),
                "uart_resetting": Out(1),
                "uart_tx_level": Out(12),
                "uart_rx_level": Out(12),
                "uart_overflow": Out(1),
                "uart_discarded": Out(1),
                "uart_reset_timed_out": Out(1),
                "uart_reset_received": Out(1),
                "uart_protocol_error": Out(1),
            }
        )


class MessageService(wiring.Component):
    """Basic messages, negotiation of channels 0 and 4, and UART, behind one decoder and one arbiter.

    The dword that goes next waits in a register for the packer: what a segment sends was decided in the segment before.
    No segment goes empty for it, as segments take two cycles or more. TL flits do not overtake a message of channel 0
    that waits there.

    Members
    -------
    received, message : dwords of alternative sectors from and to the partner.
    flush : the link is down: everything is forgotten.
    slot_end, flit_sent : a flit time has passed; and it was used for a DL flit.
    config : settings of the data link.
    uart_tx, uart_rx : what firmware writes and reads.
    transmit, receive : TL flits may be sent; received ones count.
    status : ``MessageStatusSignature``.
    unknown, protocol_error : pulses: a message that does not exist; one out of place.
    """

    def __init__(self, config: DLConfig):
        self._config = config
        super().__init__(
            {
                "received": In(stream.Signature(32, always_ready=True)),
                "message": Out(stream.Signature(32)),
                "flush": In(1),
                "slot_end": In(1),
                "flit_sent": In(1),
                "config": In(DLConfigSignature(config)),
                "uart_tx": In(stream.Signature(32)),
                "uart_rx": Out(stream.Signature(32)),
                "transmit": Out(1),
                "receive": Out(1),
                "status": Out(MessageStatusSignature()),
                "unknown": Out(1),
                "protocol_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        decoder, arbiter = MessageDecoder(), MessageArbiter()
        basic, control = BasicMessages(), ControlMessages()
        uart = Uart(self._config.uart_tx_dwords, self._config.uart_rx_dwords)
        for name, block in {
            "decoder": decoder,
            "arbiter": arbiter,
            "basic": basic,
            "control": control,
            "uart": uart,
        }.items():
            m.submodules[name] = ResetInserter(self.flush)(block)

        connect(m, flipped(self.received), decoder.received)
        m.d.comb += decoder.flush.eq(self.flush)
        for messages in (basic, control, uart):
            m.d.comb += [
                messages.received.valid.eq(decoder.message.valid),
                messages.received.p.eq(decoder.message.p),
            ]
        connect(m, decoder.payload, uart.payload)
        connect(m, basic.message, arbiter.basic)
        connect(m, control.message, arbiter.control)
        connect(m, uart.message, arbiter.uart)
        connect(m, flipped(self.uart_tx), uart.tx)
        connect(m, uart.rx, flipped(self.uart_rx))

        # A message of channel 0 waits in the register.
        negotiates_0 = Signal()
        with m.If(self.message.valid):
            m.d.sync += self.message.valid.eq(~self.message.ready)
            with m.If(self.message.ready):
                m.d.sync += negotiates_0.eq(0)
        with m.Else():
            m.d.sync += [
                self.message.valid.eq(arbiter.message.valid),
                self.message.p.eq(arbiter.message.p),
                negotiates_0.eq(arbiter.message.valid & control.message.ready & control.is_of_0),
            ]
        with m.If(self.flush):
            m.d.sync += [self.message.valid.eq(0), negotiates_0.eq(0)]

        config = self.config
        m.d.comb += [
            basic.local_device.eq(config.local_device),
            basic.local_port.eq(config.local_port),
            basic.rate.eq(config.rate),
            basic.ask_device.eq(config.ask_device),
            basic.ask_port.eq(config.ask_port),
            basic.announce_rate.eq(config.announce_rate),
            control.want_online_0.eq(config.channel_0_online),
            control.want_online_4.eq(config.channel_4_online),
            control.may_request.eq(config.may_request_channels),
            control.time_out_flits.eq(config.channel_time_out),
            control.slot_end.eq(self.slot_end),
            arbiter.message.ready.eq(~self.message.valid),
            self.transmit.eq(control.transmit_0 & ~negotiates_0),
            self.receive.eq(control.receive_0),
            arbiter.uart_may_start.eq(control.transmit_4),
            uart.channel_transmit.eq(control.transmit_4),
            uart.channel_receive.eq(control.receive_4),
            uart.channel_offline.eq(~control.online_4 & ~control.waiting_4),
            uart.flit_sent.eq(self.flit_sent),
            uart.slot_end.eq(self.slot_end),
            uart.time_out_flits.eq(config.channel_time_out),
            uart.reset.eq(config.uart_reset),
            uart.reset_all.eq(config.uart_reset_all),
        ]

        status = self.status
        for name in ("partner_device", "partner_port", "partner_rate"):
            m.d.comb += getattr(status, name).eq(getattr(basic, name))
        m.d.comb += [
            status.online.eq(control.online_0),
            status.online_4.eq(control.online_4),
            status.device_answered.eq(basic.device_answered),
            status.port_answered.eq(basic.port_answered),
            status.rate_answered.eq(basic.rate_answered),
            status.channel_timed_out.eq(control.timed_out),
            status.uart_resetting.eq(uart.resetting),
            status.uart_tx_level.eq(uart.tx_level),
            status.uart_rx_level.eq(uart.rx_level),
            status.uart_overflow.eq(uart.overflow),
            status.uart_discarded.eq(uart.discarded),
            status.uart_reset_timed_out.eq(uart.reset_timed_out),
            status.uart_reset_received.eq(uart.reset_received),
            status.uart_protocol_error.eq(uart.protocol_error),
            self.unknown.eq(decoder.unknown),
            self.protocol_error.eq(basic.protocol_error | control.protocol_error),
        ]
        return m
