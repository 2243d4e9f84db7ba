"""The connection handshake of one side of an interface (UALink_200 §4.3)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Connect"]


class Connect(wiring.Component):
    """Opens this side's outbound direction and accepts the partner's; the same for an Originator and a Completer.

    For the Originator ``clk_req``, ``peer_clk_ack``, ``peer_clk_req`` and ``clk_ack`` are OrigClkReq, CompClkAck,
    CompClkReq and OrigClkAck; for the Completer the other way round. Both machines only go forward, until reset:
    neither waits for the other, and no signal once raised falls (UALink_200 §4.3). ``clk_req`` can be sampled high one
    edge after the first edge without reset (ruling B-01), ``clk_ack`` one edge after ``peer_clk_req`` was sampled
    (ruling B-04). An acknowledge in the cycle of the request is understood.

    Attributes
    ----------
    start : 1 bit, reset value 1: this side may ask for its outbound direction; ignored once it has asked.
    clk_req, clk_ack : registered, low after reset.
    outbound_open : 1 bit, from the cycle in which the acknowledge arrives: this side may send credits (ruling B-05).
    inbound_open : 1 bit, equal to ``clk_ack``: the partner may send credits, and parity is checked (ruling B-07).
    connected : 1 bit, both directions are open: this side may send beats when it has credits.
    protocol_error : 1 bit, the partner takes back a request or an acknowledge.
    """

    def __init__(self):
        super().__init__(
            {
                "start": In(1, init=1),
                "clk_req": Out(1),
                "peer_clk_ack": In(1),
                "peer_clk_req": In(1),
                "clk_ack": Out(1),
                "outbound_open": Out(1),
                "inbound_open": Out(1),
                "connected": Out(1),
                "protocol_error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        acknowledged = Signal()
        m.d.comb += [
            self.outbound_open.eq(acknowledged | (self.clk_req & self.peer_clk_ack)),
            self.inbound_open.eq(self.clk_ack),
            self.connected.eq(self.outbound_open & self.inbound_open),
            self.protocol_error.eq((acknowledged & ~self.peer_clk_ack) | (self.clk_ack & ~self.peer_clk_req)),
        ]
        m.d.sync += [
            self.clk_req.eq(self.clk_req | self.start),
            acknowledged.eq(self.outbound_open),
            self.clk_ack.eq(self.clk_ack | self.peer_clk_req),
        ]
        return m
