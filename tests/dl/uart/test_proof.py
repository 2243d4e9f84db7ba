"""Proofs about credits and framing of the UART, whatever the partner, the firmware and the packer do."""

import pytest
from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.formal import prove
from ualink.dl.uart.receive import UartReceive
from ualink.dl.uart.scheduler import UartScheduler
from ualink.dl.uart.transmit import UartTransmit


class Credits(wiring.Component):
    """A transmitter, Credit Updates of all kinds, and a scheduler that takes its time."""

    def __init__(self):
        super().__init__(
            {"write": In(1), "update": In(1), "number": In(12), "choose": In(1), "send": In(1), "disabled": In(1)}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.transmit = transmit = UartTransmit(40)
        chosen = Signal()
        dword = Signal(32)
        sent = Signal()
        length = Signal(6)
        credit = Signal(12)
        m.d.comb += [
            transmit.tx.valid.eq(self.write),
            transmit.credit_update.valid.eq(self.update),
            transmit.credit_update.payload.eq(self.number),
            transmit.disabled.eq(self.disabled),
            sent.eq(chosen & self.send & transmit.transport.wanted),
            transmit.transport.sent.eq(sent),
            transmit.transport.sent_dword.eq(dword),
            length.eq(dword[27:32] + 1),
            credit.eq(transmit.data_fc_seq - transmit.tcc),
        ]
        with m.If(chosen):
            m.d.sync += chosen.eq(~sent & transmit.transport.wanted)
        with m.Elif(self.choose & transmit.transport.wanted):
            m.d.sync += [chosen.eq(1), dword.eq(transmit.transport.dword)]
        partner_buffer = Signal(12)
        m.d.comb += [partner_buffer.eq(transmit.highest - transmit.tcc), Assert(credit <= partner_buffer)]
        with m.If(~transmit.informed):
            m.d.comb += [Assert(transmit.highest == 0), Assert(transmit.tcc == 0), Assert(transmit.data_fc_seq == 0)]
        with m.If(chosen & ~self.disabled):
            m.d.comb += Assert(length <= credit)
        with m.If(transmit.transport.wanted):
            m.d.comb += Assert((transmit.transport.dword[27:32] + 1) <= credit)
        uncredited = Signal(12)
        m.d.comb += uncredited.eq(transmit.highest - transmit.data_fc_seq)
        with m.If(transmit.pending & transmit.informed):
            m.d.comb += Assert(transmit.step == (transmit.told - transmit.data_fc_seq)[:12])
            m.d.comb += Assert(transmit.most <= uncredited)
        return m


@pytest.mark.req("DL-099", "DL-100", "DL-101")
def test_tcc_never_passes_data_fc_seq():
    """By induction: what is sent is paid for by received credits, and these never exceed the partner's buffer."""
    prove(Credits(), mode="prove", depth=2)


class Run(wiring.Component):
    """A scheduler under free candidates; no reset of its own."""

    def __init__(self):
        super().__init__(
            {
                "wanted": In(3),
                "length": In(5),
                "data": In(32),
                "ready": In(1),
                "channel_transmit": In(1),
                "channel_offline": In(1),
                "disabled": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.scheduler = scheduler = UartScheduler()
        m.d.comb += [
            scheduler.transport.wanted.eq(self.wanted[0] & ~self.disabled),
            scheduler.transport.dword.eq(0x0000_0004 | self.length << 27),
            scheduler.update.wanted.eq(self.wanted[1] & ~self.disabled),
            scheduler.update.dword.eq(0x0000_0044),
            scheduler.response.wanted.eq(self.wanted[2]),
            scheduler.response.dword.eq(0x0000_01C4),
            scheduler.payload.valid.eq(1),
            scheduler.payload.payload.eq(self.data),
            scheduler.channel_transmit.eq(self.channel_transmit),
            scheduler.channel_offline.eq(self.channel_offline),
            scheduler.disabled.eq(self.disabled),
            scheduler.message.ready.eq(self.ready),
        ]

        offer = scheduler.message
        under_way = Signal()
        header = Signal(32)
        sent = Signal(6)
        with m.If(offer.valid & self.ready):
            m.d.sync += [under_way.eq(offer.p.more), sent.eq(sent + 1)]
            with m.If(~under_way):
                m.d.sync += [header.eq(offer.p.dword), sent.eq(1)]
        # A started message is always on offer, and ends with dword Length + 2.
        with m.If(under_way):
            m.d.comb += [
                Assert(offer.valid),
                Assert(offer.p.more == (sent != header[27:32] + 1)),
                Assert(~scheduler.first & (scheduler.chosen == 1) & (header[:9] == 0x004)),
                Assert(sent + scheduler.left == header[27:32] + 1),
            ]
        with m.Elif(offer.valid):
            is_transport = offer.p.dword[:9] == 0x004
            m.d.comb += [
                Assert(self.channel_transmit & scheduler.first),
                Assert(scheduler.chosen & (scheduler.chosen - 1) == 0),
                Assert(offer.p.more == is_transport),
                Assert(is_transport == (scheduler.chosen == 1)),
                Assert(~is_transport | (scheduler.left == offer.p.dword[27:32] + 1)),
            ]
        return m


@pytest.mark.req("DL-041", "DL-077", "DL-105", "DL-106")
def test_run_of_more_is_length_and_two():
    """By induction: header and Length + 1 dwords without a pause; no message starts while channel 4 is offline."""
    prove(Run(), mode="prove", depth=2)


class Room(wiring.Component):
    """A receiver and a partner that keeps to the credits it has got: Credit Updates and payload take any time."""

    def __init__(self, dwords):
        self._dwords = dwords
        super().__init__(
            {"read": In(1), "flit_sent": In(1), "choose": In(1), "arrive": In(1), "send": In(1), "deliver": In(1)}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.receive = receive = UartReceive(self._dwords)
        chosen, flying = Signal(), Signal()
        dword = Signal(32)
        data_fc_seq, tcc = Signal(12), Signal(12)
        payload = Signal(12)
        sends, delivers = Signal(), Signal()
        m.d.comb += [
            receive.channel_receive.eq(1),
            receive.rx.ready.eq(self.read),
            receive.flit_sent.eq(self.flit_sent),
            receive.update.sent.eq(chosen & ~flying),
            receive.update.sent_dword.eq(dword),
            sends.eq(self.send & (data_fc_seq != tcc)),
            delivers.eq(self.deliver & (payload != 0)),
            receive.payload.valid.eq(delivers),
        ]
        update = Signal(12)
        with m.If(chosen & ~flying):
            m.d.sync += [chosen.eq(0), flying.eq(1), update.eq(dword[20:])]
        with m.Elif(~chosen & ~flying & self.choose & receive.update.wanted):
            m.d.sync += [chosen.eq(1), dword.eq(receive.update.dword)]
        with m.If(flying & self.arrive):
            m.d.sync += [flying.eq(0), data_fc_seq.eq(update)]
        m.d.sync += [tcc.eq(tcc + sends), payload.eq(payload + sends - delivers)]

        room = Signal(12)
        inside = receive.buffer.inside
        m.d.comb += [
            room.eq(receive.rcc - tcc),
            Assert(~receive.overflow),
            Assert(inside.some == (receive.level != 0)),
            Assert(inside.full == (receive.level == self._dwords)),
        ]
        with m.If(receive.released):
            m.d.comb += [
                Assert(room <= self._dwords),
                Assert(room + receive.level + payload == self._dwords),
                Assert((data_fc_seq - tcc)[:12] <= room),
            ]
        with m.Else():
            m.d.comb += Assert((data_fc_seq == 0) & (tcc == 0) & (payload == 0) & (receive.level == 0))
            m.d.comb += Assert(~chosen & ~flying & (receive.rcc == 0))
        for waiting, value in ((chosen, dword[20:]), (flying, update)):
            with m.If(waiting):
                m.d.comb += Assert(receive.released & ((value - tcc)[:12] <= room))
                m.d.comb += Assert((data_fc_seq - tcc)[:12] <= (value - tcc)[:12])
        m.d.comb += Assert(~(chosen & flying))
        return m


@pytest.mark.req("DL-006", "DL-096", "DL-097")
@pytest.mark.parametrize("dwords", [1, 2, 3])
def test_rx_buffer_never_overflows(dwords):
    """By induction: what a partner has credits for, what is on its way and what is in the buffer fit together."""
    prove(Room(dwords), mode="prove", depth=2)
