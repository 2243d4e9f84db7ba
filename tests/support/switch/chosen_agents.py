"""A station of a switch that is only its UPLI agents, of which it is chosen how many ports they have."""

from amaranth.hdl import Cat, Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from ualink.bifurcation import Bifurcation
from ualink.lib.ports_used import last_port
from ualink.station import Station
from ualink.upli.channels import CHANNEL_LAYOUTS, beat_stream
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

__all__ = ["ChosenAgents"]


class ChosenAgents(wiring.Component):
    """Its two agents alone: ``link_…`` of each port are beats that come over its link, those that go there are taken.
    ``up`` : a link is up. ``holds`` : a bit per port, its link takes no Request."""

    def __init__(self, config):
        members = dict(Station(config).signature.members)
        links = {f"link_{channel}": In(beat_stream(channel)).array(config.ports) for channel in CHANNEL_LAYOUTS}
        self.config = config
        super().__init__({**members, **links, "up": In(1), "holds": In(4)})

    def elaborate(self, platform):
        m = Module()
        inside, ports = Module(), self.config.ports
        inside.submodules.originator = originator = Originator(self.config.upli, ports, choosable=True)
        inside.submodules.completer = completer = Completer(self.config.upli, ports, choosable=True)
        slot = Signal(2)
        inside.d.sync += slot.eq((slot + 1) & last_port(self.used))
        m.submodules.choice = choice = Bifurcation()
        m.submodules.inside = ResetInserter(choice.restart)(inside)
        connect(m, flipped(self.bifurcation), choice.choice)
        connect(m, originator.upli, flipped(self.upli_originator))
        connect(m, flipped(self.upli_completer), completer.upli)
        offers = []
        for channel in CHANNEL_LAYOUTS:
            sends, takes = (originator, completer) if channel in ("req", "orig_data") else (completer, originator)
            for port in range(ports):
                comes = getattr(self, f"link_{channel}")[port]
                connect(m, flipped(comes), getattr(sends, channel)[port])
                holds = self.holds[port] if channel == "req" else 0
                m.d.comb += getattr(takes, channel)[port].ready.eq(~holds)
                offers.append(comes.valid)
        m.d.comb += [
            self.used.eq(choice.used),
            self.restart.eq(choice.restart),
            self.slot.eq(slot),
            choice.links_down.eq(~self.up),
            choice.moves.eq(Cat(self.upli_moves, originator.moves, completer.moves, offers).any()),
            *(agent.slot.eq(slot) for agent in (originator, completer)),
            *(agent.used.eq(self.used) for agent in (originator, completer)),
        ]
        return m
