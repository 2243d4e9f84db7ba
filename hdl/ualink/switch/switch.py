"""A UALink switch: stations around a core (UALink_200 §10)."""

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import SwitchConfig
from ualink.lib.forward import forward_member, show
from ualink.station import PORT_MEMBERS, AgentControlSignature, AgentStatusSignature, Station
from ualink.switch.core import SwitchCore
from ualink.switch.core_agent import SIDES, CoreAgent
from ualink.switch.flow import PLANES
from ualink.switch.injection.interface import InjectionSignature
from ualink.switch.injection.station_injection import StationInjection
from ualink.switch.injection.upli_strike import UPLIStrike
from ualink.switch.mend import UPSET_LAYOUT
from ualink.switch.stand_in import StandIn, itself
from ualink.upli.channels import CHANNEL_LAYOUTS

__all__ = ["Switch"]

OF_STATIONS = ("in_", "out_", "dropped", "dropping", "upset", "used", "denied_station")
"""Beginnings of the names of what the core shares with the stations and its agents alone."""
OPTIONAL_MEMBERS = ("rs_status", "rs_rate", "bifurcation", "used")
AGENT_MEMBERS = tuple(f"{side}_{what}" for side in ("completer", "originator") for what in ("control", "status"))


class Switch(wiring.Component):
    """``config.stations`` stations, each connected to the core by its two UPLI interfaces.

    The core's Completer stands before a station's Originator and takes what the link brought; the core's Originator
    stands before a station's Completer and hands over what shall leave.

    Parameters
    ----------
    config : SwitchConfig.
    make_station : makes a station of a ``StationConfig``; by default ``Station`` itself.
    stand_in : as of ``SwitchCore``; of the agents before the stations, too.

    Attributes
    ----------
    rs, pcs, slot, … : as of ``Station``, one each per station.
    ingress_control, ingress_status, ingress_clear, ingress_dropping : the core's Completer before each station. A
        Control or a Protocol Error that it meets puts it into Drop Mode (UALink_200 §3.1.3): it drops what comes and
        what is to go, of all ports, until ``ingress_clear``. A link that goes down does nothing here.
    egress_control, egress_status, egress_clear, egress_dropping : the core's Originator before each station.
    ingress_upset, egress_upset : ``UPSET_LAYOUT`` of each station, a pulse or longer: what the core's own code has
        shown. A Switch Core Control Error puts that agent into Drop Mode, too: the one by which what was upset leaves,
        or, where it is not known where that would go, the one by which it came.
    route_station, route, deny, flow : as of ``SwitchCore``.
    injection : ``InjectionSignature``, one per station; exists with ``config.injection``.
    injection_allowed : 1 bit, for the secure firmware alone: without it nothing is injected, whatever registers say;
        exists with ``config.injection``. The data links of a switch without it inject nothing.
    bifurcation, used : as of ``Station``, one each per station; only where the number of ports is chosen. The
        agents before a station follow it. While another number is pending and its links are down, what is routed to it
        is denied.
    """

    def __init__(self, config: SwitchConfig, make_station=Station, stand_in: StandIn = itself):
        self.config = config
        self._stations = [make_station(config.station_of_switch) for _ in range(config.stations)]
        self._core = SwitchCore(config, stand_in=stand_in, coded=True)
        self._agents = {
            side: [stand_in(CoreAgent, side, config.station) for _ in range(config.stations)] for side in SIDES
        }
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
                    for side in SIDES
                    for name, member in (
                        ("control", In(AgentControlSignature())),
                        ("clear", In(1)),
                        ("status", Out(AgentStatusSignature())),
                        ("dropping", Out(1)),
                        ("upset", Out(UPSET_LAYOUT)),
                    )
                },
                **{name: members[name].array(config.stations) for name in shown},
                **{name: self._core.signature.members[name] for name in self._core_members},
                **(
                    {"injection": In(InjectionSignature()).array(config.stations), "injection_allowed": In(1)}
                    if config.injection
                    else {}
                ),
            }
        )
        self._shown = shown

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = core = self._core
        for number, station in enumerate(self._stations):
            m.submodules[f"station{number}"] = station
            ingress, egress = (self._agents[side][number] for side in SIDES)
            for side, agent in zip(SIDES, (ingress, egress)):
                m.submodules[f"{side}{number}"] = agent
                self._watch(m, side, number, agent)
            m.d.comb += [
                self.slot[number].eq(station.slot),
                ingress.slot.eq(station.slot),
                egress.slot.eq(station.slot),
            ]
            connect(m, getattr(station, self._below), flipped(getattr(self, self._below)[number]))
            for name in self._shown:
                forward_member(m, station, name, getattr(self, name)[number])
            self._guard(m, number, station)
            between = self._join(m, number, station, ingress, egress)
            if self.config.station.choosable_ports:
                self._choose(m, number, station, (ingress, egress), between)
        for name in self._core_members:
            forward_member(m, core, name, getattr(self, name))
        return m

    def _join(self, m, number, station, ingress, egress):
        """A station, the agents of the core before it, and the core: with injection between them, or with nothing."""
        between = self._inject(m, number, station, ingress, egress) if self.config.injection else None
        if between is None:
            connect(m, station.upli_originator, ingress.upli)
            connect(m, egress.upli, station.upli_completer)
        ports = self.config.station.ports
        for port, dropped in enumerate(self._core.dropped[number * ports :][:ports]):
            for plane in PLANES:
                first, last = (ingress, egress) if plane == "req" else (egress, ingress)
                m.d.comb += [
                    getattr(dropped, f"{plane}_in").eq(first.dropped[port][plane]),
                    getattr(dropped, f"{plane}_out").eq(last.dropped[port][plane]),
                ]
        for channel in CHANNEL_LAYOUTS:
            taker, giver = (ingress, egress) if channel in ("req", "orig_data") else (egress, ingress)
            for port in range(ports):
                came, leaves = getattr(taker, channel)[port], getattr(giver, channel)[port]
                into, out = (getattr(self._core, f"{way}_{channel}")[number * ports + port] for way in ("in", "out"))
                if between is None:
                    connect(m, came, into)
                    connect(m, out, leaves)
                else:
                    connect(m, came, getattr(between, f"link_in_{channel}")[port])
                    connect(m, getattr(between, f"core_out_{channel}")[port], into)
                    connect(m, out, getattr(between, f"core_in_{channel}")[port])
                    connect(m, getattr(between, f"link_out_{channel}")[port], leaves)
        return between

    def _inject(self, m, number, station, ingress, egress):
        """The injection at a station, and parity that it spoils on the UPLI before and behind the core."""
        m.submodules[f"injection{number}"] = injection = StationInjection(self.config.station.ports)
        forward_member(m, injection, "control", self.injection[number])
        m.submodules[f"ingress_strike{number}"] = before = UPLIStrike()
        m.submodules[f"egress_strike{number}"] = behind = UPLIStrike()
        connect(m, station.upli_originator, before.originator)
        connect(m, before.completer, ingress.upli)
        connect(m, egress.upli, behind.originator)
        connect(m, behind.completer, station.upli_completer)
        # Requests go to the core before it and to the links behind it, Responses the other way round.
        spoil, shown = injection.spoil, (before.shown, behind.shown)
        m.d.comb += [
            injection.allowed.eq(self.injection_allowed),
            before.spoil.eq(Cat(spoil[:2], spoil[6:])),
            behind.spoil.eq(Cat(spoil[4:6], spoil[2:4])),
            injection.shown.eq(Cat(shown[0][:2], shown[1][2:], shown[1][:2], shown[0][2:])),
        ]
        return injection

    def _guard(self, m, number, station):
        """Data links inject errors on the same terms as the rest of the switch, in the place of what firmware wants."""
        for asked, told in zip(self.dl_config[number], station.dl_config):
            allowed = Const(0)
            if self.config.injection:
                allowed = self.injection_allowed & self.injection[number].enable & asked.inject_enable
            m.d.comb += told.inject_enable.eq(allowed)

    def _choose(self, m, number, station, agents, injection):
        """The agents before ``station`` have as many ports as it, and are empty when their number changes."""
        core, ports = self._core, self.config.station.ports
        places = range(number * ports, (number + 1) * ports)
        comes = [
            getattr(core, f"out_{name}")[n].valid for n in places for name in ("req", "orig_data", "rd_rsp", "wr_rsp")
        ]
        if injection is not None:
            comes.append(~injection.idle)
        choice = station.bifurcation
        m.d.comb += [
            *(agent.used.eq(station.used) for agent in agents),
            *(agent.restart.eq(station.restart) for agent in agents),
            station.upli_moves.eq(Cat(comes, (agent.moves for agent in agents)).any()),
            core.used[number].eq(station.used),
            core.denied_station[number].eq(choice.pending & choice.links_down),
        ]

    def _watch(self, m, side, number, agent):
        """What firmware tells and sees of a core agent, and what the core shows it."""
        upset = getattr(self, f"{side}_upset")[number]
        places = range(number * self.config.station.ports, (number + 1) * self.config.station.ports)
        upsets = [self._core.upset[n][side] for n in places]
        show(m, agent, getattr(self, f"{side}_status")[number])
        m.d.comb += [
            agent.clear_errors.eq(getattr(self, f"{side}_control")[number].clear_errors),
            upset.control.eq(Cat(one.control for one in upsets).any()),
            upset.data.eq(Cat(one.data for one in upsets).any()),
            agent.upset.eq(upset),
            *(self._core.dropping[n][side].eq(agent.dropping) for n in places),
            agent.clear.eq(getattr(self, f"{side}_clear")[number]),
            getattr(self, f"{side}_dropping")[number].eq(agent.dropping),
        ]
