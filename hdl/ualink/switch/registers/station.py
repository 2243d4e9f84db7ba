"""The registers of one station of a switch, and of the core before it, on a bus of their own."""

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.bifurcation import BifurcationSignature
from ualink.config import SwitchConfig
from ualink.csr.interrupts import Interrupts
from ualink.csr.named_windows import NamedWindows
from ualink.csr.table import RegisterMap
from ualink.dl.interface import LinkState
from ualink.lib.forward import forward_member
from ualink.station import AgentControlSignature, AgentStatusSignature
from ualink.station_registers import StationRegisters
from ualink.switch.deny_log import COUNTER_BITS
from ualink.switch.flow import FlowSignature
from ualink.switch.queue_depths import QueueDepths

from .core_block import CoreRegisterBlock
from .core_map import AGENTS
from .flow_block import FlowRegisterBlock
from .injection_block import InjectionRegisterBlock

__all__ = ["StationWindows"]

CORE_MEMBERS = (
    *(f"{agent}_{what}" for agent in AGENTS for what in ("control", "status", "clear", "dropping", "upset")),
    "deny",
)

_OF_PORTS = (
    *(("dl", f"dl_{name}", f"dl_{name}") for name in ("config", "status")),
    *(("dl", f"dl_{name}", name) for name in ("uart_tx", "uart_rx")),
    *(("tl", name, name) for name in ("tl_control", "tl_status")),
    ("rs", "rs_status", "rs"),
    ("rs", "rs_rate", "rate"),
)
"""Kind of block, member of ``Station`` that exists once per port, and the block's member that is joined to it."""


class StationWindows(wiring.Component):
    """What firmware sets and sees of a ``Switch`` at one of its stations.

    Windows follow one another: ``interrupts``, those of ``StationRegisters``, ``core``, ``flow_0`` … of each port, and
    ``injection`` where ``config.injection``. All stations of a switch have the same.

    Parameters
    ----------
    config : of the switch.

    Members
    -------
    bus : to the master, ``BusSignature``.
    irq : an event is set that firmware has enabled; as of ``Interrupts``.
    slot, dl_config, rs_status, deny, … : from and to those of ``Switch`` with these names, of this station.

    Attributes
    ----------
    maps : name and map of each window, in their order.
    parts : names of the members that go to the switch.
    """

    def __init__(self, config: SwitchConfig):
        self._station = StationRegisters(config.station_of_switch)
        self._core = CoreRegisterBlock(config.station.ports, COUNTER_BITS)
        self._blocks = {**self._station.blocks, "core": self._core}
        events = tuple((name, block.registers) for name, block in self._blocks.items())
        self._interrupts = Interrupts(events)
        # These have no events.
        depths = QueueDepths.of_credits(config.station.upli)
        self._flows = [FlowRegisterBlock(depths) for _ in range(config.station.ports)]
        self._quiet: dict[str, Any] = {f"flow_{port}": block for port, block in enumerate(self._flows)}
        if config.injection:
            self._quiet["injection"] = InjectionRegisterBlock(config.station.ports)
        self.maps: tuple[tuple[str, RegisterMap], ...] = (
            ("interrupts", self._interrupts.registers),
            *events,
            *((name, block.registers) for name, block in self._quiet.items()),
        )
        bits = max(table.address_bits for _, table in self.maps)
        self._windows = NamedWindows(bits, self.maps)
        below = _station_members(self._station.blocks, config.station.ports)
        self._members: dict[str, Any] = dict.fromkeys(CORE_MEMBERS, self._core)
        if config.injection:
            self._members["injection"] = self._quiet["injection"]
        core = {name: block.signature.members[name] for name, block in self._members.items()}
        core["flow"] = In(FlowSignature(depths)).array(config.station.ports)
        self.parts = (*below, *core)
        super().__init__({"bus": self._windows.signature.members["bus"], "irq": Out(1), **below, **core})

    def elaborate(self, platform):
        m = Module()
        m.submodules.windows = windows = self._windows
        m.submodules.interrupts = interrupts = self._interrupts
        m.submodules.core_registers = self._core
        connect(m, flipped(self.bus), windows.bus)
        # As the blocks see it, this is the station.
        inside: Any = SimpleNamespace(**{name: _inside(getattr(self, name)) for name in self.parts})
        self._station.bind(m, inside)
        for name, block in self._quiet.items():
            m.submodules[f"{name}_registers"] = block
            connect(m, getattr(windows.windows, name), block.bus)
        for name, block in self._members.items():
            forward_member(m, block, name, getattr(self, name))
        m.d.comb += self._core.link_up.eq(Cat(status.link_state == LinkState.UP for status in self.dl_status))
        for block, flow in zip(self._flows, self.flow):
            connect(m, flipped(flow), block.flow)
        connect(m, windows.windows.interrupts, interrupts.bus)
        m.d.comb += self.irq.eq(interrupts.irq)
        for name, block in self._blocks.items():
            connect(m, getattr(windows.windows, name), block.bus)
            m.d.comb += getattr(interrupts.events, name).eq(block.pending)
        return m


def _station_members(blocks: dict[str, Any], ports: int) -> dict[str, wiring.Member]:
    """Members of ``Station`` that the blocks of ``StationRegisters`` are bound to, seen from these."""
    members: dict[str, wiring.Member] = {"slot": In(2)}
    for kind, outer, inner in _OF_PORTS:
        block = blocks.get(f"{kind}_0")
        if block is not None and inner in block.signature.members:
            members[outer] = block.signature.members[inner].array(ports)
    if "station" in blocks:
        members |= {"bifurcation": Out(BifurcationSignature()), "used": In(3)}
    for agent in ("completer", "originator"):
        members |= {f"{agent}_control": Out(AgentControlSignature()), f"{agent}_status": In(AgentStatusSignature())}
    return members


def _inside(member):
    """``member`` of a component as its submodules see it."""
    if isinstance(member, list):
        return [_inside(one) for one in member]
    return flipped(member) if hasattr(member, "signature") else member
