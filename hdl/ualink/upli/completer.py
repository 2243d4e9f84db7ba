"""The UPLI Completer: receives Requests with their data, sends Responses (UALink_200 §2.7.8)."""

from amaranth.hdl import Mux, Signal

from ualink.config import UPLIConfig
from ualink.upli.agent import Agent
from ualink.upli.commands import has_orig_data

__all__ = ["Completer"]


class Completer(Agent):
    """Faces a UPLI Originator.

    Beats to send are taken when there is a place for them, of several ports in the cycle before the port's slot
    (``Departure``). The first beat of a Read Response of ``num_beats`` + 1 beats is sent, in a slot of its port, when
    credits for all its beats are there; the others go in the port's next slots. A Response of ``num_beats`` 0 is one
    beat (that includes each beat in Single Beat mode). A beat taken in cycle t is on the interface in t + 2 at the
    earliest and offered by its receiver in t + 4, by one that is ``unhurried`` in t + 5.

    The k-th Request with data of a port owns that port's next ``num_beats`` + 1 OrigData beats. Once the
    first beat of a Read Response has been taken, the others are offered from the next cycle on, without a gap from slot
    to slot of the port.

    Parameters
    ----------
    config, ports, choosable, coded : as of ``Agent``.

    Attributes
    ----------
    upli : the interface.
    slot : TDM slot of RdRsp and WrRsp in this cycle, 0, 1, … ``ports`` - 1, 0, …; 0 for one port.
    connect : 1 bit, reset value 1: CompClkReq may rise.
    req, orig_data : received beats, per port.
    rd_rsp, wr_rsp : beats to send, per port.
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
        super().__init__(config, ports, own="comp", choosable=choosable, coded=coded)

    def _accept(self, m, departures, sends, available, to_come, to_drop):
        rd_rsp, wr_rsp, credits = departures["rd_rsp"], departures["wr_rsp"], available["rd_rsp"]
        bursting, dropping, paid, rd_drops = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            bursting.eq(to_come.now != 0),
            dropping.eq(to_drop.now != 0),
            paid.eq(Mux(bursting, credits[0], (credits & rd_rsp.due.asks).any())),
            rd_drops.eq(rd_rsp.valid & ~bursting & (self.drop | dropping)),
            sends["rd_rsp"].eq(rd_rsp.valid & ~rd_drops & paid),
            sends["wr_rsp"].eq(wr_rsp.valid & ~self.drop & available["wr_rsp"][0]),
            rd_rsp.accept.eq(sends["rd_rsp"] | rd_drops),
            wr_rsp.accept.eq(sends["wr_rsp"] | (wr_rsp.valid & self.drop)),
            self._drops["rd_rsp"].eq(rd_drops & ~dropping),
            self._drops["wr_rsp"].eq(wr_rsp.valid & self.drop),
        ]
        with m.If(sends["rd_rsp"]):
            m.d.comb += to_come.then.eq(Mux(bursting, to_come.now - 1, rd_rsp.due.num_beats))
        with m.If(rd_drops):
            m.d.comb += to_drop.then.eq(Mux(dropping, to_drop.now - 1, rd_rsp.due.num_beats))

    def _admit(self, m, receivers, protocol):
        req, orig_data = receivers["req"], receivers["orig_data"]
        request, beat = req.beat, orig_data.beat
        # A Request sets the phase of both channels; OrigData cannot come before one.
        calendar = self._calendar(m, "calendar", req, orig_data)
        burst = self._burst(m, "burst")
        req_here, data_here, start = req.here, Signal(), Signal()
        fits, data_fits = Signal(), Signal()
        m.d.comb += [
            data_here.eq(orig_data.here & calendar.known),
            start.eq(req_here & has_orig_data(request.cmd)),
            data_fits.eq(orig_data.room.bit_select(request.num_beats, 1)),
            fits.eq(req.room[0] & data_fits),
            burst.locked.eq(calendar.locked),
            burst.known.eq(calendar.known),
            burst.start.eq(start),
            burst.num_beats.eq(request.num_beats),
            burst.vld.eq(orig_data.here),
            burst.offset.eq(beat.offset),
            burst.last.eq(beat.last),
            burst.refuse.eq(self.drop | ~fits),
            burst.upset.eq(req.control_error | orig_data.control_error),
            req.take.eq(req_here & Mux(start, burst.begins, req.room[0] & ~self.drop)),
            req.void.eq(req_here & req.room[0] & ~req.take),
            self._drops["req"].eq(req_here & ~req.take),
            orig_data.take.eq(burst.keep),
            orig_data.fill.eq(burst.fill),
            orig_data.void.eq(data_here & orig_data.room[0] & ~orig_data.take & ~orig_data.fill),
            orig_data.goes_on.eq(burst.busy),
            orig_data.due_offset.eq(burst.due_offset),
            orig_data.due_last.eq(burst.due_last),
        ]
        # Data of a Request that was dropped in this cycle go with it, and are no error of their own.
        stray = orig_data.good & ~burst.busy & ~start & ~burst.lost & ~burst.upset
        misplaced = orig_data.good & calendar.known & ~orig_data.in_slot
        m.d.comb += [
            protocol.req.eq(calendar.error | (req_here & ~req.room[0])),
            protocol.orig_data.eq(burst.error | stray | misplaced | (start & ~burst.busy & ~data_fits)),
        ]
