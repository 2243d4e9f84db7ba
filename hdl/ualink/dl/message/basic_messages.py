"""TL rate, device ID and port number: Basic messages (UALink_200 §6.4.2, Tables 6-4 to 6-6)."""

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import DEVICE_ID_LAYOUT, MESSAGE_DWORD_LAYOUT, PORT_NUMBER_LAYOUT
from ualink.dl.message.basic_exchange import BasicExchange
from ualink.dl.message.format import (
    DEVICE_ID_MESSAGE_LAYOUT,
    PORT_NUMBER_MESSAGE_LAYOUT,
    TL_RATE_MESSAGE_LAYOUT,
    BasicType,
    MessageClass,
)
from ualink.dl.registers.firmware import FULL_RATE
from ualink.lib.round_robin import RoundRobinArbiter

__all__ = ["BasicMessages"]

PORT_NUMBER_BITS = 10
"""Bits of an own port number; the two above in the field are sent as 0 (ruling A-08 (DL))."""


class BasicMessages(wiring.Component):
    """Asks the partner who it is, tells it who this side is and how fast, and answers when it does the same.

    The three types take turns (level 1 of UALink_200 §6.4.1.2). A message tells what is known when it is put on offer.
    The answer to a Request received in cycle t is on offer from cycle t + 2, if nothing else waits. A No-Op needs
    nothing.

    Members
    -------
    received : first dwords of messages of all classes; those of others are passed over.
    message : stream of ``MESSAGE_DWORD_LAYOUT``, messages of one dword.
    local_device, local_port, rate : what this side tells; the type of the device also without a valid ID.
    ask_device, ask_port, announce_rate : levels: a Request is sent when one rises, or is 1 after reset.
    partner_device, partner_port, partner_rate : what the partner told last, asked or not; an ID or number that is not
        valid is 0. Reset: not valid; 31,250.
    device_answered, port_answered, rate_answered : the last Request has been answered; cleared when the next is asked.
    protocol_error : pulse: answer to nothing asked, which tells nothing; reserved type of device; rate 0, which is
        ignored but answered; more Requests than answers can be owed.
    """

    def __init__(self):
        super().__init__(
            {
                "received": In(stream.Signature(32, always_ready=True)),
                "message": Out(stream.Signature(MESSAGE_DWORD_LAYOUT)),
                "local_device": In(DEVICE_ID_LAYOUT),
                "local_port": In(PORT_NUMBER_LAYOUT),
                "rate": In(16),
                "ask_device": In(1),
                "ask_port": In(1),
                "announce_rate": In(1),
                "partner_device": Out(DEVICE_ID_LAYOUT),
                "partner_port": Out(PORT_NUMBER_LAYOUT),
                "partner_rate": Out(16, init=FULL_RATE),
                "device_answered": Out(1),
                "port_answered": Out(1),
                "rate_answered": Out(1),
                "protocol_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.rate = rate = BasicExchange()
        m.submodules.device = device = BasicExchange()
        m.submodules.port = port = BasicExchange()
        m.submodules.arbiter = arbiter = RoundRobinArbiter(3)
        exchanges = {BasicType.TL_RATE: rate, BasicType.DEVICE_ID: device, BasicType.PORT_NUMBER: port}

        self._receive(m, exchanges)
        errors = [e.unasked | e.merged for e in exchanges.values()]
        with m.If(reduce(or_, errors)):
            m.d.comb += self.protocol_error.eq(1)

        # What is put on offer when the place is free.
        free = Signal()
        left = Signal()
        m.d.comb += [
            left.eq(self.message.valid & self.message.ready),
            free.eq(~self.message.valid | self.message.ready),
            arbiter.requests.eq(Cat(e.waiting for e in exchanges.values())),
            arbiter.next.eq(free),
            rate.ask.eq(self.announce_rate),
            device.ask.eq(self.ask_device),
            port.ask.eq(self.ask_port),
            self.rate_answered.eq(rate.answered),
            self.device_answered.eq(device.answered),
            self.port_answered.eq(port.answered),
        ]
        for n, exchange in enumerate(exchanges.values()):
            m.d.comb += [exchange.offered.eq(free & arbiter.grant[n]), exchange.left.eq(left)]
        with m.If(free):
            m.d.sync += [
                self.message.valid.eq(arbiter.valid),
                self.message.p.dword.eq(Array(self._dwords(m, rate, device, port))[arbiter.index]),
            ]
        return m

    def _receive(self, m, exchanges):
        """Take in what the partner tells."""
        header = data.View(TL_RATE_MESSAGE_LAYOUT, self.received.p)
        for mtype, exchange in exchanges.items():
            heard = self.received.valid & (header.mclass == MessageClass.BASIC) & (header.mtype == mtype)
            told = Signal(name=f"{mtype.name.lower()}_told")
            m.d.comb += [
                exchange.request_received.eq(heard & ~header.ack),
                exchange.ack_received.eq(heard & header.ack),
                told.eq(heard & ~exchange.unasked),
            ]
            with m.If(told):
                match mtype:
                    case BasicType.TL_RATE:
                        self._rate_told(m, header)
                    case BasicType.DEVICE_ID:
                        self._device_told(m, data.View(DEVICE_ID_MESSAGE_LAYOUT, self.received.p))
                    case BasicType.PORT_NUMBER:
                        self._port_told(m, data.View(PORT_NUMBER_MESSAGE_LAYOUT, self.received.p))

    def _rate_told(self, m, heard):
        """A rate counts in the Request only."""
        with m.If(~heard.ack & (heard.rate == 0)):
            m.d.comb += self.protocol_error.eq(1)
        with m.Elif(~heard.ack):
            m.d.sync += self.partner_rate.eq(heard.rate)

    def _device_told(self, m, heard):
        m.d.sync += [
            self.partner_device.id.eq(Mux(heard.valid, heard.id, 0)),
            self.partner_device.type.eq(heard.type),
            self.partner_device.valid.eq(heard.valid),
        ]
        with m.If(heard.type[1]):
            m.d.comb += self.protocol_error.eq(1)

    def _port_told(self, m, heard):
        m.d.sync += [
            self.partner_port.number.eq(Mux(heard.valid, heard.number, 0)),
            self.partner_port.valid.eq(heard.valid),
        ]

    def _dwords(self, m, rate, device, port):
        """The message that each type would send now."""
        rate_message = Signal(TL_RATE_MESSAGE_LAYOUT)
        device_message = Signal(DEVICE_ID_MESSAGE_LAYOUT)
        port_message = Signal(PORT_NUMBER_MESSAGE_LAYOUT)
        own, number = self.local_device, self.local_port.number[:PORT_NUMBER_BITS]
        m.d.comb += [
            rate_message.mclass.eq(MessageClass.BASIC),
            rate_message.mtype.eq(BasicType.TL_RATE),
            rate_message.ack.eq(~rate.request),
            rate_message.rate.eq(Mux(rate.request, self.rate, 0)),
            device_message.mclass.eq(MessageClass.BASIC),
            device_message.mtype.eq(BasicType.DEVICE_ID),
            device_message.ack.eq(~device.request),
            device_message.id.eq(Mux(own.valid, own.id, 0)),
            device_message.type.eq(own.type),
            device_message.valid.eq(own.valid),
            port_message.mclass.eq(MessageClass.BASIC),
            port_message.mtype.eq(BasicType.PORT_NUMBER),
            port_message.ack.eq(~port.request),
            port_message.number.eq(Mux(self.local_port.valid, number, 0)),
            port_message.valid.eq(self.local_port.valid),
        ]
        return [message.as_value() for message in (rate_message, device_message, port_message)]
