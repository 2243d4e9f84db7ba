"""The UPLI Originator: sends Requests with their data, receives Responses (UALink_200 §2.7.8)."""

from amaranth.hdl import Mux, Signal

from ualink.config import UPLIConfig
from ualink.upli.agent import Agent

__all__ = ["Originator"]


class Originator(Agent):
    """Faces a UPLI Completer.

    Beats to send are taken when there is a place for them, of several ports in the cycle before the port's slot
    (``Departure``). A Request and its first OrigData beat are sent in the same cycle, a slot of their port, when the
    credits for the Request and for all its OrigData beats are there; the other beats go in the port's next slots. While
    they do, a Request without data may pass and one with data waits. A beat taken in cycle t is on the interface in
    t + 2 at the earliest and offered by its receiver in t + 4, by one that is ``unhurried`` in t + 5.

    Once a Request with data and its first beat have both been taken, the other beats are offered from the next cycle
    on, without a gap from slot to slot of the port.

    Parameters
    ----------
    config, ports, choosable, coded : as of ``Agent``.

    Attributes
    ----------
    upli : the interface.
    slot : TDM slot of Req and OrigData in this cycle, 0, 1, … ``ports`` - 1, 0, …; 0 for one port.
    connect : 1 bit, reset value 1: OrigClkReq may rise.
    req, orig_data : beats to send, per port.
    rd_rsp, wr_rsp : received beats, per port.
    connected : 1 bit, both directions are open.
    drop : 1 bit, Drop Mode of all ports and channels.
    clear_errors : 1 bit, forget the errors kept.
    data_error, control_error, protocol_error : 1 bit each, an error of that class was seen since ``clear_errors``.
    errors : the same by channel; ``handshake`` counts as ``protocol_error``.
    data_event, control_event, protocol_event : 1 bit each, in the cycle after every such error, whatever is kept.
    dropped : per port, 1 bit for each channel of items: one was dropped in the cycle before, because of Drop Mode or of
        a rule that it broke. What had a Control Error counts as none: nobody knows what it was.
    """

    def __init__(self, config: UPLIConfig, ports: int, *, choosable: bool = False, coded: bool = False):
        super().__init__(config, ports, own="orig", choosable=choosable, coded=coded)

    def _accept(self, m, departures, sends, available, to_come, to_drop):
        req, orig_data = departures["req"], departures["orig_data"]
        bursting, dropping, with_data = Signal(), Signal(), Signal()
        may_start, req_drops, data_drops = Signal(), Signal(), Signal()
        m.d.comb += [
            bursting.eq(to_come.now != 0),
            dropping.eq(to_drop.now != 0),
            with_data.eq(req.due.with_data),
            may_start.eq(orig_data.valid & ~bursting & (available["orig_data"] & req.due.asks).any()),
            sends["req"].eq(req.valid & ~self.drop & ~dropping & available["req"][0] & (~with_data | may_start)),
            sends["orig_data"].eq(
                (sends["req"] & with_data) | (bursting & orig_data.valid & available["orig_data"][0])
            ),
            req_drops.eq(req.valid & self.drop & ~dropping & ~(with_data & bursting)),
            data_drops.eq(orig_data.valid & dropping),
            req.accept.eq(sends["req"] | req_drops),
            orig_data.accept.eq(sends["orig_data"] | data_drops),
            self._drops["req"].eq(req_drops),
        ]
        with m.If(sends["orig_data"]):
            m.d.comb += to_come.then.eq(Mux(bursting, to_come.now - 1, req.due.num_beats))
        with m.If(req_drops & with_data):
            m.d.comb += to_drop.then.eq(req.due.num_beats + 1)
        with m.Elif(data_drops):
            m.d.comb += to_drop.then.eq(to_drop.now - 1)

    def _admit(self, m, receivers, protocol):
        # Each response channel has a phase of its own.
        calendars, here = {}, {}
        for name, receiver in receivers.items():
            calendar = self._calendar(m, f"{name}_calendar", receiver)
            calendars[name], here[name] = calendar, receiver.here

        rd_rsp, beat = receivers["rd_rsp"], receivers["rd_rsp"].beat
        multi, rest, single, fits = Signal(), Signal(), Signal(), Signal()
        burst = self._burst(m, "rd_rsp_burst")
        m.d.comb += [
            fits.eq(rd_rsp.room.bit_select(beat.num_beats, 1)),
            multi.eq(here["rd_rsp"] & (beat.num_beats != 0) & ~burst.busy),
            rest.eq(multi & burst.lost & (beat.offset != 0)),
            single.eq(here["rd_rsp"] & (beat.num_beats == 0) & ~burst.busy),
            burst.locked.eq(calendars["rd_rsp"].locked),
            burst.known.eq(calendars["rd_rsp"].known),
            burst.start.eq(multi & ~rest),
            burst.alone.eq(single),
            burst.num_beats.eq(beat.num_beats),
            burst.vld.eq(here["rd_rsp"]),
            burst.offset.eq(beat.offset),
            burst.last.eq(beat.last),
            burst.refuse.eq(self.drop | ~fits),
            burst.upset.eq(rd_rsp.control_error),
            rd_rsp.take.eq(burst.keep | (single & rd_rsp.room[0] & ~self.drop)),
            rd_rsp.fill.eq(burst.fill),
            rd_rsp.void.eq(here["rd_rsp"] & rd_rsp.room[0] & ~rd_rsp.take & ~rd_rsp.fill),
            rd_rsp.goes_on.eq(burst.busy),
            self._drops["rd_rsp"].eq((burst.start & ~burst.begins) | (single & ~rd_rsp.take)),
            rd_rsp.due_offset.eq(burst.due_offset),
            rd_rsp.due_last.eq(burst.due_last),
            protocol.rd_rsp.eq(
                calendars["rd_rsp"].error | burst.error | (single & ~rd_rsp.room[0]) | (burst.start & ~fits)
            ),
        ]

        wr_rsp = receivers["wr_rsp"]
        m.d.comb += [
            wr_rsp.take.eq(here["wr_rsp"] & wr_rsp.room[0] & ~self.drop),
            wr_rsp.void.eq(here["wr_rsp"] & wr_rsp.room[0] & self.drop),
            self._drops["wr_rsp"].eq(here["wr_rsp"] & ~wr_rsp.take),
            protocol.wr_rsp.eq(calendars["wr_rsp"].error | (here["wr_rsp"] & ~wr_rsp.room[0])),
        ]
