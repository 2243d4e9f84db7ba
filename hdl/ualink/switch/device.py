"""A switch whose registers are on a bus: the switch as a device integrates it."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from ualink.config import StationConfig, SwitchDeviceConfig
from ualink.csr.banks import RegisterBanks
from ualink.csr.block import RegisterBlock
from ualink.csr.bridge import BusBridge
from ualink.csr.design import DESCRIPTION, RegisterDesign
from ualink.csr.interrupt_lines import InterruptLines
from ualink.csr.named_windows import NamedWindows
from ualink.lib.forward import forward_member
from ualink.station import Station
from ualink.switch.registers.route_block import RouteRegisterBlock
from ualink.switch.registers.station import StationWindows
from ualink.switch.stand_in import StandIn, itself
from ualink.switch.switch import Switch

__all__ = ["SwitchDevice"]


class SwitchDevice(wiring.Component):
    """``Switch`` and all that firmware sets or sees of it on one bus; RS or PCS are ports.

    All is in one clock. Every access is answered; with an error where nothing is. An access takes two cycles more than
    in the window, because the registers of each station stand behind registers of the bus.

    Windows of equal size follow one another: the description of ``RegisterDesign``, ``switch``, ``interrupts``, and
    those of ``StationWindows`` of each station, called ``station_<n>_…``. The interrupt falls when the last of its
    events is cleared, three cycles after the answer at most.

    Parameters
    ----------
    config : the switch and its bus.
    make_station : makes a station of a ``StationConfig``; by default ``Station`` itself.
    stand_in : makes of the registers of a station what stands for them, one for each station; without it they are
        built as often.
    bank_stand_in : ``stand_in`` of ``SwitchCore``.

    Members
    -------
    bus : to firmware: ``AXI4LiteSignature``, ``APBSignature`` or ``BusSignature``.
    irq : 1 bit, reset value 0: an event is set that firmware has enabled.
    rs, pcs, slot : as of ``Station``, one each per station.
    used : as of ``Station``, one per station; only where the number of ports is chosen. The PCS of a station begins
        anew when it changes.
    injection_allowed : 1 bit: injection may be enabled by registers. For the secure firmware alone: a register that
        only it reaches, or a fuse; 0 in mission mode. Exists with ``config.switch.injection``.

    Attributes
    ----------
    registers : all of them, ``RegisterDesign``.
    station_windows : ``StationWindows``, those of the first station, or what ``stand_in`` stands for.
    """

    def __init__(
        self,
        config: SwitchDeviceConfig,
        make_station: Callable[[StationConfig], wiring.Component] = Station,
        stand_in: Callable[[StationWindows], wiring.Component] | None = None,
        bank_stand_in: StandIn = itself,
    ):
        self.config = config
        stations = range(config.switch.stations)
        self._switch = Switch(config.switch, make_station, bank_stand_in)
        self.station_windows = maps = StationWindows(config.switch)
        self._stations: list[Any] = [stand_in(maps) for _ in stations] if stand_in else [maps]
        self._stations += [StationWindows(config.switch) for _ in stations[len(self._stations) :]]
        self._routes = RouteRegisterBlock(config.switch)
        self._interrupts = InterruptLines("station", len(stations))
        own = (("switch", self._routes.registers), ("interrupts", self._interrupts.registers))
        below = tuple((f"station_{n}_{name}", table) for n in stations for name, table in maps.maps)
        self.registers = RegisterDesign("switch", config.clock_hz, (*own, *below))
        bits = self.registers.address_bits
        first = ((DESCRIPTION, self.registers.description), *own)
        self._parts = maps.parts
        self._windows = NamedWindows(bits, first)
        self._banks = RegisterBanks(bits, (len(first), *(len(maps.maps) for _ in stations)))
        words = (len(self.registers.windows) + 1) << bits
        self._bridge = BusBridge(config.bus, len(self._banks.bus.address), words)
        members = self._switch.signature.members
        self._kept = [name for name in ("rs", "pcs", "slot", "used", "injection_allowed") if name in members]
        super().__init__({"bus": self._bridge.member, "irq": Out(1), **{name: members[name] for name in self._kept}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.switch = switch = self._switch
        m.submodules.banks = banks = self._banks
        m.submodules.windows = windows = self._windows
        m.submodules.interrupts = interrupts = self._interrupts
        m.submodules.routes = routes = self._routes
        m.submodules[DESCRIPTION] = description = RegisterBlock(self.registers.description)
        self._bridge.bind(m, flipped(self.bus), banks.bus)
        connect(m, banks.bank_0, windows.bus)
        for window, block in ((DESCRIPTION, description), ("switch", routes), ("interrupts", interrupts)):
            connect(m, getattr(windows.windows, window), block.bus)
        for name in self._kept:
            forward_member(m, switch, name, getattr(self, name))
        for name in ("route_station", "route"):
            forward_member(m, routes, name, getattr(switch, name))
        m.d.comb += [description.here.eq(1), self.irq.eq(interrupts.irq)]
        ports = self.config.switch.station.ports
        for number, registers in enumerate(self._stations):
            m.submodules[f"station_{number}"] = registers
            connect(m, getattr(banks, f"bank_{number + 1}"), registers.bus)
            m.d.comb += interrupts.lines[number].eq(registers.irq)
            for name in self._parts:
                there = getattr(switch, name)
                # The core has one of these for each port, the switch one of all others for each station.
                of_ports = name in ("deny", "flow")
                forward_member(m, registers, name, there[number * ports :][:ports] if of_ports else there[number])
        return m
