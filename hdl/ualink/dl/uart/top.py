"""The DL UART of one port: firmware to firmware, over DL messages of class UART (UALink_200 §6.4.4)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.checks import check_integer
from ualink.dl.interface import MESSAGE_DWORD_LAYOUT
from ualink.dl.message.decoder import TRANSPORT_PAYLOAD_LAYOUT
from ualink.dl.message.format import TRANSPORT_HEADER_LAYOUT, MessageClass, UARTType
from ualink.dl.uart.messages import CREDIT_UPDATE_LAYOUT, RESET_LAYOUT
from ualink.dl.uart.receive import UartReceive
from ualink.dl.uart.reset import UartReset
from ualink.dl.uart.scheduler import UartScheduler
from ualink.dl.uart.transmit import UartTransmit

__all__ = ["Uart"]


class Uart(wiring.Component):
    """Both directions of UART stream 0, with credits, so that no Rx buffer overflows, and the stream reset.

    Vendor Defined Packets are data like any other. Nothing of the component outlives a reset of its domain, which link
    down is for; a ``reset`` that is still 1 then starts a stream reset when the link is up again.

    Parameters
    ----------
    tx_dwords, rx_dwords : buffers, 1 to 4095.

    Members
    -------
    received : first dwords of messages; those of other classes are passed over.
    payload : payload dwords of Transport Messages.
    message : the candidate of class UART, see ``UartScheduler``.
    channel_transmit, channel_receive : UART messages may start; received ones count (channel 4).
    channel_offline : channel 4 is offline and no message of its negotiation waits to be sent: the rest of a Transport
        Message that was under way is replaced by No-Ops. Without it such a message ends as it began.
    flit_sent : pulse: a DL flit was sent.
    slot_end : a flit time has passed.
    time_out_flits : 10 ms in flit times: after these a reset that was not answered is repeated; 0: never.
    tx, rx : what firmware writes and reads; writes are accepted and discarded while ``resetting``.
    reset : 0 to 1 starts a reset of the stream, ``reset_all`` of all streams.
    resetting : the stream is disabled by an own or by the partner's reset.
    tx_level, rx_level : dwords in the buffers.
    reset_done, reset_timed_out : pulses: own reset finished; not answered in time, repeated.
    reset_received : pulse: the partner resets the stream; the buffers are emptied.
    discarded : pulse: payload dropped, channel offline or stream disabled; no error.
    overflow : pulse: payload dropped, the partner had no credit for it.
    protocol_error : pulse: message of a stream that does not exist, Reset Response not asked for or without success,
        Credit Update for more than the partner's buffer holds. None of these has another effect.
    """

    def __init__(self, tx_dwords: int = 128, rx_dwords: int = 128):
        for name, dwords in (("tx_dwords", tx_dwords), ("rx_dwords", rx_dwords)):
            check_integer(f"uart.{name}", dwords, 1, 4095)
        self._tx_dwords = tx_dwords
        self._rx_dwords = rx_dwords
        super().__init__(
            {
                "received": In(stream.Signature(32, always_ready=True)),
                "payload": In(stream.Signature(TRANSPORT_PAYLOAD_LAYOUT, always_ready=True)),
                "message": Out(stream.Signature(MESSAGE_DWORD_LAYOUT)),
                "channel_transmit": In(1),
                "channel_receive": In(1),
                "channel_offline": In(1),
                "flit_sent": In(1),
                "slot_end": In(1),
                "time_out_flits": In(24),
                "tx": In(stream.Signature(32)),
                "rx": Out(stream.Signature(32)),
                "reset": In(1),
                "reset_all": In(1),
                "resetting": Out(1),
                "tx_level": Out(range(tx_dwords + 1)),
                "rx_level": Out(range(rx_dwords + 1)),
                "reset_done": Out(1),
                "reset_timed_out": Out(1),
                "reset_received": Out(1),
                "discarded": Out(1),
                "overflow": Out(1),
                "protocol_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.transmit = transmit = UartTransmit(self._tx_dwords)
        m.submodules.receive = receive = UartReceive(self._rx_dwords)
        m.submodules.reset = reset = UartReset()
        m.submodules.scheduler = scheduler = UartScheduler()

        connect(m, flipped(self.tx), transmit.tx)
        connect(m, flipped(self.payload), receive.payload)
        connect(m, receive.rx, flipped(self.rx))
        connect(m, transmit.transport, scheduler.transport)
        connect(m, transmit.payload, scheduler.payload)
        connect(m, receive.update, scheduler.update)
        connect(m, reset.request, scheduler.request)
        connect(m, reset.response, scheduler.response)
        connect(m, scheduler.message, flipped(self.message))
        m.d.comb += [
            transmit.disabled.eq(reset.disabled),
            receive.disabled.eq(reset.disabled),
            scheduler.disabled.eq(reset.disabled),
            receive.channel_receive.eq(self.channel_receive),
            receive.flit_sent.eq(self.flit_sent),
            scheduler.channel_transmit.eq(self.channel_transmit),
            scheduler.channel_offline.eq(self.channel_offline),
            reset.reset.eq(self.reset),
            reset.reset_all.eq(self.reset_all),
            reset.slot_end.eq(self.slot_end),
            reset.time_out_flits.eq(self.time_out_flits),
            self.resetting.eq(reset.disabled),
            self.tx_level.eq(transmit.level),
            self.rx_level.eq(receive.level),
            self.reset_done.eq(reset.reset_done),
            self.reset_timed_out.eq(reset.reset_timed_out),
            self.reset_received.eq(reset.heard_request.valid),
            self.discarded.eq(receive.discarded),
            self.overflow.eq(receive.overflow),
        ]
        self._hear(m, transmit, reset)
        return m

    def _hear(self, m, transmit, reset):
        """Messages of class UART; while the stream is disabled only those of the reset count, the rest not even as
        errors (UALink_200 §6.4.4.1.2)."""
        header = data.View(TRANSPORT_HEADER_LAYOUT, self.received.p)
        update = data.View(CREDIT_UPDATE_LAYOUT, self.received.p)
        about_reset = data.View(RESET_LAYOUT, self.received.p)
        heard = Signal()
        this_stream = Signal()
        stream_error = Signal()
        m.d.comb += [
            heard.eq(self.received.valid & self.channel_receive & (header.mclass == MessageClass.UART)),
            this_stream.eq(header.stream_id == 0),
            transmit.credit_update.p.eq(update.data_fc_seq),
            reset.heard_request.p.eq(about_reset),
            reset.heard_response.p.eq(about_reset),
            self.protocol_error.eq(stream_error | transmit.credit_error | reset.error),
        ]
        this_reset = this_stream | about_reset.all_streams
        with m.If(heard):
            m.d.comb += [
                transmit.credit_update.valid.eq(this_stream & (header.mtype == UARTType.CREDIT_UPDATE)),
                reset.heard_request.valid.eq(this_reset & (header.mtype == UARTType.RESET_REQUEST)),
                reset.heard_response.valid.eq(this_reset & (header.mtype == UARTType.RESET_RESPONSE)),
            ]
            with m.Switch(header.mtype):
                with m.Case(UARTType.TRANSPORT, UARTType.CREDIT_UPDATE):
                    m.d.comb += stream_error.eq(~this_stream & ~reset.disabled)
                with m.Case(UARTType.RESET_REQUEST, UARTType.RESET_RESPONSE):
                    m.d.comb += stream_error.eq(~this_reset)
