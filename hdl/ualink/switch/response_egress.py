"""Egress of one port in a response plane: what was read for it waits here to be sent."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ualink.switch.arrival import ResponseArrival
from ualink.switch.mend import UPSET_LAYOUT, Successor, mended
from ualink.switch.response_line import ResponseLine
from ualink.upli.channels import RD_RSP_LAYOUT, beat_stream

__all__ = ["ResponseEgress"]

_OF_TRANSFER = ("src_phys_acc_id", "dst_phys_acc_id", "tag", "num_beats", "status", "offset", "vc")
"""What the beats of a Multi-Beat Read Response have in common; and RdRspOffset, which counts them."""


class ResponseEgress(wiring.Component):
    """Sends beats in the order in which they come (UALink_200 §2.7.8). One cycle from input to output.

    The beats of a transfer come in successive cycles and are offered in successive accepted slots.

    Here the code of the core ends: what was found wrong of a beat comes with it, and what is offered has a code that
    becomes its parity. A transfer is dropped whole if its first beat was wrong: each beat in a cycle in which it
    would be taken, or in the second one in which it is the next. A later beat that was wrong goes as a poisoned one,
    for its transfer has begun; so does any whose data were (UALink_200 §3.1.2, §3.1.4).

    Parameters
    ----------
    channel : ``"rd_rsp"`` or ``"wr_rsp"``.

    Attributes
    ----------
    arrival : ``ResponseArrival``, seen from here.
    under_way : 1 bit, from a register: something is here.
    rsp : what the port sends, coded.
    leads : 1 bit, the beat on offer is the first of its transfer.
    upset : ``UPSET_LAYOUT``, registers.
    """

    def __init__(self, channel: str):
        self.channel = channel
        super().__init__(
            {
                "arrival": In(ResponseArrival(channel)),
                "under_way": Out(1),
                "rsp": Out(beat_stream(channel, coded=True)),
                "leads": Out(1),
                "upset": Out(UPSET_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.line = line = ResponseLine(self.channel)
        beat, wrong, poison = line.oldest.beat, line.oldest.found.wrong, line.oldest.found.poison
        dropping = Signal()
        spoilt = Signal()
        drops, goes, fill = Signal(), Signal(), Signal()
        wiring.connect(m, wiring.flipped(self.arrival), line.arrival)
        m.d.comb += [
            self.under_way.eq(line.under_way),
            drops.eq(Mux(line.leads, wrong, dropping)),
            self.rsp.valid.eq((line.leads | line.follows) & ~drops),
            self.leads.eq(line.leads),
            # What is found wrong is known late: it goes as if it were sent, or in the next cycle.
            line.take.eq(self.rsp.ready | spoilt),
            goes.eq(self.rsp.valid & self.rsp.ready),
            fill.eq(wrong & ~line.leads),
        ]
        with m.If(line.leads):
            m.d.sync += dropping.eq(wrong)
        if self.channel == "wr_rsp":
            m.d.comb += self.rsp.p.eq(beat)
        else:
            self._mend(m, beat, line.leads, poison, fill, goes)
        m.d.sync += [
            spoilt.eq((line.leads | line.follows) & drops & ~line.take),
            self.upset.control.eq(wrong & line.take & (line.leads | (line.follows & ~drops))),
            self.upset.data.eq(goes & poison),
        ]
        return m

    def _mend(self, m, beat, first, poison, fill, goes):
        kept = Signal(data.StructLayout({name: RD_RSP_LAYOUT[name].shape for name in _OF_TRANSFER}), reset_less=True)
        left = Signal(2, reset_less=True)  # beats of the transfer that come behind the one before
        sent = mended(m, "rd_rsp", beat, poison, Successor(fill, kept, left == 1))
        m.d.comb += Value.cast(self.rsp.p).eq(sent)
        with m.If(goes):
            m.d.sync += [kept.offset.eq(self.rsp.p.offset), left.eq(left - 1)]
            with m.If(first):
                m.d.sync += [kept[name].eq(beat[name]) for name in _OF_TRANSFER if name != "offset"]
                m.d.sync += left.eq(beat.num_beats)
