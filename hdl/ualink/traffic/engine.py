"""A traffic engine: source, responder and checker before a station."""

from amaranth.hdl import Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.table import BusSignature
from ualink.traffic.config import TrafficConfig
from ualink.traffic.register_block import TrafficRegisterBlock
from ualink.traffic.requester import SERVICE, Requester
from ualink.traffic.responder import Responder
from ualink.upli.calendar import Calendar
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

__all__ = ["TrafficEngine"]


class TrafficEngine(wiring.Component):
    """Asks for memory over one UPLI interface and answers for its own over another, as an accelerator does.

    Connect ``originator`` to ``upli_completer`` of a ``Station`` and ``completer`` to its ``upli_originator``. Of a
    station with several ports the engine uses the one that ``identity.port`` names, in the slots of that port. Requests
    and Responses share nothing, so that no Response waits for a Request.

    A Request is on the interface two cycles after the Originator has taken it, later if it waits for credits, and a
    Response is matched two cycles after it was there. Latencies count from the one to the other: four cycles more than
    lie between the Request and the last beat of its Response on the interface, and the time for which it waited.

    The engine measures and has no Isolation Mode: what the fabric has lost is given up after ``settings.time_out``.

    Attributes
    ----------
    originator : UPLI of the source.
    completer : UPLI of the responder.
    bus : registers, ``traffic_registers(config)``.
    """

    def __init__(self, config: TrafficConfig | None = None):
        self.config = config = config or TrafficConfig()
        self._originator = Originator(config.upli, config.ports)
        self._completer = Completer(config.upli, config.ports)
        self._registers = TrafficRegisterBlock(config)
        super().__init__(
            {
                "originator": Out(self._originator.upli.signature),
                "completer": In(self._originator.upli.signature),
                "bus": In(BusSignature(self.registers.address_bits)),
            }
        )

    @property
    def registers(self):
        """The register map."""
        return self._registers.registers

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.originator, m.submodules.completer = originator, completer = self._originator, self._completer
        m.submodules.calendar = calendar = Calendar(config.ports)
        m.submodules.requester = requester = Requester(config)
        m.submodules.responder = responder = Responder(config.memory_lines)
        m.submodules.registers = registers = self._registers
        connect(m, originator.upli, flipped(self.originator))
        connect(m, flipped(self.completer), completer.upli)
        connect(m, flipped(self.bus), registers.bus)

        settings = registers.settings
        m.d.comb += [
            originator.slot.eq(calendar.slot),
            completer.slot.eq(calendar.slot),
            responder.own.eq(settings.own),
            responder.decode.eq(settings.decode),
            registers.originator_connected.eq(originator.connected),
            registers.completer_connected.eq(completer.connected),
        ]
        connect(m, settings, requester.settings)
        for name in ("start", "clear", "index"):
            m.d.comb += getattr(requester, name).eq(getattr(registers, name))
        for name in ("done", "cleared", "busy", "outstanding", "lost", "count"):
            m.d.comb += getattr(registers, name).eq(getattr(requester, name))
        connect(m, requester.statistics, registers.statistics)
        for name, agent in (("originator", originator), ("completer", completer)):
            for kind in ("data", "control", "protocol"):
                m.d.comb += getattr(registers, f"{name}_{kind}").eq(getattr(agent, f"{kind}_event"))
        for name in SERVICE:
            m.d.comb += requester.served[name].eq(getattr(responder, name.removesuffix("_requests")))

        for block, agent, sent, received in (
            (requester, originator, ("req", "orig_data"), ("rd_rsp", "wr_rsp")),
            (responder, completer, ("rd_rsp", "wr_rsp"), ("req", "orig_data")),
        ):
            for channel in sent:
                _to_port(m, settings.port, getattr(block, channel), getattr(agent, channel))
            for channel in received:
                _from_port(m, settings.port, getattr(agent, channel), getattr(block, channel))
        return m


def _to_port(m, port, source, sinks):
    for number, sink in enumerate(sinks):
        here = port == number if len(sinks) > 1 else Const(1)
        m.d.comb += [sink.p.eq(source.p), sink.valid.eq(source.valid & here)]
        with m.If(here):
            m.d.comb += source.ready.eq(sink.ready)


def _from_port(m, port, sources, sink):
    for number, source in enumerate(sources):
        here = port == number if len(sources) > 1 else Const(1)
        m.d.comb += source.ready.eq(sink.ready & here)
        with m.If(here):
            m.d.comb += [sink.p.eq(source.p), sink.valid.eq(source.valid)]
