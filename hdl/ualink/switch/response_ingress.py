"""Ingress of one port in a response plane: route, deny and steer Read or Write Responses."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.lib.presence import Presence
from ualink.switch.closing import Closing
from ualink.switch.deny_log import DenialSignature
from ualink.switch.route_table import LookupSignature
from ualink.switch.steer import Steer, leads_to
from ualink.switch.transfer import SteeredSignature, transfer_layout
from ualink.upli.channels import CODED_LAYOUTS, beat_stream
from ualink.upli.code import control_wrong

__all__ = ["ResponseIngress"]


class ResponseIngress(wiring.Component):
    """Routes each response on its own; beats of a Multi-Beat one keep the route of the first (UALink_200 §10.1, §10.7).

    A beat is looked up while it is accepted and goes to its queue two cycles later or after. Beats of a transfer are
    counted by RdRspNumBeats of the first of them. A denied transfer is dropped whole and counts once.

    The first beat of a transfer, when its code is wrong, says neither where it goes nor which beats are its own: it is
    dropped, and with it all that comes after it, as of ``Closing``. So it is if its entry of the route table is wrong,
    and after an upset by which a beat may have come or gone.

    Parameters
    ----------
    channel : ``"rd_rsp"`` or ``"wr_rsp"``.
    egresses : int, egress ports of the switch.

    Attributes
    ----------
    rsp : what the port received, coded.
    lookup : the route table of the station.
    steered : to the queue of the egress port.
    beats : 2 bit, from a register: beats of the transfer less one, as its first said, while ``steered`` has the last.
    denied : the last beat of a dropped transfer goes in this cycle.
    under_way : ``egresses`` bit, one-hot or not, from registers and the table: where something goes that is in here.
    dropping, upset : as of ``Closing``.
    """

    def __init__(self, channel: str, egresses: int):
        self.channel = channel
        self.egresses = egresses
        super().__init__(
            {
                "rsp": In(beat_stream(channel, coded=True)),
                "lookup": Out(LookupSignature(egresses)),
                "steered": Out(SteeredSignature(transfer_layout(channel), egresses)),
                "beats": Out(2),
                "denied": Out(DenialSignature()),
                "under_way": Out(egresses),
                "dropping": In(1),
                "upset": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.closing = closing = Closing()
        beat = Signal(CODED_LAYOUTS[self.channel], reset_less=True)
        end = Signal(reset_less=True)
        leads = Signal(reset_less=True)
        held, leaving = Presence(m, "holding"), Signal()
        holding = held.here
        accepting, first = Signal(), Signal()
        left_after = Signal(2)  # beats of the transfer that follow the one offered now
        steer = Steer(m, transfer_layout(self.channel), self.lookup, self.steered)
        offered = steer.payload.beat
        wrong, closes = Signal(name="wrong", reset_less=True), Signal(name="closes")
        m.d.comb += [
            self.rsp.ready.eq(~holding | leaving | closing.closed),
            accepting.eq(self.rsp.valid & self.rsp.ready & ~closing.closed),
            # The table answers until it is asked again, so only the first beat asks.
            self.lookup.look.eq(accepting & first),
            self.lookup.dst_phys_acc_id.eq(self.rsp.p.dst_phys_acc_id),
            leaving.eq(holding & steer.free),
            closes.eq((steer.drops & wrong) | steer.torn | held.torn),
            self.denied.valid.eq(steer.drops & steer.payload.end & ~wrong),
            self.denied.src_phys_acc_id.eq(offered.src_phys_acc_id),
            self.denied.dst_phys_acc_id.eq(offered.dst_phys_acc_id),
            closing.close.eq(closes),
            closing.dropping.eq(self.dropping),
            closing.waits.eq(self.rsp.valid | holding | steer.holding),
            self.upset.eq(closing.upset),
            self.steered.soon.eq(steer.where & steer.payload.end.replicate(self.egresses)),
        ]
        found_wrong = Signal(name="found_wrong")
        m.d.comb += found_wrong.eq(leads & (control_wrong(self.channel, beat, beat.code) | self.lookup.wrong))
        steer.take(m, leaving & ~closes & ~closing.closed, Cat(beat, end), drop=found_wrong)
        with m.If(steer.free):
            m.d.sync += wrong.eq(found_wrong)
        comes_in = leads_to(self.lookup) & (holding & ~self.lookup.denied).replicate(self.egresses)
        m.d.comb += self.under_way.eq(comes_in | steer.where)
        with m.If(self.rsp.ready):
            held.becomes(m, self.rsp.valid & ~closes & ~closing.closed)
            m.d.sync += [
                beat.eq(self.rsp.p),
                end.eq(left_after == 0),
                leads.eq(first),
            ]

        if self.channel == "rd_rsp":
            left = Signal(2)  # beats of the transfer that are still to be offered
            beats = Signal(2, reset_less=True)
            m.d.comb += [
                first.eq(left == 0),
                left_after.eq(Mux(first, self.rsp.p.num_beats, left - 1)),
            ]
            with m.If(accepting):
                m.d.sync += left.eq(left_after)
            with m.If(accepting & first):
                m.d.sync += beats.eq(self.rsp.p.num_beats)
            with m.If(leaving):
                m.d.sync += self.beats.eq(beats)
            with m.If(closing.closed):
                m.d.sync += left.eq(0)
        else:
            m.d.comb += [first.eq(1), left_after.eq(Const(0))]
        return m
