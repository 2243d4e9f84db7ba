"""The switch core: route tables and three planes that share nothing (UALink_200 §10.1, §10.4)."""

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import SwitchConfig
from ualink.switch.deny_log import COUNTER_BITS, DenyLog, DenyStatusSignature
from ualink.switch.flow import PLANES, DroppedSignature, FlowCounters, FlowSignature
from ualink.switch.grid import Grid
from ualink.switch.mend import DROPPING_LAYOUT, UPSETS_LAYOUT
from ualink.switch.queue_depths import QueueDepths
from ualink.switch.request_plane import RequestPlane
from ualink.switch.response_plane import ResponsePlane
from ualink.switch.route_table import RouteConfigSignature, RouteTable, chosen_members
from ualink.switch.stand_in import StandIn, itself
from ualink.upli.channels import CHANNEL_LAYOUTS, beat_stream
from ualink.upli.code import beat_code

__all__ = ["QueueDepths", "SwitchCore"]


class SwitchCore(wiring.Component):
    """Moves Requests and responses between the ports of a switch as the route tables say (UALink_200 §10).

    Ports are numbered ``station * ports + port``. Requests with their data, Read Responses and Write Responses go
    through planes of their own, so none of them can hold up another. Within a plane each ingress port has a buffer that
    egress ports share: one that stands still stops the others only when it has taken all it may, and only those items
    that come from the same ingress port, the permitted head-of-line blocking (UALink_200 §10.4, ruling SW-035). Each
    pair keeps its order (Strict Ordering), transfers are sent without gaps, fields pass unchanged.
    6 cycles from input to output for a single beat in an idle core. With more ports than ``config.ports_per_row`` there
    are several rows of ingress ports, which take turns at each egress port, and it is 7 cycles.

    Parameters
    ----------
    config : SwitchConfig.
    voq_depth : QueueDepths, by default ``QueueDepths.of_credits(config.station.upli)``.
    deny_counter_bits : int, width of the deny counters.
    stand_in : makes what stands for a part, of its class and parameters, so that equal ones need to be made but once;
        without it parts stand for themselves.
    coded : beats come and go with their code. Otherwise it is made where they enter, and ends where they leave.

    Attributes
    ----------
    in_req, in_orig_data, in_rd_rsp, in_wr_rsp : from the UPLI agents, one stream for each port.
    out_req, out_orig_data, out_rd_rsp, out_wr_rsp : to the UPLI agents, one stream for each port. The first beat of a
        data-bearing Request is offered with it and the others in the following accepted slots, and no such Request is
        offered before the beats of the one before it are taken. So are the beats of a Multi-Beat Read Response.
    route_station : the table that ``route`` accesses; ``route.read_data`` belongs to that of the cycle before.
    route : ``RouteConfigSignature``; after reset all tables deny everything, until ``ready`` and until written.
    deny : ``DenyStatusSignature`` of each ingress port.
    dropped : what the agents before and behind the core dropped in the cycle before, ``DroppedSignature`` per port.
    dropping : ``DROPPING_LAYOUT`` of each port, of the agents before it.
    upset : ``UPSETS_LAYOUT`` of each port, registers.
    flow : ``FlowSignature`` of each port.
    used : (*) of each station, as of ``ports_used``.
    denied_station : (*) a bit of each station: what is routed there is denied.

    Those marked (*) exist only where ``config.station`` has ``choosable_ports``.
    """

    def __init__(
        self,
        config: SwitchConfig,
        *,
        voq_depth: QueueDepths | None = None,
        deny_counter_bits: int = COUNTER_BITS,
        stand_in: StandIn = itself,
        coded: bool = False,
    ):
        self.config = config
        self._coded = coded
        self.voq_depth = voq_depth or QueueDepths.of_credits(config.station.upli)
        self.deny_counter_bits = deny_counter_bits
        self._stand_in = stand_in
        self.ports = config.stations * config.station.ports
        channels = ("req", "orig_data", "rd_rsp", "wr_rsp")
        super().__init__(
            {
                **{f"in_{channel}": In(beat_stream(channel, coded=coded)).array(self.ports) for channel in channels},
                **{f"out_{channel}": Out(beat_stream(channel, coded=coded)).array(self.ports) for channel in channels},
                "route_station": In(range(config.stations)),
                "route": In(RouteConfigSignature(config.stations)),
                "deny": Out(DenyStatusSignature(deny_counter_bits)).array(self.ports),
                "dropped": In(DroppedSignature()).array(self.ports),
                "dropping": In(DROPPING_LAYOUT).array(self.ports),
                "upset": Out(UPSETS_LAYOUT).array(self.ports),
                "flow": Out(FlowSignature(self.voq_depth)).array(self.ports),
                **chosen_members(config),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth, stand_in = self.voq_depth, self._stand_in
        grid = Grid(self.ports, self.config.ports_per_row)
        requests = RequestPlane(grid, depth, stand_in)
        read_responses = ResponsePlane("rd_rsp", grid, depth.rd_rsp, depth.shared, stand_in)
        write_responses = ResponsePlane("wr_rsp", grid, depth.wr_rsp, depth.shared, stand_in)
        m.submodules.requests, m.submodules.read_responses = requests, read_responses
        m.submodules.write_responses = write_responses
        tables = [stand_in(RouteTable, self.config) for _ in range(self.config.stations)]
        for station, table in enumerate(tables):
            m.submodules[f"route_table_{station}"] = table
            for name in chosen_members(self.config):
                for mine, its in zip(getattr(self, name), getattr(table, name)):
                    m.d.comb += its.eq(mine)

        for n in range(self.ports):
            station, port = divmod(n, self.config.station.ports)
            for name, inner, outer in (
                ("req", requests.in_req, requests.out_req),
                ("orig_data", requests.in_orig_data, requests.out_orig_data),
                ("rd_rsp", read_responses.in_rsp, read_responses.out_rsp),
                ("wr_rsp", write_responses.in_rsp, write_responses.out_rsp),
            ):
                self._take(m, name, wiring.flipped(getattr(self, f"in_{name}")[n]), inner[n])
                self._give(m, name, outer[n], wiring.flipped(getattr(self, f"out_{name}")[n]))
            self._tell_upsets(m, n, requests, (read_responses, write_responses))

            m.submodules[f"deny_log_{n}"] = log = stand_in(DenyLog, self.deny_counter_bits)
            wiring.connect(m, log.status, wiring.flipped(self.deny[n]))
            self._count(m, n, requests, read_responses, write_responses)
            table = tables[station]
            # In the order of DeniedKind.
            for kind, (lookup, table_lookup, denied) in enumerate(
                (
                    (requests.lookup, table.lookup_req, requests.denied),
                    (read_responses.lookup, table.lookup_rd_rsp, read_responses.denied),
                    (write_responses.lookup, table.lookup_wr_rsp, write_responses.denied),
                )
            ):
                wiring.connect(m, lookup[n], table_lookup[port])
                wiring.connect(m, denied[n], log.denied[kind])

        read_station = Signal.like(self.route_station)
        m.d.sync += read_station.eq(self.route_station)
        m.d.comb += [
            # The tables come out of reset together, so any of them knows.
            self.route.ready.eq(tables[0].config.ready),
            self.route.read_data.eq(Array(table.config.read_data for table in tables)[read_station]),
            self.route.read_wrong.eq(Array(table.config.read_wrong for table in tables)[read_station]),
        ]
        for station, table in enumerate(tables):
            m.d.comb += [
                table.config.index.eq(self.route.index),
                table.config.write.eq(self.route.write & (self.route_station == station)),
                table.config.write_data.eq(self.route.write_data),
            ]
        return m

    def _take(self, m, channel, came, inner):
        """``came`` into ``inner``, with its code."""
        if self._coded:
            wiring.connect(m, came, inner)
            return
        m.d.comb += [inner.valid.eq(came.valid), came.ready.eq(inner.ready)]
        m.d.comb += [inner.p[name].eq(came.p[name]) for name, _ in CHANNEL_LAYOUTS[channel]]
        m.d.comb += [inner.p.code[name].eq(value) for name, value in beat_code(channel, came.p).items()]

    def _give(self, m, channel, inner, leaves):
        """``inner`` to ``leaves``, with its code or without."""
        if self._coded:
            wiring.connect(m, inner, leaves)
            return
        m.d.comb += [leaves.valid.eq(inner.valid), inner.ready.eq(leaves.ready)]
        m.d.comb += [leaves.p[name].eq(inner.p[name]) for name, _ in CHANNEL_LAYOUTS[channel]]

    def _tell_upsets(self, m, n, requests, responses):
        """Which agents at port ``n`` an upset is of: Requests come in by the Completer, "ingress", and leave by the
        Originator, "egress"; Responses the other way round (UALink_200 §3.1.4, ruling A-17 of RAS)."""
        upset, dropping = self.upset[n], self.dropping[n]
        left = [plane.upset_out[n] for plane in responses]
        m.d.comb += [
            requests.dropping[n].eq(dropping.ingress),
            *(plane.dropping[n].eq(dropping.egress) for plane in responses),
            upset.ingress.control.eq(Cat(requests.upset_in[n], (one.control for one in left)).any()),
            upset.ingress.data.eq(Cat(one.data for one in left).any()),
            upset.egress.control.eq(
                Cat(requests.upset_out[n].control, (plane.upset_in[n] for plane in responses)).any()
            ),
            upset.egress.data.eq(requests.upset_out[n].data),
        ]

    def _count(self, m, n, requests, read_responses, write_responses):
        """What goes through port ``n``."""
        m.submodules[f"flow_{n}"] = counters = self._stand_in(FlowCounters)
        flow, events, dropped = self.flow[n], counters.events, self.dropped[n]
        leads = {"rd_rsp": read_responses.leads[n]}
        planes = dict(zip(PLANES, (requests, read_responses, write_responses)))
        for name, plane in planes.items():
            came, leaves = getattr(self, f"in_{name}")[n], getattr(self, f"out_{name}")[n]
            happens = {
                "dropped_in": getattr(dropped, f"{name}_in"),
                "accepted": plane.lookup[n].look,
                "denied": plane.denied[n].valid,
                "stalled_in": came.valid & ~came.ready,
                "forwarded": leaves.valid & leaves.ready & leads.get(name, 1),
                "dropped_out": getattr(dropped, f"{name}_out"),
                "stalled_out": leaves.valid & ~leaves.ready,
            }
            for count, event in happens.items():
                m.d.comb += [
                    events[f"{name}_{count}"].eq(event),
                    getattr(flow, f"{name}_{count}").eq(getattr(counters, f"{name}_{count}")),
                ]
        m.d.comb += [
            *(getattr(flow, f"{name}_under_way").eq(plane.under_way[n]) for name, plane in planes.items()),
            flow.req_high_water.eq(requests.req_high_water[n]),
            flow.orig_data_high_water.eq(requests.orig_data_high_water[n]),
            flow.rd_rsp_high_water.eq(read_responses.high_water[n]),
            flow.wr_rsp_high_water.eq(write_responses.high_water[n]),
        ]
