"""What a device does with beats, without a link: a Completer and an Originator inside hand them to each other."""

from amaranth.hdl import Elaboratable, Module, ResetInserter, Signal
from amaranth.lib.wiring import connect

from ualink.upli.calendar import Calendar
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

__all__ = ["Relay"]


class Relay(Elaboratable):
    """``originator`` and ``completer``, to which ``Traffic`` goes, and between them the agents of a device, ``inside``:
    its Completer ``near`` faces the Originator and its Originator ``far`` the Completer.

    Beats keep their code inside only. Agents that are ``choosable`` are built for four ports.
    """

    def __init__(self, config, ports, *, choosable=False):
        self.ports = ports
        self.originator, self.completer = Originator(config, ports), Completer(config, ports)
        inside = {"coded": True, "choosable": choosable}
        self.near, self.far = (kind(config, 4 if choosable else ports, **inside) for kind in (Completer, Originator))
        self.inside = self.near, self.far
        self.reset = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.calendar = calendar = Calendar(self.ports)
        for name in ("originator", "near", "far", "completer"):
            agent = getattr(self, name)
            m.submodules[name] = ResetInserter(self.reset)(agent)
            m.d.comb += agent.slot.eq(calendar.slot)
            if agent.choosable:
                m.d.comb += agent.used.eq(self.ports)
        connect(m, self.originator.upli, self.near.upli)
        connect(m, self.far.upli, self.completer.upli)
        for source, sink in (self.inside, self.inside[::-1]):
            for channel in source.receives:
                for given, taken in zip(getattr(source, channel), getattr(sink, channel), strict=True):
                    connect(m, given, taken)
        return m
