"""The Request plane of the switch core, with Originator Data."""

from functools import partial

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.switch.deny_log import DenialSignature
from ualink.switch.grid import Grid
from ualink.switch.high_water import HighWater
from ualink.switch.mend import UPSET_LAYOUT
from ualink.switch.merging.merged import merged
from ualink.switch.merging.request_merge import RequestMerge
from ualink.switch.queue_depths import QueueDepths
from ualink.switch.request_bank import RequestBank
from ualink.switch.request_egress import RequestEgress
from ualink.switch.request_ingress import RequestIngress
from ualink.switch.route_table import LookupSignature
from ualink.switch.stand_in import StandIn, itself
from ualink.switch.transfer import connect_steered
from ualink.switch.under_way import UnderWay
from ualink.upli.channels import beat_stream

__all__ = ["RequestPlane"]


class RequestPlane(wiring.Component):
    """Ingresses, banks that share nothing, where a row of ingress ports meets a column of egress ports, and egresses.

    With several rows a merge before each egress port takes what these have for it in turns. An ingress port whose
    oldest item finds no room for its egress port waits with all that follow, no other port does (SW-035). A buffer has
    room for a maximal transfer to each egress port of its bank, whatever the others hold.

    Parameters
    ----------
    grid : Grid of the ports of the switch.
    depths : QueueDepths.
    stand_in : as of ``SwitchCore``.

    Attributes
    ----------
    in_req, in_orig_data : one stream for each port; beats of ``in_orig_data`` are taken once their Request was taken.
    out_req, out_orig_data : one stream for each port; 6 cycles from ``in_req`` (with its only beat, if it has one, on
        ``in_orig_data`` in the next cycle at the latest) to ``out_req`` in an idle plane of one row, 7 of several, 1
        more for each further beat.
    lookup, denied : one for each ingress port.
    under_way : ``ports`` bit, as of ``UnderWay``: by which ports something is still to leave.
    dropping, upset_in : a bit for each ingress port, as of ``Closing``.
    upset_out : for each egress port, ``upset`` of ``RequestEgress``.
    req_high_water, orig_data_high_water : for each ingress port, the most that it has held for one egress port.
    """

    def __init__(self, grid: Grid, depths: QueueDepths, stand_in: StandIn = itself):
        self.grid, self.ports = grid, grid.ports
        ports = grid.ports
        self._stand_in = stand_in
        self.depths = depths
        super().__init__(
            {
                "in_req": In(beat_stream("req", coded=True)).array(ports),
                "in_orig_data": In(beat_stream("orig_data", coded=True)).array(ports),
                "out_req": Out(beat_stream("req", coded=True)).array(ports),
                "out_orig_data": Out(beat_stream("orig_data", coded=True)).array(ports),
                "lookup": Out(LookupSignature(ports)).array(ports),
                "denied": Out(DenialSignature()).array(ports),
                "under_way": Out(ports),
                "dropping": In(ports),
                "upset_in": Out(ports),
                "upset_out": Out(UPSET_LAYOUT).array(ports),
                "req_high_water": Out(range(depths.req + 1)).array(ports),
                "orig_data_high_water": Out(range(depths.orig_data + 1)).array(ports),
            }
        )

    def elaborate(self, platform):
        m = Module()
        columns = len(self.grid.columns)
        ingresses = [self._stand_in(RequestIngress, self.ports) for _ in range(self.ports)]
        req_most = [self._stand_in(HighWater, self.depths.req, columns) for _ in range(self.ports)]
        data_most = [self._stand_in(HighWater, self.depths.orig_data, columns) for _ in range(self.ports)]
        for n, ingress in enumerate(ingresses):
            m.submodules[f"ingress_{n}"] = ingress
            m.submodules[f"req_high_water_{n}"] = req_most[n]
            m.submodules[f"orig_data_high_water_{n}"] = data_most[n]
            wiring.connect(m, wiring.flipped(self.in_req[n]), ingress.req)
            wiring.connect(m, wiring.flipped(self.in_orig_data[n]), ingress.orig_data)
            wiring.connect(m, ingress.lookup, wiring.flipped(self.lookup[n]))
            wiring.connect(m, ingress.denied, wiring.flipped(self.denied[n]))
            m.d.comb += [
                ingress.dropping.eq(self.dropping[n]),
                self.upset_in[n].eq(ingress.upset),
                self.req_high_water[n].eq(req_most[n].most),
                self.orig_data_high_water[n].eq(data_most[n].most),
            ]
        m.submodules.under_way = under_way = UnderWay(self.ports, self.ports + 1)
        m.d.comb += self.under_way.eq(under_way.under_way)
        m.d.comb += [place.eq(ingress.under_way) for place, ingress in zip(under_way.places, ingresses)]
        for column, egresses in enumerate(self.grid.columns):
            banks = []
            for row, members in enumerate(self.grid.rows):
                bank = self._stand_in(RequestBank, len(members), len(egresses), self.depths)
                m.submodules[f"bank_{column}_{row}"] = bank
                banks.append(bank)
                for place, n in enumerate(members):
                    connect_steered(m, ingresses[n].steered_req, egresses, bank.steered_req[place])
                    connect_steered(m, ingresses[n].steered_orig_data, egresses, bank.steered_orig_data[place])
                    m.d.comb += [
                        req_most[n].levels[column].eq(bank.req_most[place]),
                        data_most[n].levels[column].eq(bank.orig_data_most[place]),
                    ]
            for place, k in enumerate(egresses):
                arrivals = [bank.arrivals[place] for bank in banks]
                arrival, between = merged(m, f"merge_{k}", arrivals, partial(self._stand_in, RequestMerge))
                m.submodules[f"egress_{k}"] = egress = self._stand_in(RequestEgress)
                wiring.connect(m, arrival, egress.arrival)
                waits = Cat(between, egress.under_way, (bank.under_way[place] for bank in banks))
                m.d.comb += [
                    under_way.places[self.ports][k].eq(waits.any()),
                    self.upset_out[k].eq(egress.upset),
                ]
                wiring.connect(m, egress.req, wiring.flipped(self.out_req[k]))
                wiring.connect(m, egress.orig_data, wiring.flipped(self.out_orig_data[k]))
        return m
