"""Transmitter of the UART stream: Tx buffer, Transmit Credit Counter and Transport Messages (UALink_200 §6.4.4.1.3)."""

from amaranth.hdl import Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.message.format import TRANSPORT_HEADER_LAYOUT, MessageClass, UARTType
from ualink.dl.uart.messages import LONGEST_TRANSPORT, candidate_signature
from ualink.lib.queue import Queue

__all__ = ["UartTransmit"]


class UartTransmit(wiring.Component):
    """Wants a Transport Message as soon as the Tx buffer has a dword and the partner's Rx buffer room for one.

    Counters are modulo 2^12, in dwords. A message is as long as credits, Tx buffer and the longest message allow at the
    time it is chosen; its header is stored in no buffer.

    Parameters
    ----------
    dwords : Tx buffer, 1 to 4095.

    Members
    -------
    tx : dwords that firmware writes; accepted and discarded while ``disabled``.
    disabled : the stream is being reset: buffer empty, counters 0.
    credit_update : DataFCSeq of received Credit Updates; the first one tells the size of the partner's buffer. They are
        not taken while ``disabled``.
    transport : the message wanted; ``tcc`` moves by its length when it is sent.
    payload : the dwords of the Tx buffer.
    level : dwords in the Tx buffer, reset value 0.
    tcc, data_fc_seq : Transmit Credit Counter and last received DataFCSeq, reset value 0.
    credit_error : pulse: a Credit Update for more than the partner's buffer can hold; it is not taken.
    """

    def __init__(self, dwords: int):
        self._dwords = dwords
        super().__init__(
            {
                "tx": In(stream.Signature(32)),
                "disabled": In(1),
                "credit_update": In(stream.Signature(12, always_ready=True)),
                "transport": Out(candidate_signature()),
                "payload": Out(stream.Signature(32)),
                "level": Out(range(dwords + 1)),
                "tcc": Out(12),
                "data_fc_seq": Out(12),
                "credit_error": Out(1),
            }
        )
        # As the first Credit Update has told; 0: none has come.
        self.partner_buffer = Signal(12)

    def elaborate(self, platform):
        m = Module()
        buffer = Queue(32, self._dwords)
        m.submodules.buffer = ResetInserter(self.disabled)(buffer)
        m.d.comb += [
            buffer.input.valid.eq(self.tx.valid & ~self.disabled),
            buffer.input.payload.eq(self.tx.payload),
            self.tx.ready.eq(buffer.input.ready | self.disabled),
            self.payload.valid.eq(buffer.output.valid),
            self.payload.payload.eq(buffer.output.payload),
            buffer.output.ready.eq(self.payload.ready),
            self.level.eq(buffer.level),
        ]

        credit = Signal(12)
        most = Signal(12)
        header = Signal(TRANSPORT_HEADER_LAYOUT)
        sent = data.View(TRANSPORT_HEADER_LAYOUT, self.transport.sent_dword)
        m.d.comb += [
            credit.eq(self.data_fc_seq - self.tcc),
            most.eq(Mux(credit < self.level, credit, self.level)),
            header.mclass.eq(MessageClass.UART),
            header.mtype.eq(UARTType.TRANSPORT),
            header.length.eq(Mux(most < LONGEST_TRANSPORT, most - 1, LONGEST_TRANSPORT - 1)),
            self.transport.wanted.eq((most != 0) & ~self.disabled),
            self.transport.dword.eq(header),
        ]

        # Dwords sent and not yet credited again; only for these can a Credit Update give room.
        uncredited = Signal(12)
        step = Signal(12)
        m.d.comb += [
            uncredited.eq(self.tcc + self.partner_buffer - self.data_fc_seq),
            step.eq(self.credit_update.payload - self.data_fc_seq),
        ]
        with m.If(self.transport.sent):
            m.d.sync += self.tcc.eq(self.tcc + sent.length + 1)
        with m.If(self.credit_update.valid):
            with m.If(self.partner_buffer == 0):
                m.d.sync += [
                    self.partner_buffer.eq(self.credit_update.payload),
                    self.data_fc_seq.eq(self.credit_update.payload),
                ]
            with m.Elif(step > uncredited):
                m.d.comb += self.credit_error.eq(~self.disabled)
            with m.Else():
                m.d.sync += self.data_fc_seq.eq(self.credit_update.payload)
        with m.If(self.disabled):
            m.d.sync += [self.tcc.eq(0), self.data_fc_seq.eq(0), self.partner_buffer.eq(0)]
        return m
