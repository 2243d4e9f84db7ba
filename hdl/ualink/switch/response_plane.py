"""The Read Response or the Write Response plane of the switch core."""

from functools import partial

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.switch.deny_log import DenialSignature
from ualink.switch.grid import Grid
from ualink.switch.high_water import HighWater
from ualink.switch.mend import UPSET_LAYOUT
from ualink.switch.merging.merged import merged
from ualink.switch.merging.response_merge import ResponseMerge
from ualink.switch.response_bank import ResponseBank
from ualink.switch.response_egress import ResponseEgress
from ualink.switch.response_ingress import ResponseIngress
from ualink.switch.route_table import LookupSignature
from ualink.switch.stand_in import StandIn, itself
from ualink.switch.transfer import connect_steered
from ualink.switch.under_way import UnderWay
from ualink.upli.channels import beat_stream

__all__ = ["ResponsePlane"]


class ResponsePlane(wiring.Component):
    """Ingresses, banks that share nothing, where a row of ingress ports meets a column of egress ports, and egresses.

    With several rows a merge before each egress port takes what these have for it in turns. An ingress port whose
    oldest item finds no room for its egress port waits with all that follow, no other port does (SW-035). A buffer has
    room for a maximal transfer to each egress port of its bank, whatever the others hold.

    Parameters
    ----------
    channel : ``"rd_rsp"`` or ``"wr_rsp"``.
    grid : Grid of the ports of the switch.
    depth : int, beats that go from one ingress port to one egress port, at most, inside the buffer.
    shared : int, beats of each buffer that belong to no egress port.
    stand_in : as of ``SwitchCore``.

    Attributes
    ----------
    in_rsp, out_rsp : one stream for each port; 6 cycles from one to the other for a single beat in an idle plane
        of one row, 7 of several.
    lookup, denied : one for each ingress port.
    under_way : ``ports`` bit, as of ``UnderWay``: by which ports something is still to leave.
    dropping, upset_in : a bit for each ingress port, as of ``Closing``.
    upset_out : for each egress port, ``upset`` of ``ResponseEgress``.
    high_water : for each ingress port, the most that it has held for one egress port.
    leads : for each egress port, 1 bit: the beat on offer is the first of its transfer.
    """

    def __init__(self, channel: str, grid: Grid, depth: int, shared: int, stand_in: StandIn = itself):
        self.channel = channel
        self._stand_in = stand_in
        self.grid, self.ports = grid, grid.ports
        ports = grid.ports
        self.depth, self.shared = depth, shared
        super().__init__(
            {
                "in_rsp": In(beat_stream(channel, coded=True)).array(ports),
                "out_rsp": Out(beat_stream(channel, coded=True)).array(ports),
                "lookup": Out(LookupSignature(ports)).array(ports),
                "denied": Out(DenialSignature()).array(ports),
                "under_way": Out(ports),
                "dropping": In(ports),
                "upset_in": Out(ports),
                "upset_out": Out(UPSET_LAYOUT).array(ports),
                "high_water": Out(range(depth + 1)).array(ports),
                "leads": Out(1).array(ports),
            }
        )

    def elaborate(self, platform):
        m = Module()
        columns = len(self.grid.columns)
        ingresses = [self._stand_in(ResponseIngress, self.channel, self.ports) for _ in range(self.ports)]
        most = [self._stand_in(HighWater, self.depth, columns) for _ in range(self.ports)]
        for n, ingress in enumerate(ingresses):
            m.submodules[f"ingress_{n}"] = ingress
            m.submodules[f"high_water_{n}"] = most[n]
            wiring.connect(m, wiring.flipped(self.in_rsp[n]), ingress.rsp)
            wiring.connect(m, ingress.lookup, wiring.flipped(self.lookup[n]))
            wiring.connect(m, ingress.denied, wiring.flipped(self.denied[n]))
            m.d.comb += [
                ingress.dropping.eq(self.dropping[n]),
                self.upset_in[n].eq(ingress.upset),
                self.high_water[n].eq(most[n].most),
            ]
        m.submodules.under_way = under_way = UnderWay(self.ports, self.ports + 1)
        m.d.comb += self.under_way.eq(under_way.under_way)
        m.d.comb += [place.eq(ingress.under_way) for place, ingress in zip(under_way.places, ingresses)]
        for column, egresses in enumerate(self.grid.columns):
            banks = []
            for row, members in enumerate(self.grid.rows):
                of_bank = self.channel, len(members), len(egresses), self.depth, self.shared
                bank = self._stand_in(ResponseBank, *of_bank)
                m.submodules[f"bank_{column}_{row}"] = bank
                banks.append(bank)
                for place, n in enumerate(members):
                    connect_steered(m, ingresses[n].steered, egresses, bank.steered[place])
                    m.d.comb += bank.beats[place].eq(ingresses[n].beats)
                    m.d.comb += most[n].levels[column].eq(bank.most[place])
            for place, k in enumerate(egresses):
                arrivals = [bank.arrivals[place] for bank in banks]
                make_merge = partial(self._stand_in, ResponseMerge, self.channel)
                arrival, between = merged(m, f"merge_{k}", arrivals, make_merge)
                m.submodules[f"egress_{k}"] = egress = self._stand_in(ResponseEgress, self.channel)
                wiring.connect(m, arrival, egress.arrival)
                wiring.connect(m, egress.rsp, wiring.flipped(self.out_rsp[k]))
                waits = Cat(between, egress.under_way, (bank.under_way[place] for bank in banks))
                m.d.comb += [
                    under_way.places[self.ports][k].eq(waits.any()),
                    self.leads[k].eq(egress.leads),
                    self.upset_out[k].eq(egress.upset),
                ]
        return m
