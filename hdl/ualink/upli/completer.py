"""The UPLI Completer: receives Requests with their data, sends Responses (UALink_200 §2.7.8)."""

from amaranth.hdl import Mux, Signal

from ualink.config import UPLIConfig
from ualink.upli.agent import Agent
from ualink.upli.burst import BurstCheck
from ualink.upli.calendar import CalendarCheck
from ualink.upli.commands import has_orig_data

__all__ = ["Completer"]


class Completer(Agent):
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
        super().__init__(config, ports, own="comp", peer="orig", sends=("rd_rsp", "wr_rsp"))

    def _accept(self, m, offers, available, to_come):
        rd_rsp, wr_rsp = offers["rd_rsp"], offers["wr_rsp"]
        bursting, more_needed = Signal(), Signal(2)
        m.d.comb += [
            bursting.eq(to_come != 0),
            more_needed.eq(Mux(bursting, 0, rd_rsp.payload.num_beats)),
            rd_rsp.accept.eq(rd_rsp.valid & (available["rd_rsp"] > more_needed)),
            wr_rsp.accept.eq(wr_rsp.valid & (available["wr_rsp"] != 0)),
        ]
        with m.If(rd_rsp.accept):
            m.d.sync += to_come.eq(Mux(bursting, to_come - 1, rd_rsp.payload.num_beats))

    def _check(self, m, vld, violation, protocol):
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
            protocol.req.eq(violation["req"] | calendar.error),
            protocol.orig_data.eq(violation["orig_data"] | burst.error | stray | misplaced),
        ]
