"""One UALink station: UPLI agents, and TL and DL of its one, two or four ports, as one 64-byte-per-cycle pipeline."""

from amaranth.hdl import EnableInserter, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import StationConfig
from ualink.lib.forward import show
from ualink.phy.interface import RSSignature
from ualink.port import CHANNELS, Port
from ualink.upli.channels import UPLISignature
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

__all__ = ["AgentStatusSignature", "Station"]


class AgentStatusSignature(wiring.Signature):
    """A UPLI agent as firmware sees it.

    Members
    -------
    connected : both directions of the interface are open.
    data_error, control_error, protocol_error : an error of that class was seen since reset (UALink_200 §3.1.2).
    """

    def __init__(self):
        super().__init__({name: Out(1) for name in ("connected", "data_error", "control_error", "protocol_error")})


class Station(wiring.Component):
    """A UALink stack component down to the reconciliation sublayer (UALink_200 §1.3, §2.2, §2.5).

    Every cycle belongs to one port of the station, in turn: a x4 station has port 0 always, 2 x x2 has 0, 1, 0, 1, …
    and 4 x x1 has 0, 1, 2, 3, …. Each port's TL and DL advance in the port's own cycles only.

    Attributes
    ----------
    upli_completer : the interface to the local UPLI Originator; here stands its Completer.
    upli_originator : the interface to the local UPLI Completer; here stands its Originator.
    rs : the reconciliation sublayer; a beat for port p is taken and given in the cycles of port p.
    slot : the port that this cycle belongs to.
    dl_config, dl_status, tl_status : one each per port.
    completer_status, originator_status : status of the two agents.
    """

    def __init__(self, config: StationConfig):
        self.config = config
        self._completer = Completer(config.upli, config.ports)
        self._originator = Originator(config.upli, config.ports)
        self._ports = [Port(config) for _ in range(config.ports)]
        members = self._ports[0].signature.members
        super().__init__(
            {
                "upli_completer": In(UPLISignature()),
                "upli_originator": Out(UPLISignature()),
                "rs": Out(RSSignature()),
                "slot": Out(2),
                **{name: members[name].array(config.ports) for name in ("dl_config", "dl_status", "tl_status")},
                "completer_status": Out(AgentStatusSignature()),
                "originator_status": Out(AgentStatusSignature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.completer = completer = self._completer
        m.submodules.originator = originator = self._originator
        connect(m, flipped(self.upli_completer), completer.upli)
        connect(m, originator.upli, flipped(self.upli_originator))
        show(m, completer, self.completer_status)
        show(m, originator, self.originator_status)

        if self.config.ports > 1:
            slot = Signal(range(self.config.ports))
            m.d.sync += slot.eq(slot + 1)
            m.d.comb += self.slot.eq(slot)
        m.d.comb += [completer.slot.eq(self.slot), originator.slot.eq(self.slot)]

        m.d.comb += self.rs.rx.ready.eq(1)
        for number, port in enumerate(self._ports):
            here = Signal(name=f"here_{number}")
            m.d.comb += here.eq(self.slot == number)
            m.submodules[f"port{number}"] = port if self.config.ports == 1 else EnableInserter(here)(port)
            self._connect_agents(m, number, port, here)
            self._connect_rs(m, number, port, here)
            for name in ("dl_config", "dl_status", "tl_status"):
                connect(m, flipped(getattr(self, name)[number]), getattr(port, name))
        return m

    def _connect_agents(self, m, number, port, here):
        """Queues of the agents hold beats at any time; a port that stands still in this cycle must not take one."""
        completer, originator = m.submodules.completer, m.submodules.originator
        for agent, received, sent in (
            (completer, CHANNELS[:2], CHANNELS[2:]),
            (originator, CHANNELS[2:], CHANNELS[:2]),
        ):
            for channel in received:
                source, sink = getattr(agent, channel)[number], getattr(port, f"tx_{channel}")
                m.d.comb += [
                    sink.payload.eq(source.payload),
                    sink.valid.eq(source.valid),
                    source.ready.eq(sink.ready & here),
                ]
            for channel in sent:
                connect(m, getattr(port, f"rx_{channel}"), getattr(agent, channel)[number])

    def _connect_rs(self, m, number, port, here):
        m.d.comb += [
            port.tx.ready.eq(self.rs.tx.ready),
            port.rx.payload.eq(self.rs.rx.payload),
            port.rx.valid.eq(self.rs.rx.valid & (self.rs.rx.payload.port == number)),
            port.local_fault.eq(self.rs.local_fault[number]),
            port.remote_fault.eq(self.rs.remote_fault[number]),
        ]
        with m.If(here):
            m.d.comb += [
                self.rs.tx.valid.eq(port.tx.valid),
                self.rs.tx.payload.eq(port.tx.payload),
                self.rs.tx.payload.port.eq(number),
            ]
