"""Finds where received DL messages start (UALink_200 §6.4.1, Table 6-3)."""

from functools import reduce
from operator import or_

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.message.format import (
    MESSAGE_HEADER_LAYOUT,
    MESSAGE_TYPES,
    TRANSPORT_HEADER_LAYOUT,
    MessageClass,
    UARTType,
)

__all__ = ["TRANSPORT_PAYLOAD_LAYOUT", "MessageDecoder"]

TRANSPORT_PAYLOAD_LAYOUT = data.StructLayout({"dword": 32, "stream_id": 3, "last": 1})
"""A payload dword of a UART Stream Transport Message; ``last`` of its message."""

MOST_PAYLOAD_DWORDS = 32


class MessageDecoder(wiring.Component):
    """Tells first dwords of messages from the payload of UART Stream Transport Messages.

    The 1 to 32 dwords after a transport header are payload whatever they contain, and whether channel 4 is online or
    not: who drops them has to drop them as payload. What comes in a cycle leaves in the next, out of registers.

    Members
    -------
    received : dwords of alternative sectors, in order.
    flush : forget a message under way; a dword that comes meanwhile is dropped, one that leaves meanwhile is not.
    message : first dwords of defined messages, headers of transports among them. Bit 0, Compressed, is reserved: a
        message in which it is 1 is obeyed (UALink_200 §6.4.1.1).
    payload : stream of ``TRANSPORT_PAYLOAD_LAYOUT``.
    unknown : pulse: a class or type that is not defined was dropped, as one dword (ruling A-38 (DL)).
    """

    def __init__(self):
        super().__init__(
            {
                "received": In(stream.Signature(32, always_ready=True)),
                "flush": In(1),
                "message": Out(stream.Signature(32, always_ready=True)),
                "payload": Out(stream.Signature(TRANSPORT_PAYLOAD_LAYOUT, always_ready=True)),
                "unknown": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        header = data.View(MESSAGE_HEADER_LAYOUT, self.received.p)
        transport = data.View(TRANSPORT_HEADER_LAYOUT, self.received.p)

        remaining = Signal(range(MOST_PAYLOAD_DWORDS + 1))
        stream_id = Signal(3)
        valid = Signal()
        start = Signal()
        defined = Signal()
        m.d.comb += [
            valid.eq(self.received.valid & ~self.flush),
            start.eq(valid & (remaining == 0)),
            defined.eq(
                reduce(
                    or_,
                    (
                        (header.mclass == mclass) & header.mtype.matches(*mtypes.__members__.values())
                        for mclass, mtypes in MESSAGE_TYPES.items()
                    ),
                )
            ),
        ]
        m.d.sync += [
            self.message.valid.eq(start & defined),
            self.message.p.eq(self.received.p),
            self.unknown.eq(start & ~defined),
            self.payload.valid.eq(valid & (remaining != 0)),
            self.payload.p.dword.eq(self.received.p),
            self.payload.p.stream_id.eq(stream_id),
            self.payload.p.last.eq(remaining == 1),
        ]

        is_transport = (header.mclass == MessageClass.UART) & (header.mtype == UARTType.TRANSPORT)
        with m.If(self.flush):
            m.d.sync += remaining.eq(0)
        with m.Elif(valid & (remaining != 0)):
            m.d.sync += remaining.eq(remaining - 1)
        with m.Elif(valid & is_transport):
            m.d.sync += [remaining.eq(transport.length + 1), stream_id.eq(transport.stream_id)]
        return m
