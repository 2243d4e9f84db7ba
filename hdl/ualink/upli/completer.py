"""The UPLI Completer: receives Requests with their data, sends Responses (UALink_200 §2.7.8)."""

from amaranth.hdl import Array, Module, Mux, Signal
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

__all__ = ["Completer"]


class Completer(wiring.Component):
    """Faces a UPLI Originator.

    The first beat of a Read Response of ``num_beats`` + 1 beats is accepted, in a slot of its port, when credits for
    all its beats are there; the others go in the port's next slots. A Response of ``num_beats`` 0 is one beat (that
    includes each beat in Single Beat mode). Beats are on the interface one cycle after they are accepted, received
    ones are offered one cycle after they were on it, so a beat takes two cycles from agent to agent.

    The k-th Request with data of a port owns that port's next ``num_beats`` + 1 OrigData beats. Whoever offers the
    first beat of a Read Response also offers the others, without a gap from slot to slot of the port.

    Attributes
    ----------
    upli : the interface.
    slot : TDM slot of RdRsp and WrRsp in this cycle, 0, 1, … ``ports`` - 1, 0, …; 0 for one port.
    connect : 1 bit, reset value 1: CompClkReq may rise.
    req, orig_data : received beats, per port.
    rd_rsp, wr_rsp : beats to send, per port.
    connected : 1 bit, both directions are open.
    data_error, control_error, protocol_error : 1 bit each, sticky until reset: an error of that class was seen.
    errors : the same by channel; ``handshake`` counts as ``protocol_error``.
    """

    def __init__(self, config: UPLIConfig, ports: int):
        self.config = config
        self.ports = check_ports("completer", ports)
        super().__init__(
            {
                "upli": In(UPLISignature()),
                "slot": In(2),
                "connect": In(1, init=1),
                "req": Out(beat_stream("req")).array(ports),
                "orig_data": Out(beat_stream("orig_data")).array(ports),
                "rd_rsp": In(beat_stream("rd_rsp")).array(ports),
                "wr_rsp": In(beat_stream("wr_rsp")).array(ports),
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
            upli.comp_clk_req.eq(connect.clk_req),
            connect.peer_clk_ack.eq(upli.orig_clk_ack),
            connect.peer_clk_req.eq(upli.orig_clk_req),
            upli.comp_clk_ack.eq(connect.clk_ack),
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
        senders = {name: Sender(name, self.config, self.ports) for name in ("rd_rsp", "wr_rsp")}
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
        rd_rsp, wr_rsp = offers["rd_rsp"], offers["wr_rsp"]

        # Beats that the transfer under way on each port has still to send: its credits are in hand.
        to_come = Array(Signal(2, name=f"port{port}_to_come") for port in range(self.ports))
        port = self.slot[:1] if self.ports == 2 else self.slot if self.ports == 4 else 0
        bursting, more_needed = Signal(), Signal(2)
        m.d.comb += [
            bursting.eq(to_come[port] != 0),
            more_needed.eq(Mux(bursting, 0, rd_rsp.payload.num_beats)),
            rd_rsp.accept.eq(rd_rsp.valid & (senders["rd_rsp"].available > more_needed)),
            wr_rsp.accept.eq(wr_rsp.valid & (senders["wr_rsp"].available != 0)),
        ]
        with m.If(rd_rsp.accept):
            m.d.sync += to_come[port].eq(Mux(bursting, to_come[port] - 1, rd_rsp.payload.num_beats))

    def _receive(self, m, connect, seen):
        vld, violation = {}, {}
        for name in ("req", "orig_data"):
            upli = getattr(self.upli, name)
            m.submodules[name] = receiver = Receiver(name, getattr(self.config, name), self.ports)
            wiring.connect(m, wiring.flipped(upli), receiver.upli)
            for inner, outer in zip(receiver.beats, getattr(self, name)):
                wiring.connect(m, inner, wiring.flipped(outer))
            vld[name] = connect.inbound_open & upli.vld
            violation[name] = receiver.protocol_error
            m.d.comb += [
                receiver.open.eq(connect.outbound_open),
                receiver.listen.eq(connect.inbound_open),
                seen.data[name].eq(receiver.data_error),
                seen.control[name].eq(receiver.control_error),
            ]
        req, orig_data = self.upli.req, self.upli.orig_data

        # A Request sets the phase of both channels; OrigData cannot come before one.
        m.submodules.calendar = calendar = CalendarCheck(self.ports)
        m.submodules.burst = burst = BurstCheck(self.ports)
        stray = vld["orig_data"] & ~burst.busy & ~burst.start
        misplaced = vld["orig_data"] & (orig_data.port_id != calendar.slot)
        m.d.comb += [
            calendar.vld.eq(vld["req"]),
            calendar.port_id.eq(req.port_id),
            burst.known.eq(calendar.known),
            burst.slot.eq(calendar.slot),
            burst.start.eq(vld["req"] & has_orig_data(req.cmd)),
            burst.num_beats.eq(req.num_beats),
            burst.vld.eq(vld["orig_data"]),
            burst.offset.eq(orig_data.offset),
            burst.last.eq(orig_data.last),
            seen.protocol.req.eq(violation["req"] | calendar.error),
            seen.protocol.orig_data.eq(violation["orig_data"] | burst.error | stray | misplaced),
        ]
