"""RTL Completer and Originator joined by their inner streams: what the bus models are plugged into."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import Credits, UPLIConfig
from ualink.lib.forward import forward
from ualink.upli.calendar import Calendar
from ualink.upli.channels import UPLISignature
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

CONFIG = UPLIConfig(
    req=Credits(pool=3, vc=(1, 0, 1, 0)),
    orig_data=Credits(pool=4, vc=(2, 1, 0, 3)),
    rd_rsp=Credits(pool=4, vc=(1, 2, 0, 1)),
    wr_rsp=Credits(pool=2, vc=(0, 0, 1, 0)),
)
"""Few credits of both classes, so that senders run out of them."""


class Relay(wiring.Component):
    """Passes what the Completer receives on to the Originator, and the Responses back; no cycle has two ports.

    ``skew`` is the port whose slot comes first in the groups of the Completer; ``connected`` and ``errors`` are those
    of the Completer and, one bit up, of the Originator.
    """

    def __init__(self, ports: int):
        self.ports = ports
        super().__init__(
            {
                "completer": In(UPLISignature()),
                "originator": Out(UPLISignature()),
                "skew": In(2),
                "connected": Out(2),
                "errors": Out(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.completer = completer = Completer(CONFIG, self.ports)
        m.submodules.originator = originator = Originator(CONFIG, self.ports)
        m.submodules.calendar = calendar = Calendar(self.ports)
        wiring.connect(m, wiring.flipped(self.completer), completer.upli)
        wiring.connect(m, originator.upli, wiring.flipped(self.originator))
        for port in range(self.ports):
            for name in ("req", "orig_data"):
                wiring.connect(m, getattr(completer, name)[port], getattr(originator, name)[port])
            for name in ("rd_rsp", "wr_rsp"):
                wiring.connect(m, getattr(originator, name)[port], getattr(completer, name)[port])
        m.d.comb += [
            completer.connect.eq(1),
            originator.connect.eq(1),
            originator.slot.eq(calendar.slot),
            completer.slot.eq((calendar.slot + self.skew) & (self.ports - 1)),
        ]
        for number, agent in enumerate((completer, originator)):
            wrong = agent.data_error | agent.control_error | agent.protocol_error
            m.d.comb += [self.connected[number].eq(agent.connected), self.errors[number].eq(wrong)]
        return m


class AgentsTop(wiring.Component):
    """One ``Relay`` of 1, 2 and 4 ports each, ``x1``, ``x2`` and ``x4``."""

    def __init__(self):
        self._relays = {f"x{ports}": Relay(ports) for ports in (1, 2, 4)}
        super().__init__({name: Out(relay.signature) for name, relay in self._relays.items()})

    def elaborate(self, platform):
        m = Module()
        for name, relay in self._relays.items():
            m.submodules[name] = relay
            forward(m, relay, getattr(self, name))
        return m
