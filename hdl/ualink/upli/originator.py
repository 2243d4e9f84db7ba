"""The UPLI Originator: sends Requests with their data, receives Responses (UALink_200 §2.7.8)."""

from amaranth.hdl import Signal

from ualink.config import UPLIConfig
from ualink.upli.agent import Agent
from ualink.upli.burst import BurstCheck
from ualink.upli.calendar import CalendarCheck
from ualink.upli.commands import has_orig_data

__all__ = ["Originator"]


class Originator(Agent):
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
        super().__init__(config, ports, own="orig", peer="comp", sends=("req", "orig_data"))

    def _accept(self, m, offers, available, to_come):
        req, orig_data = offers["req"], offers["orig_data"]
        bursting, with_data, may_start = Signal(), Signal(), Signal()
        m.d.comb += [
            bursting.eq(to_come != 0),
            with_data.eq(has_orig_data(req.payload.cmd)),
            may_start.eq(orig_data.valid & ~bursting & (available["orig_data"] > req.payload.num_beats)),
            req.accept.eq(req.valid & (available["req"] != 0) & (~with_data | may_start)),
            orig_data.accept.eq(
                (req.accept & with_data) | (bursting & orig_data.valid & (available["orig_data"] != 0))
            ),
        ]
        with m.If(orig_data.accept):
            with m.If(bursting):
                m.d.sync += to_come.eq(to_come - 1)
            with m.Else():
                m.d.sync += to_come.eq(req.payload.num_beats)

    def _check(self, m, vld, violation, protocol):
        # Each response channel has a phase of its own.
        calendars = {}
        for name in ("rd_rsp", "wr_rsp"):
            m.submodules[f"{name}_calendar"] = calendars[name] = CalendarCheck(self.ports)
            m.d.comb += [
                calendars[name].vld.eq(vld[name]),
                calendars[name].port_id.eq(getattr(self.upli, name).port_id),
            ]
        rd_rsp = self.upli.rd_rsp
        m.submodules.rd_rsp_burst = burst = BurstCheck(self.ports)
        m.d.comb += [
            burst.known.eq(calendars["rd_rsp"].known),
            burst.slot.eq(calendars["rd_rsp"].slot),
            burst.start.eq(vld["rd_rsp"] & (rd_rsp.num_beats != 0) & ~burst.busy),
            burst.num_beats.eq(rd_rsp.num_beats),
            burst.vld.eq(vld["rd_rsp"]),
            burst.offset.eq(rd_rsp.offset),
            burst.last.eq(rd_rsp.last),
            protocol.rd_rsp.eq(violation["rd_rsp"] | calendars["rd_rsp"].error | burst.error),
            protocol.wr_rsp.eq(violation["wr_rsp"] | calendars["wr_rsp"].error),
        ]
