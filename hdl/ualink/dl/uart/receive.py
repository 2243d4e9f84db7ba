"""Receiver of the UART stream: Rx buffer, Receiver Credit Counter and Credit Updates (UALink_200 §6.4.4.1.3)."""

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.message.decoder import TRANSPORT_PAYLOAD_LAYOUT
from ualink.dl.message.format import MessageClass, UARTType
from ualink.dl.uart.messages import CREDIT_UPDATE_LAYOUT, candidate_signature
from ualink.lib.queue import Queue

__all__ = ["UartReceive"]

UPDATE_INTERVAL = 4
"""DL flits between two Credit Updates at the least, counted from the one before (ruling A-12 (DL))."""


class UartReceive(wiring.Component):
    """Keeps received payload for firmware and tells the partner how much it has made room for.

    The Receiver Credit Counter, modulo 2^12, is 0 in reset, the size of the buffer once reset is over, and moves by one
    for each dword read. A Credit Update is wanted when none was sent since reset, or when the counter has moved and
    four DL flits were sent since the last.

    Parameters
    ----------
    dwords : Rx buffer, 1 to 4095.

    Members
    -------
    payload : received payload of all streams; what is not of stream 0 is passed over.
    rx : dwords that firmware reads.
    channel_receive : received data counts.
    disabled : the stream is being reset: buffer empty, counter 0, payload discarded.
    flit_sent : pulse: a DL flit of any kind was sent.
    update : the Credit Update wanted, one cycle after there is reason for it.
    level : dwords in the Rx buffer, reset value 0.
    rcc : Receiver Credit Counter, reset value 0.
    discarded : pulse: payload dropped because the channel is offline or the stream disabled; no error.
    overflow : pulse: payload dropped because the partner sent more than it had credits for.
    """

    def __init__(self, dwords: int):
        self._dwords = dwords
        super().__init__(
            {
                "payload": In(stream.Signature(TRANSPORT_PAYLOAD_LAYOUT, always_ready=True)),
                "rx": Out(stream.Signature(32)),
                "channel_receive": In(1),
                "disabled": In(1),
                "flit_sent": In(1),
                "update": Out(candidate_signature()),
                "level": Out(range(dwords + 1)),
                "rcc": Out(12),
                "discarded": Out(1),
                "overflow": Out(1),
            }
        )
        self.released, self.buffer = Signal(), Queue(32, dwords)

    def elaborate(self, platform):
        m = Module()
        buffer = self.buffer
        m.submodules.buffer = ResetInserter(self.disabled)(buffer)
        counts = Signal()
        m.d.comb += [
            counts.eq(self.channel_receive & ~self.disabled),
            self.discarded.eq(self.payload.valid & ~counts),
            buffer.input.valid.eq(self.payload.valid & counts & (self.payload.p.stream_id == 0)),
            buffer.input.p.eq(self.payload.p.dword),
            self.overflow.eq(buffer.input.valid & ~buffer.input.ready),
            self.rx.valid.eq(buffer.output.valid & ~self.disabled),
            self.rx.p.eq(buffer.output.p),
            buffer.output.ready.eq(self.rx.ready),
            self.level.eq(buffer.level),
        ]

        released = self.released
        informed = Signal()
        announced = Signal(12)
        flits = Signal(range(UPDATE_INTERVAL + 1))
        message = Signal(CREDIT_UPDATE_LAYOUT)
        sent = data.View(CREDIT_UPDATE_LAYOUT, self.update.sent_dword)
        due = Signal()
        m.d.comb += [
            message.mclass.eq(MessageClass.UART),
            message.mtype.eq(UARTType.CREDIT_UPDATE),
            message.data_fc_seq.eq(self.rcc),
            self.update.wanted.eq(released & ~self.disabled & (~informed | due)),
            self.update.dword.eq(message),
        ]
        m.d.sync += [
            released.eq(~self.disabled),
            due.eq((self.rcc != announced) & (flits == UPDATE_INTERVAL)),
        ]
        with m.If(~released):
            m.d.sync += self.rcc.eq(self._dwords)
        with m.Elif(self.rx.valid & self.rx.ready):
            m.d.sync += self.rcc.eq(self.rcc + 1)
        with m.If(self.update.sent):
            m.d.sync += [informed.eq(1), announced.eq(sent.data_fc_seq), flits.eq(0), due.eq(0)]
        with m.Elif(self.flit_sent & (flits != UPDATE_INTERVAL)):
            m.d.sync += flits.eq(flits + 1)
        with m.If(self.disabled):
            m.d.sync += [self.rcc.eq(0), informed.eq(0), due.eq(0)]
        return m
