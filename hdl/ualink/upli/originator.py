"""The UPLI Originator: sends Requests with their data, receives Responses (UALink_200 §2.7.8)."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import UPLIConfig
from ualink.upli.burst import BurstCheck
from ualink.upli.calendar import CalendarCheck, check_ports
from ualink.upli.channels import UPLISignature, beat_stream
from ualink.upli.commands import has_orig_data
from ualink.upli.connect import Connect
from ualink.upli.receiver import Receiver
from ualink.upli.sender import Sender
from ualink.upli.slots import PortStreams
from ualink.upli.status import ERRORS_LAYOUT, ErrorStatus

__all__ = ["Originator"]


class Originator(wiring.Component):
    """Faces a UPLI Completer.

    A Request and its first OrigData beat are accepted in the same cycle, a slot of their port, when the credits for the
    Request and for all its OrigData beats are there; the other beats go in the port's next slots. While they do, a
    Request without data may pass and one with data waits. Beats are on the interface one cycle after they are accepted,
    received ones are offered one cycle after they were on it, so a beat takes two cycles from agent to agent.

    Whoever offers a Request with data also offers its OrigData beats, without a gap from slot to slot of the port.

    Attributes
    ----------
    upli : the interface.
    slot : TDM slot of Req and OrigData in this cycle, 0, 1, … ``ports`` - 1, 0, …; 0 for one port.
    connect : 1 bit, reset value 1: OrigClkReq may rise.
    req, orig_data : beats to send, per port.
    rd_rsp, wr_rsp : received beats, per port.
    connected : 1 bit, both directions are open.
    data_error, control_error, protocol_error : 1 bit each, sticky until reset: an error of that class was seen.
    errors : the same by channel; ``handshake`` counts as ``protocol_error``.
    """

    def __init__(self, config: UPLIConfig, ports: int):
        self.config = config
        self.ports = check_ports("originator", ports)
        super().__init__(
            {
                "upli": Out(UPLISignature()),
                "slot": In(2),
                "connect": In(1, init=1),
                "req": In(beat_stream("req")).array(ports),
                "orig_data": In(beat_stream("orig_data")).array(ports),
                "rd_rsp": Out(beat_stream("rd_rsp")).array(ports),
                "wr_rsp": Out(beat_stream("wr_rsp")).array(ports),
                "connected": Out(1),
                "data_error": Out(1),
                "control_error": Out(1),
                "protocol_error": Out(1),
                "errors": Out(ERRORS_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        upli = self.upli
        m.submodules.connect = connect = Connect()
        m.d.comb += [
            connect.start.eq(self.connect),
            upli.orig_clk_req.eq(connect.clk_req),
            connect.peer_clk_ack.eq(upli.comp_clk_ack),
            connect.peer_clk_req.eq(upli.comp_clk_req),
            upli.orig_clk_ack.eq(connect.clk_ack),
            self.connected.eq(connect.connected),
        ]
        m.submodules.status = status = ErrorStatus()
        seen = status.seen
        m.d.comb += [
            seen.handshake.eq(connect.protocol_error),
            self.errors.eq(status.errors),
            self.data_error.eq(status.errors.data.as_value().any()),
            self.control_error.eq(status.errors.control.as_value().any()),
            self.protocol_error.eq(status.errors.protocol.as_value().any() | status.errors.handshake),
        ]
        self._send(m, connect, seen)
        self._receive(m, connect, seen)
        return m

    def _send(self, m, connect, seen):
        senders = {name: Sender(name, self.config, self.ports) for name in ("req", "orig_data")}
        offers = {}
        for name, sender in senders.items():
            m.submodules[name] = sender
            wiring.connect(m, wiring.flipped(getattr(self.upli, name)), sender.upli)
            offers[name] = PortStreams(m, self.slot, getattr(self, name), name)
            m.d.comb += [
                sender.connected.eq(connect.connected),
                sender.listen.eq(connect.inbound_open),
                sender.slot.eq(self.slot if self.ports > 1 else 0),
                sender.beat.eq(offers[name].payload),
                sender.send.eq(offers[name].accept),
                seen.control[name].eq(sender.control_error),
                seen.protocol[name].eq(sender.protocol_error),
            ]
        req, orig_data = offers["req"], offers["orig_data"]
        req_available, orig_data_available = senders["req"].available, senders["orig_data"].available

        # Beats that the transfer under way on each port has still to send: its credits are in hand.
        to_come = Array(Signal(2, name=f"port{port}_to_come") for port in range(self.ports))
        port = self.slot[:1] if self.ports == 2 else self.slot if self.ports == 4 else 0
        bursting, with_data, may_start = Signal(), Signal(), Signal()
        m.d.comb += [
            bursting.eq(to_come[port] != 0),
            with_data.eq(has_orig_data(req.payload.cmd)),
            may_start.eq(orig_data.valid & ~bursting & (orig_data_available > req.payload.num_beats)),
            req.accept.eq(req.valid & (req_available != 0) & (~with_data | may_start)),
            orig_data.accept.eq((req.accept & with_data) | (bursting & orig_data.valid & (orig_data_available != 0))),
        ]
        with m.If(orig_data.accept):
            with m.If(bursting):
                m.d.sync += to_come[port].eq(to_come[port] - 1)
            with m.Else():
                m.d.sync += to_come[port].eq(req.payload.num_beats)

    def _receive(self, m, connect, seen):
        for name in ("rd_rsp", "wr_rsp"):
            upli = getattr(self.upli, name)
            m.submodules[name] = receiver = Receiver(name, getattr(self.config, name), self.ports)
            m.submodules[f"{name}_calendar"] = calendar = CalendarCheck(self.ports)
            wiring.connect(m, wiring.flipped(upli), receiver.upli)
            for inner, outer in zip(receiver.beats, getattr(self, name)):
                wiring.connect(m, inner, wiring.flipped(outer))
            vld = connect.inbound_open & upli.vld
            violation = receiver.protocol_error | calendar.error
            if name == "rd_rsp":
                m.submodules.rd_rsp_burst = burst = BurstCheck(self.ports)
                violation = violation | burst.error
                m.d.comb += [
                    burst.known.eq(calendar.known),
                    burst.slot.eq(calendar.slot),
                    burst.start.eq(vld & (upli.num_beats != 0) & ~burst.busy),
                    burst.num_beats.eq(upli.num_beats),
                    burst.vld.eq(vld),
                    burst.offset.eq(upli.offset),
                    burst.last.eq(upli.last),
                ]
            m.d.comb += [
                receiver.open.eq(connect.outbound_open),
                receiver.listen.eq(connect.inbound_open),
                calendar.vld.eq(vld),
                calendar.port_id.eq(upli.port_id),
                seen.data[name].eq(receiver.data_error),
                seen.control[name].eq(receiver.control_error),
                seen.protocol[name].eq(violation),
            ]
