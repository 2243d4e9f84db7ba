"""The registers of the switch core at one station."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.table import BusSignature
from ualink.station import AgentControlSignature, AgentStatusSignature
from ualink.switch.deny_log import DenyStatusSignature
from ualink.switch.mend import UPSET_LAYOUT

from .core_map import AGENTS, core_registers

__all__ = ["CoreRegisterBlock"]

_ERRORS = ("data", "control", "protocol")


class CoreRegisterBlock(wiring.Component):
    """What firmware sets and sees of a ``Switch`` at one of its stations, at the addresses of ``core_registers``.

    Parameters
    ----------
    ports : of the station.
    counter_bits : of the deny counters.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    pending : the events that are set, as of ``RegisterBlock``.
    ingress_control, ingress_status, ingress_clear, ingress_dropping, ingress_upset : the core's Completer before the
        station.
    egress_control, egress_status, egress_clear, egress_dropping, egress_upset : the core's Originator before the
        station.
    deny : ``DenyStatusSignature`` of each ingress port.
    link_up : a bit for each port, its link is up.
    """

    def __init__(self, ports: int, counter_bits: int):
        self.registers = core_registers(ports, counter_bits)
        self._block = RegisterBlock(self.registers)
        agents: dict[str, wiring.Member] = {}
        for agent in AGENTS:
            agents |= {
                f"{agent}_control": Out(AgentControlSignature()),
                f"{agent}_status": In(AgentStatusSignature()),
                f"{agent}_clear": Out(1),
                f"{agent}_dropping": In(1),
                f"{agent}_upset": In(UPSET_LAYOUT),
            }
        super().__init__(
            {
                "bus": In(BusSignature(self.registers.address_bits)),
                "pending": Out(self.registers.event_bits),
                **agents,
                "deny": In(DenyStatusSignature(counter_bits)).array(ports),
                "link_up": In(ports),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = self._block
        connect(m, flipped(self.bus), block.bus)
        m.d.comb += [block.here.eq(1), self.pending.eq(block.pending)]
        for agent in AGENTS:
            self._bind_agent(m, agent)
        was_up = Signal.like(self.link_up)
        m.d.sync += was_up.eq(self.link_up)
        for port in range(len(was_up)):
            m.d.comb += [
                getattr(block.link_events, f"up_{port}").eq(self.link_up[port] & ~was_up[port]),
                getattr(block.link_events, f"down_{port}").eq(~self.link_up[port] & was_up[port]),
            ]
        for port, log in enumerate(self.deny):
            count, last, clear = (getattr(block, f"{n}_{port}") for n in ("denied", "last_denied", "deny_clear"))
            counted = Signal(name=f"counted_{port}")
            # What is counted in the cycle after `clear` is new, whatever was counted before.
            m.d.sync += counted.eq((log.count != 0) & ~log.clear)
            m.d.comb += [
                count.count.eq(log.count),
                last.source.eq(log.src_phys_acc_id),
                last.destination.eq(log.dst_phys_acc_id),
                last.kind.eq(Value.cast(log.kind)),
                log.clear.eq(clear.start),
                clear.start_done.eq(1),
                getattr(block.denied_events, f"port_{port}").eq((log.count != 0) & ~counted),
            ]
        return m

    def _bind_agent(self, m, agent):
        block, shown = self._block, getattr(self, f"{agent}_status")
        status, events = getattr(block, f"{agent}_status"), getattr(block, f"{agent}_events")
        clear, clear_drop = getattr(block, f"{agent}_clear"), getattr(block, f"{agent}_clear_drop")
        dropping, before = getattr(self, f"{agent}_dropping"), Signal(name=f"{agent}_dropping_before")
        # An error in the cycle of `clear`, or in the next, enters again, though `dropping` never falls.
        m.d.sync += before.eq(dropping & ~clear_drop.start)
        m.d.comb += [
            status.connected.eq(shown.connected),
            status.dropping.eq(dropping),
            events.drop_mode.eq(dropping & ~before),
            getattr(self, f"{agent}_control").clear_errors.eq(clear.start),
            events.core_control_error.eq(getattr(self, f"{agent}_upset").control),
            events.core_data_error.eq(getattr(self, f"{agent}_upset").data),
            getattr(self, f"{agent}_clear").eq(clear_drop.start),
            clear.start_done.eq(1),
            clear_drop.start_done.eq(1),
        ]
        for kind in _ERRORS:
            m.d.comb += [
                getattr(status, f"{kind}_error").eq(getattr(shown, f"{kind}_error")),
                getattr(events, f"{kind}_error").eq(getattr(shown, f"{kind}_event")),
            ]
