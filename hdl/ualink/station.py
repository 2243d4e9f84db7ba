"""One UALink station: UPLI agents, and TL and DL of its one, two or four ports, as one 64-byte-per-cycle pipeline."""

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from ualink.config import StationConfig
from ualink.lib.forward import show
from ualink.lib.interleave import Interleaver
from ualink.phy.interface import RSSignature
from ualink.port import CHANNELS, Port
from ualink.upli.channels import UPLISignature
from ualink.upli.completer import Completer
from ualink.upli.originator import Originator

__all__ = ["PORT_MEMBERS", "AgentStatusSignature", "Station"]

PORT_MEMBERS = ("dl_uart_tx", "dl_uart_rx", "dl_config", "dl_status", "tl_status")
"""Members of a port that a station shows once per port."""


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
    and 4 x x1 has 0, 1, 2, 3, …. The ports share one TL and DL, which remember everything once per port and advance
    in the port's own cycles only.

    Attributes
    ----------
    upli_completer : the interface to the local UPLI Originator; here stands its Completer.
    upli_originator : the interface to the local UPLI Completer; here stands its Originator.
    rs : the reconciliation sublayer; a beat for port p is taken and given in the cycles of port p.
    slot : the port that this cycle belongs to.
    dl_uart_tx, dl_uart_rx : what firmware writes and reads, per port; they move in the cycles of the port only.
    dl_config, dl_status, tl_status : one each per port. Pulses last from one cycle of the port to the next.
    completer_status, originator_status : status of the two agents.
    """

    def __init__(self, config: StationConfig):
        self.config = config
        self._completer = Completer(config.upli, config.ports)
        self._originator = Originator(config.upli, config.ports)
        self._port = Port(config)
        members = self._port.signature.members
        super().__init__(
            {
                "upli_completer": In(UPLISignature()),
                "upli_originator": Out(UPLISignature()),
                "rs": Out(RSSignature()),
                "slot": Out(2),
                **{name: members[name].array(config.ports) for name in PORT_MEMBERS},
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

        m.submodules.port = Interleaver(self.config.ports, self.slot)(self._port)
        self._connect_agents(m)
        self._connect_rs(m)
        self._connect_firmware(m)
        return m

    def _now(self, values):
        """That of ``values``, one per port, which belongs to the port of this cycle."""
        values = [Value.cast(value) for value in values]
        return values[0] if len(values) == 1 else Array(values)[self.slot[: ceil_log2(len(values))]]

    def _connect_agents(self, m):
        """Queues of the agents hold beats at any time; only the port of this cycle takes and gives one."""
        port = self._port
        for agent, received, sent in (
            (self._completer, CHANNELS[:2], CHANNELS[2:]),
            (self._originator, CHANNELS[2:], CHANNELS[:2]),
        ):
            for channel in received:
                sources, sink = getattr(agent, channel), getattr(port, f"tx_{channel}")
                m.d.comb += [
                    Value.cast(sink.payload).eq(self._now([source.payload for source in sources])),
                    sink.valid.eq(self._now([source.valid for source in sources])),
                ]
                for number, source in enumerate(sources):
                    m.d.comb += source.ready.eq(sink.ready & (self.slot == number))
            for channel in sent:
                source, sinks = getattr(port, f"rx_{channel}"), getattr(agent, channel)
                m.d.comb += source.ready.eq(self._now([sink.ready for sink in sinks]))
                for number, sink in enumerate(sinks):
                    m.d.comb += [sink.payload.eq(source.payload), sink.valid.eq(source.valid & (self.slot == number))]

    def _connect_rs(self, m):
        """A beat that comes outside the cycles of its port is none."""
        port = self._port
        m.d.comb += [
            self.rs.rx.ready.eq(1),
            port.rx.payload.eq(self.rs.rx.payload),
            port.rx.valid.eq(self.rs.rx.valid & (self.rs.rx.payload.port == self.slot)),
            port.tx.ready.eq(self.rs.tx.ready),
            self.rs.tx.valid.eq(port.tx.valid),
            self.rs.tx.payload.eq(port.tx.payload),
            self.rs.tx.payload.port.eq(self.slot),
            port.local_fault.eq(self._now(self.rs.local_fault[: self.config.ports])),
            port.remote_fault.eq(self._now(self.rs.remote_fault[: self.config.ports])),
        ]

    def _connect_firmware(self, m):
        """Firmware sees the status of every port at any time: of several ports as it was in their last cycle."""
        port = self._port
        m.d.comb += [
            port.dl_uart_tx.valid.eq(self._now([tx.valid for tx in self.dl_uart_tx])),
            port.dl_uart_tx.payload.eq(self._now([tx.payload for tx in self.dl_uart_tx])),
            port.dl_uart_rx.ready.eq(self._now([rx.ready for rx in self.dl_uart_rx])),
        ]
        for number, (tx, rx) in enumerate(zip(self.dl_uart_tx, self.dl_uart_rx)):
            here = self.slot == number
            m.d.comb += [
                tx.ready.eq(port.dl_uart_tx.ready & here),
                rx.valid.eq(port.dl_uart_rx.valid & here),
                rx.payload.eq(port.dl_uart_rx.payload),
            ]
        for name in port.dl_config.signature.members:
            settings = [getattr(config, name) for config in self.dl_config]
            m.d.comb += Value.cast(getattr(port.dl_config, name)).eq(self._now(settings))
        for status, shown in ((port.dl_status, self.dl_status), (port.tl_status, self.tl_status)):
            for number in range(self.config.ports):
                for name in status.signature.members:
                    now = getattr(shown[number], name).eq(getattr(status, name))
                    if self.config.ports == 1:
                        m.d.comb += now
                    else:
                        with m.If(self.slot == number):
                            m.d.sync += now
