"""A station of a switch that is only its UPLI agents, for tests of what is around it."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.station import Station
from ualink.upli.calendar import Calendar
from ualink.upli.channels import CHANNEL_LAYOUTS, beat_stream
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

__all__ = ["Agents"]


class Agents(wiring.Component):
    """A station that is only its two UPLI agents: ``link_…`` of each port are beats that come over its link.

    ``into_link`` tells of beats that go there, a bit per channel and port, ports of a channel side by side; ``flip``
    upsets the parity of a Request on its way to the core. ``met`` tells which errors the agents have met, Data and
    Control of the Completer, then those of the Originator.
    """

    def __init__(self, config):
        members = dict(Station(config).signature.members)
        links = {f"link_{channel}": In(beat_stream(channel)).array(config.ports) for channel in CHANNEL_LAYOUTS}
        self.config = config
        super().__init__({**members, **links, "into_link": Out(4 * config.ports), "flip": In(1), "met": Out(4)})

    def elaborate(self, platform):
        m = Module()
        ports = self.config.ports
        m.submodules.originator = originator = Originator(self.config.upli, ports)
        m.submodules.completer = completer = Completer(self.config.upli, ports)
        m.submodules.calendar = calendar = Calendar(ports)
        connect(m, originator.upli, flipped(self.upli_originator))
        connect(m, flipped(self.upli_completer), completer.upli)
        m.d.comb += [
            self.slot.eq(calendar.slot),
            originator.slot.eq(calendar.slot),
            completer.slot.eq(calendar.slot),
            self.upli_originator.req.parity.eq(originator.upli.req.parity ^ self.flip),
            self.met.eq(
                Cat(completer.data_error, completer.control_error, originator.data_error, originator.control_error)
            ),
        ]
        for place, channel in enumerate(CHANNEL_LAYOUTS):
            sends, takes = (originator, completer) if channel in ("req", "orig_data") else (completer, originator)
            for port in range(ports):
                connect(m, flipped(getattr(self, f"link_{channel}")[port]), getattr(sends, channel)[port])
                came = getattr(takes, channel)[port]
                m.d.comb += [came.ready.eq(1), self.into_link[ports * place + port].eq(came.valid)]
        return m
