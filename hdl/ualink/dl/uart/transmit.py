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
        not taken while ``disabled``. One that comes in cycle t is in ``data_fc_seq`` from cycle t + 2, and in
        ``transport`` from cycle t + 3.
    transport : the message wanted; ``tcc`` moves by its length when it is sent.
    payload : the dwords of the Tx buffer.
    level : dwords in the Tx buffer, reset value 0.
    tcc, data_fc_seq : Transmit Credit Counter and last received DataFCSeq, reset value 0.
    credit_error : pulse, one cycle after ``credit_update``: it was for more than the partner's buffer can hold and is
        not taken.
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
        # A Credit Update other than 0 has come. It told the size of the partner's buffer: that many after the dwords
        # sent is the highest DataFCSeq that there can be.
        self.informed = Signal()
        self.highest = Signal(12)
        # The Credit Update that came a cycle ago, by how much it would move ``data_fc_seq``, and by how much it may.
        self.pending, self.told = Signal(), Signal(12)
        self.step, self.most = Signal(12), Signal(12)

    def elaborate(self, platform):
        m = Module()
        buffer = Queue(32, self._dwords)
        m.submodules.buffer = ResetInserter(self.disabled)(buffer)
        m.d.comb += [
            buffer.input.valid.eq(self.tx.valid & ~self.disabled),
            buffer.input.p.eq(self.tx.p),
            self.tx.ready.eq(buffer.input.ready | self.disabled),
            self.payload.valid.eq(buffer.output.valid),
            self.payload.p.eq(buffer.output.p),
            buffer.output.ready.eq(self.payload.ready),
            self.level.eq(buffer.level),
        ]

        self._want(m)
        self._account(m)
        return m

    def _want(self, m):
        """The next message, out of what credits and dwords there were a cycle ago, up to the longest message of each.

        A message that is sent takes its credits with its header: for one cycle there are none. A dword that is written
        counts a cycle later, one that is read at once: there are never fewer credits and dwords than counted.
        """
        credit = Signal(12)
        credits = Signal(range(LONGEST_TRANSPORT + 1))
        dwords = Signal(range(LONGEST_TRANSPORT + 1))
        header = Signal(TRANSPORT_HEADER_LAYOUT)
        m.d.comb += [
            credit.eq(self.data_fc_seq - self.tcc),
            header.mclass.eq(MessageClass.UART),
            header.mtype.eq(UARTType.TRANSPORT),
            header.length.eq(Mux(credits < dwords, credits, dwords) - 1),
            self.transport.wanted.eq((credits != 0) & (dwords != 0) & ~self.disabled),
            self.transport.dword.eq(header),
        ]
        m.d.sync += [
            credits.eq(_at_most(credit)),
            dwords.eq(Mux(self.payload.valid & self.payload.ready, _at_most(self.level - 1), _at_most(self.level))),
        ]
        with m.If(self.transport.sent | self.disabled):
            m.d.sync += credits.eq(0)
        with m.If(self.disabled):
            m.d.sync += dwords.eq(0)

    def _account(self, m):
        """Counters. A Credit Update is weighed in the cycle after it came, also if another comes right behind it."""
        sent = data.View(TRANSPORT_HEADER_LAYOUT, self.transport.sent_dword)
        pending, told, step, most = self.pending, self.told, self.step, self.most
        taken = Signal()
        update = self.credit_update
        m.d.comb += [
            taken.eq(pending & (~self.informed | (step <= most))),
            self.credit_error.eq(pending & ~taken & ~self.disabled),
        ]
        m.d.sync += [
            pending.eq(update.valid & ~self.disabled),
            told.eq(update.p),
            # Both outcomes for the update before are ready when the choice is known.
            step.eq(Mux(taken, update.p - told, update.p - self.data_fc_seq)),
            most.eq(Mux(taken, Mux(self.informed, self.highest - told, 0), self.highest - self.data_fc_seq)),
        ]
        with m.If(self.transport.sent):
            m.d.sync += [self.tcc.eq(self.tcc + sent.length + 1), self.highest.eq(self.highest + sent.length + 1)]
        with m.If(taken):
            m.d.sync += [self.data_fc_seq.eq(told), self.informed.eq(self.informed | (told != 0))]
            with m.If(~self.informed):
                m.d.sync += self.highest.eq(told)
        with m.If(self.disabled):
            m.d.sync += [self.tcc.eq(0), self.data_fc_seq.eq(0), self.highest.eq(0), self.informed.eq(0)]


def _at_most(count):
    """``count``, but not more than the longest message."""
    return Mux(count < LONGEST_TRANSPORT, count, LONGEST_TRANSPORT)[: LONGEST_TRANSPORT.bit_length()]
