"""A UALink switch: stations around a core (UALink_200 §10)."""

from amaranth.hdl import Cat, Module, ResetInserter
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import SwitchConfig
from ualink.lib.forward import forward_member, show
from ualink.station import PORT_MEMBERS, AgentControlSignature, AgentStatusSignature, Station
from ualink.switch.core import SwitchCore
from ualink.upli.completer import Completer
from ualink.upli.drop_mode import AgentDropMode
from ualink.upli.originator import Originator

__all__ = ["Switch"]

OF_STATIONS = ("in_", "out_", "used", "denied_station")
"""Beginnings of the names of what the core shares with the stations alone."""
OPTIONAL_MEMBERS = ("rs_status", "rs_rate", "number_of_ports", "used")
AGENT_MEMBERS = tuple(f"{side}_{what}" for side in ("completer", "originator") for what in ("control", "status"))


class Switch(wiring.Component):
    """``config.stations`` stations, each connected to the core by its two UPLI interfaces.

    The core's Completer stands before a station's Originator and takes what the link brought; the core's Originator
    stands before a station's Completer and hands over what shall leave.

    Parameters
    ----------
    config : SwitchConfig.
    make_station : makes a station of a ``StationConfig``; by default ``Station`` itself.

    Attributes
    ----------
    rs, pcs, slot, … : as of ``Station``, one each per station.
    ingress_control, ingress_status, ingress_clear, ingress_dropping : the core's Completer before each station. A
        Control or a Protocol Error that it meets puts it into Drop Mode (UALink_200 §3.1.3): it drops what comes and
        what is to go, of all ports, until ``ingress_clear``. A link that goes down does nothing here.
    egress_control, egress_status, egress_clear, egress_dropping : the core's Originator before each station.
    route_station, route, deny : as of ``SwitchCore``.
    number_of_ports, used : as of ``Station``, one each per station; only where the number of ports is chosen. The
        agents before a station follow it. While another number is pending and its links are down, what is routed to it
        is denied.
    """

    def __init__(self, config: SwitchConfig, make_station=Station):
        self.config = config
        self._stations = [make_station(config.station_of_switch) for _ in range(config.stations)]
        self._core = SwitchCore(config)
        members = self._stations[0].signature.members
        self._below = "rs" if config.station.phy is None else "pcs"
        shown = (*PORT_MEMBERS, *AGENT_MEMBERS, *(name for name in OPTIONAL_MEMBERS if name in members))
        self._core_members = [name for name in self._core.signature.members if not name.startswith(OF_STATIONS)]
        super().__init__(
            {
                self._below: members[self._below].array(config.stations),
                "slot": Out(2).array(config.stations),
                **{
                    f"{side}_{name}": member.array(config.stations)
                    for side in ("ingress", "egress")
                    for name, member in (
                        ("control", In(AgentControlSignature())),
                        ("clear", In(1)),
                        ("status", Out(AgentStatusSignature())),
                        ("dropping", Out(1)),
                    )
                },
                **{name: members[name].array(config.stations) for name in shown},
                **{name: self._core.signature.members[name] for name in self._core_members},
            }
        )
        self._shown = shown

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = core = self._core
        ports, choosable = self.config.station.ports, self.config.station.choosable_ports
        for number, station in enumerate(self._stations):
            m.submodules[f"station{number}"] = station
            ingress = Completer(self.config.station.upli, ports, choosable=choosable)
            egress = Originator(self.config.station.upli, ports, choosable=choosable)
            for side, agent in (("ingress", ingress), ("egress", egress)):
                restarts = ResetInserter(station.restart) if choosable else lambda agent: agent
                m.submodules[f"{side}{number}"] = restarts(agent)
            if choosable:
                self._choose(m, number, station, (ingress, egress))
            for side, agent in (("ingress", ingress), ("egress", egress)):
                self._watch(m, side, number, agent)
            connect(m, station.upli_originator, ingress.upli)
            connect(m, egress.upli, station.upli_completer)
            m.d.comb += [
                self.slot[number].eq(station.slot),
                ingress.slot.eq(station.slot),
                egress.slot.eq(station.slot),
            ]
            connect(m, getattr(station, self._below), flipped(getattr(self, self._below)[number]))
            for name in self._shown:
                forward_member(m, station, name, getattr(self, name)[number])
            for port in range(ports):
                place = number * ports + port
                connect(m, ingress.req[port], core.in_req[place])
                connect(m, ingress.orig_data[port], core.in_orig_data[place])
                connect(m, egress.rd_rsp[port], core.in_rd_rsp[place])
                connect(m, egress.wr_rsp[port], core.in_wr_rsp[place])
                connect(m, core.out_req[place], egress.req[port])
                connect(m, core.out_orig_data[place], egress.orig_data[port])
                connect(m, core.out_rd_rsp[place], ingress.rd_rsp[port])
                connect(m, core.out_wr_rsp[place], ingress.wr_rsp[port])
        for name in self._core_members:
            forward_member(m, core, name, getattr(self, name))
        return m

    def _choose(self, m, number, station, agents):
        """The agents before ``station`` have as many ports as it, and are empty when their number changes."""
        core, ports = self._core, self.config.station.ports
        places = range(number * ports, (number + 1) * ports)
        comes = [
            getattr(core, f"out_{name}")[n].valid for n in places for name in ("req", "orig_data", "rd_rsp", "wr_rsp")
        ]
        choice = station.number_of_ports
        m.d.comb += [
            *(agent.used.eq(station.used) for agent in agents),
            station.upli_moves.eq(Cat(comes, (agent.moves for agent in agents)).any()),
            core.used[number].eq(station.used),
            core.denied_station[number].eq(choice.pending & choice.links_down),
        ]

    def _watch(self, m, side, number, agent):
        """Drop Mode of a core agent, and what firmware tells and sees of it."""
        m.submodules[f"{side}_drop_mode{number}"] = drop_mode = AgentDropMode()
        show(m, agent, getattr(self, f"{side}_status")[number])
        m.d.comb += [
            agent.clear_errors.eq(getattr(self, f"{side}_control")[number].clear_errors),
            drop_mode.control_event.eq(agent.control_event),
            drop_mode.protocol_event.eq(agent.protocol_event),
            drop_mode.clear.eq(getattr(self, f"{side}_clear")[number]),
            agent.drop.eq(drop_mode.drop),
            getattr(self, f"{side}_dropping")[number].eq(drop_mode.drop),
        ]
