"""One UALink station: UPLI agents, and TL and DL of its one, two or four ports, as one 64-byte-per-cycle pipeline."""

from amaranth.hdl import Cat, DomainRenamer, Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.bifurcation import Bifurcation, BifurcationSignature
from ualink.config import StationConfig
from ualink.dl.link.separate_links import UPLI_CLOCK_MEMBERS, SeparateLinks
from ualink.dl.links import FIRMWARE_MEMBERS, Links
from ualink.lib.forward import forward_member, show
from ualink.lib.interleave import Interleaver
from ualink.lib.ports_used import FOUR_USED, copy_of, of_turn, slot_after, tell_next, turns
from ualink.phy.interface import BlocksSignature, RSSignature
from ualink.phy.reconciliation import Reconciliation, ReconciliationStatusSignature
from ualink.tl.control import TLControlSignature, TLStatusSignature
from ualink.tl.layer import TransactionLayer
from ualink.upli.channels import UPLISignature
from ualink.upli.chosen_turn import ChosenTurn
from ualink.upli.completer import Completer
from ualink.upli.isolation.isolate_request import IsolateRequest
from ualink.upli.originator import Originator
from ualink.upli.turn import Turn

__all__ = ["CHANNELS", "PORT_MEMBERS", "AgentControlSignature", "AgentStatusSignature", "Station"]

CHANNELS = ("req", "orig_data", "rd_rsp", "wr_rsp")

CHOICE_MEMBERS = {
    "bifurcation": In(BifurcationSignature()),
    "used": Out(3, init=FOUR_USED),
    "restart": Out(1),
    "upli_moves": In(1),
}
"""Members of a station of which it is chosen how many ports it uses."""

PORT_MEMBERS = (*(f"dl_{name}" for name in FIRMWARE_MEMBERS), "tl_control", "tl_status")
"""Members of a station that exist once per port."""


class AgentControlSignature(wiring.Signature):
    """What firmware tells a UPLI agent.

    Members
    -------
    clear_errors : 1 bit, reset value 0: forget the errors shown.
    """

    def __init__(self):
        super().__init__({"clear_errors": Out(1)})


class AgentStatusSignature(wiring.Signature):
    """A UPLI agent as firmware sees it; 1 bit and reset value 0 each.

    Members
    -------
    connected : both directions of the interface are open.
    data_error, control_error, protocol_error : an error of that class was seen since ``clear_errors``
        (UALink_200 §3.1.2).
    data_event, control_event, protocol_event : high for one cycle after each such error.
    """

    def __init__(self):
        kinds = ("data", "control", "protocol")
        names = ("connected", *(f"{kind}_error" for kind in kinds), *(f"{kind}_event" for kind in kinds))
        super().__init__({name: Out(1) for name in names})


class Station(wiring.Component):
    """A UALink stack component down to the reconciliation sublayer, or with it (UALink_200 §1.3, §2.2, §2.5).

    Every cycle belongs to one port of the station, in turn: a x4 station has port 0 always, 2 x x2 has 0, 1, 0, 1, …
    and 4 x x1 has 0, 1, 2, 3, …. The ports share one TL and DL, which remember everything once per port and advance
    in the port's own cycles only.

    With ``config.choosable_ports`` it is a station of one, two or four ports, as ``bifurcation`` says. Another number
    is in force from the second of 16 cycles of ``restart`` on, in which the whole station is reset, and whoever stands
    before it at UPLI has to be. What comes from UPLI for one port, and its status, is a cycle later than in a station
    that is built for one (``ChosenTurn``); what comes for one of four is a cycle sooner than in one that is built for
    four, whose agents are ``unhurried``. Only then are there the last four members below.

    With ``config.separate_upli_clock`` UPLI and TL are in a clock domain of their own, "upli", behind which
    ``SeparateLinks`` stands; the members marked (*) exist only then. With ``config.phy`` the station has a
    ``Reconciliation`` of all its ports, and ``pcs`` and ``rs_status`` in the place of ``rs``; ``rs_rate`` too where
    ``config.phy.choosable_rates`` has any.

    Attributes
    ----------
    upli_completer : the interface to the local UPLI Originator; here stands its Completer.
    upli_originator : the interface to the local UPLI Completer; here stands its Originator.
    rs : the reconciliation sublayer; a beat for port p is taken and given in the cycles of port p,
        ``dl.cycles_per_beat`` of these from one to the next or more.
    pcs : the PCS of each port; a beat for port p is given and taken in the cycles of port p.
    rs_status, rs_rate : one per port, as of ``Reconciliation``.
    slot : the port that this cycle belongs to.
    rs_slot : (*) the port that this cycle belongs to on the side of the RS.
    dl_uart_tx, dl_uart_rx, dl_config, dl_status : one each per port, as of ``Links``.
    tl_control : one per port. It holds from the next cycle on; of several ports a pulse must last for one round of
        them.
    tl_status : one per port. Of several ports it shows how it was in the last cycle of the port.
    completer_control, originator_control, completer_status, originator_status : of the two agents. A Control or a
        Protocol Error at either puts all ports into TL Drop Mode (UALink_200 §3.1.3), whatever is shown already; so
        does a link that goes down at an accelerator, at a switch its own port only (UALink_200 §3.1.4). At an
        accelerator the local Originator is sent a Write Response with status ISOLATE then.
    upli_reset, overflow, upli_clock_… : (*) as of ``SeparateLinks``.
    bifurcation : how many links the four lanes make up, as firmware chooses.
    used : ports of which there are cycles, one-hot: bit n for 1 << n of them, from port 0 on.
    restart : register, reset value 0, 16 cycles: the number of ports changes after the first.
    upli_moves : he who stands before the station at UPLI has a beat for it, or one of it: the number does not change.
    """

    def __init__(self, config: StationConfig):
        self.config = config
        choosable = {"choosable": True} if config.choosable_ports else {}
        # From the check of UPLI parity to that of a flit, and back, beats have a code.
        self._completer = Completer(config.agents_upli, config.ports, coded=True, **choosable)
        self._originator = Originator(config.agents_upli, config.ports, coded=True, **choosable)
        self._turns = {}
        if config.ports > 1:
            self._turns = {channel: self._turn(channel) for channel in CHANNELS}
        self._tl = TransactionLayer(config.port_tl, coded=True)
        self._isolate_request = IsolateRequest(config.ports, coded=True)
        self._separate: tuple[str, ...] = ()
        if config.separate_upli_clock:
            self._separate = ("rs_slot", "upli_reset", "overflow", *(f"upli_clock_{n}" for n in UPLI_CLOCK_MEMBERS))
        self._links = (SeparateLinks if self._separate else Links)(config.port_dl, config.ports, **choosable)
        members = self._links.signature.members
        below: dict[str, wiring.Member] = {"rs": Out(RSSignature())}
        if config.phy is not None:
            self._reconciliation = Reconciliation(config.phy, config.ports, **choosable)
            below = {
                "pcs": Out(BlocksSignature(config.phy.blocks_per_word, always_ready=False)),
                "rs_status": Out(ReconciliationStatusSignature()).array(config.ports),
            }
            if config.phy.choosable_rates:
                below["rs_rate"] = self._reconciliation.signature.members["rate"]
        super().__init__(
            {
                "upli_completer": In(UPLISignature()),
                "upli_originator": Out(UPLISignature()),
                **below,
                "slot": Out(2),
                **{f"dl_{name}": members[name] for name in FIRMWARE_MEMBERS},
                "tl_control": In(TLControlSignature()).array(config.ports),
                "tl_status": Out(TLStatusSignature()).array(config.ports),
                "completer_control": In(AgentControlSignature()),
                "originator_control": In(AgentControlSignature()),
                "completer_status": Out(AgentStatusSignature()),
                "originator_status": Out(AgentStatusSignature()),
                **{name: members[name] for name in self._separate},
                **(CHOICE_MEMBERS if choosable else {}),
            }
        )

    def _turn(self, channel):
        """Between the queues of an agent and the TL."""
        if self.config.choosable_ports:
            return ChosenTurn(channel, coded=True)
        return Turn(channel, self.config.ports, coded=True)

    def elaborate(self, platform):
        if not self.config.choosable_ports:
            return self._station()
        m = Module()
        m.submodules.choice = choice = Bifurcation()
        m.submodules.station = ResetInserter(choice.restart)(self._station())
        connect(m, flipped(self.bifurcation), choice.choice)
        agents, chosen = (self._completer, self._originator), self._turns.values()
        offers = [stream.valid for agent in agents for name in agent.sends for stream in getattr(agent, name)]
        inside = [block.moves for block in (*agents, *chosen)]
        m.d.comb += [
            self.used.eq(choice.used),
            self.restart.eq(choice.restart),
            choice.links_down.eq(Cat(status.link_state.as_value()[1] for status in self.dl_status) == 0),
            choice.moves.eq(Cat(self.upli_moves, inside, offers).any()),
        ]
        return m

    def _station(self):
        """All of it, but how many ports are used where that is chosen."""
        m = Module()
        ports, tl, links = self.config.ports, self._tl, self._links
        used = self.used if self.config.choosable_ports else None
        for name, block in (
            ("completer", self._completer),
            ("originator", self._originator),
            ("tl", Interleaver(ports, self.slot, used=used)(tl)),
            ("isolate_request", self._isolate_request),
            *((f"{channel}_turn", turn) for channel, turn in self._turns.items()),
        ):
            if self._separate:
                block = DomainRenamer("upli")(ResetInserter(self.upli_reset)(block))
            m.submodules[name] = block
        m.submodules.links = links
        connect(m, flipped(self.upli_completer), self._completer.upli)
        connect(m, self._originator.upli, flipped(self.upli_originator))
        show(m, self._completer, self.completer_status)
        show(m, self._originator, self.originator_status)
        m.d.comb += [
            self._completer.clear_errors.eq(self.completer_control.clear_errors),
            self._originator.clear_errors.eq(self.originator_control.clear_errors),
        ]

        clock = "upli" if self._separate else "sync"
        domain = m.d[clock]
        sends = self.slot
        if ports > 1:
            slot = Signal(range(ports))
            # What the TL gives in a cycle of a port is sent in the next one: so its place is free in the port's next.
            # Of fewer ports that are used the first cycle after a reset has none that is.
            sends = Signal(range(ports), init=ports - 1)
            domain += [slot.eq(slot + 1 if used is None else slot_after(slot, ports, used)), sends.eq(slot)]
            m.d.comb += self.slot.eq(slot)
        if used is not None:
            m.d.comb += [block.used.eq(copy_of(m, used)) for block in self._ports_used()]
        m.d.comb += [self._completer.slot.eq(sends), self._originator.slot.eq(sends), links.slot.eq(self.slot)]

        turn = turns(m, self.slot, ports, used, domain=clock)
        self._connect_agents(m, turn)
        connect(m, tl.tx_flit, links.tx_flit)
        connect(m, links.rx_flit, tl.rx_flit)
        m.d.comb += [tl.online.eq(links.online), links.tl_error.eq(tl.error)]
        following = slot_after(self.slot, ports, used)
        for name in tl.control.signature.members:
            settings = [getattr(control, name) for control in self.tl_control]
            domain += tell_next(m, getattr(tl.control, name), following, settings)
        self._tell_ports(m, domain, turn)
        self._connect_below(m)
        for name in FIRMWARE_MEMBERS:
            forward_member(m, links, name, getattr(self, f"dl_{name}"))
        for name in self._separate:
            forward_member(m, links, name, getattr(self, name))
        for number, shown in enumerate(self.tl_status):
            if ports == 1:
                show(m, tl.status, shown)
            else:
                with m.If(turn[number]):
                    domain += [getattr(shown, name).eq(getattr(tl.status, name)) for name in shown.signature.members]
        return m

    def _ports_used(self):
        """The rooms that have to know how many ports are used; the others only see cycles of these."""
        return [
            self._completer,
            self._originator,
            *self._turns.values(),
            self._links,
            *([self._reconciliation] if self.config.phy else []),
        ]

    def _connect_below(self, m):
        """The reconciliation sublayer, here or outside."""
        if self.config.phy is None:
            connect(m, self._links.rs, flipped(self.rs))
            return
        m.submodules.reconciliation = rs = self._reconciliation
        m.d.comb += rs.slot.eq(self.rs_slot if self._separate else self.slot)
        connect(m, self._links.rs, rs.dl)
        m.d.comb += [
            self.pcs.tx.valid.eq(rs.pcs.tx.valid),
            self.pcs.tx.p.eq(rs.pcs.tx.p),
            rs.pcs.tx.ready.eq(self.pcs.tx.ready),
            rs.pcs.rx.valid.eq(self.pcs.rx.valid),
            rs.pcs.rx.p.eq(self.pcs.rx.p),
            self.pcs.rx.ready.eq(1),
        ]
        if self.config.phy.choosable_rates:
            m.d.comb += rs.rate.eq(self.rs_rate)
        for number, shown in enumerate(self.rs_status):
            show(m, rs.status[number], shown)

    def _connect_agents(self, m, turn):
        """Queues of the agents hold beats at any time; only the port of this cycle takes and gives one."""
        tl = self._tl
        for agent, received, sent in (
            (self._completer, CHANNELS[:2], CHANNELS[2:]),
            (self._originator, CHANNELS[2:], CHANNELS[:2]),
        ):
            for channel in received:
                sources, sink = getattr(agent, channel), getattr(tl, f"tx_{channel}")
                if not self._turns:
                    connect(m, sources[0], sink)
                    continue
                chosen = self._turns[channel]
                for source, offered in zip(sources, chosen.offered, strict=True):
                    connect(m, source, offered)
                connect(m, chosen.beats, sink)
                m.d.comb += chosen.slot.eq(self.slot)
            for channel in sent:
                source, sinks = getattr(tl, f"rx_{channel}"), getattr(agent, channel)
                if channel == "wr_rsp":
                    source = self._ask_for_isolation(m, source)
                m.d.comb += source.ready.eq(of_turn(turn, [sink.ready for sink in sinks]))
                for here, sink in zip(turn, sinks, strict=True):
                    m.d.comb += [sink.p.eq(source.p), sink.valid.eq(source.valid & here)]

    def _ask_for_isolation(self, m, wr_rsp):
        """``wr_rsp`` of the TL with that of a link that went down."""
        request, tl = self._isolate_request, self._tl
        connect(m, wr_rsp, request.tl)
        m.d.comb += [
            request.slot.eq(self.slot),
            request.down.eq(tl.all_ports_down),
            request.dropping.eq(tl.status.dropping),
        ]
        return request.completer

    def _tell_ports(self, m, domain, turn):
        """What all ports have to hear of, each hears of in its next cycle, before it takes another beat."""
        tl, agents = self._tl, (self._completer, self._originator)
        for name, event in (
            ("control_error", agents[0].control_event | agents[1].control_event),
            ("protocol_error", agents[0].protocol_event | agents[1].protocol_event),
            ("other_down", tl.all_ports_down),
        ):
            owed = Signal(self.config.ports, name=f"{name}_owed")
            m.d.comb += getattr(tl, name).eq(of_turn(turn, owed))
            for here, bit in zip(turn, owed, strict=True):
                # The link that went down is that of the port of this cycle, which knows already.
                told = event & ~here if name == "other_down" else event
                domain += bit.eq(told | (bit & ~here))
