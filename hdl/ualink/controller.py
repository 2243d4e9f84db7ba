"""A station whose registers are on a bus: the controller as a device integrates it."""

from collections.abc import Callable

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import Out, connect, flipped

from ualink.config import ControllerConfig, StationConfig
from ualink.csr.bridge import BusBridge
from ualink.csr.crossing import BusCrossing
from ualink.csr.described import DescribedWindows
from ualink.csr.design import RegisterDesign
from ualink.csr.interrupts import Interrupts
from ualink.lib.forward import forward_member
from ualink.station import Station
from ualink.station_registers import StationRegisters

__all__ = ["Controller"]

STATION_MEMBERS = (
    *("upli_completer", "upli_originator", "rs", "pcs", "slot", "rs_slot", "upli_reset"),
    *("used", "restart", "upli_moves"),
)
CLOCK_GENERATOR = ("use_reference", "on_reference", "pll_program", "pll_rate", "pll_ready")


class Controller(wiring.Component):
    """``Station`` and all that firmware sets or sees of it on one bus; UPLI, RS or PCS and clocks are ports.

    The bus is in domain "sync", and so are all windows but those of TL and UPLI agents where ``config`` gives these a
    clock of their own: there a ``BusCrossing`` stands before each, and each event that interrupts comes from there
    through two registers. Every access is answered; with an error where nothing is, and after 1,024 cycles where that
    clock stands still.

    Windows of equal size follow one another: the description of ``RegisterDesign``, ``interrupts``, and those of
    ``StationRegisters``. The interrupt falls when the last of its events is cleared, two cycles after the answer at
    most, and some cycles of both clocks later where the event crosses clocks.

    Parameters
    ----------
    config : the station and its bus.
    make_station : makes a station of a ``StationConfig``; by default ``Station`` itself.

    Members
    -------
    bus : to firmware, in the clock of the DL: ``AXI4LiteSignature``, ``APBSignature`` or ``BusSignature``.
    irq : 1 bit, reset value 0, in the clock of the DL: an event is set that firmware has enabled.
    upli_completer, upli_originator, rs, pcs, slot : as of ``Station``.
    rs_slot : (*) the port that this cycle belongs to on the side of the RS.
    upli_reset, upli_clock_… : (*) as of ``Station``.

    used, restart, upli_moves : as of ``Station``; only where the number of ports is chosen.

    Those marked (*) exist only where UPLI has a clock of its own.
    """

    def __init__(self, config: ControllerConfig, make_station: Callable[[StationConfig], wiring.Component] = Station):
        self.config = config
        self._station = make_station(config.station)
        self._blocks = StationRegisters(config.station)
        maps = tuple(self._blocks.maps.items())
        self._interrupts = Interrupts(maps)
        windows = (("interrupts", self._interrupts.registers), *maps)
        self.registers = RegisterDesign("controller", config.clock_hz, windows)
        self._windows = DescribedWindows(self.registers)
        words = (len(windows) + 1) << self.registers.address_bits
        self._bridge = BusBridge(config.bus, len(self._windows.bus.address), words)
        members = self._station.signature.members
        names = (*STATION_MEMBERS, *(f"upli_clock_{name}" for name in CLOCK_GENERATOR))
        self._kept = [name for name in names if name in members]
        super().__init__({"bus": self._bridge.member, "irq": Out(1), **{name: members[name] for name in self._kept}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.station = station = self._station
        m.submodules.windows = windows = self._windows
        m.submodules.interrupts = interrupts = self._interrupts
        self._bridge.bind(m, flipped(self.bus), windows.bus)
        for name in self._kept:
            forward_member(m, station, name, getattr(self, name))
        self._blocks.bind(m, station)
        connect(m, windows.windows.interrupts, interrupts.bus)
        m.d.comb += self.irq.eq(interrupts.irq)
        for name, block in self._blocks.blocks.items():
            bus, event = getattr(windows.windows, name), getattr(interrupts.events, name)
            domain = self._blocks.domain(name)
            if domain == "sync":
                connect(m, bus, block.bus)
                m.d.comb += event.eq(block.pending)
            else:
                crossing = BusCrossing(len(bus.address), domain)
                m.submodules[f"{name}_crossing"] = crossing
                connect(m, bus, crossing.bus)
                connect(m, crossing.far, block.bus)
                m.submodules[f"{name}_events"] = FFSynchronizer(block.pending, event)
        return m
