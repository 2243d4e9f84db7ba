"""The hardware of a simulated pod: controllers of accelerators and a switch, all RTL; wires between them are the
bench's."""

from collections.abc import Callable
from types import SimpleNamespace

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ualink.config import ControllerConfig, StationConfig, SwitchConfig, SwitchDeviceConfig
from ualink.controller import Controller
from ualink.lib.forward import forward
from ualink.station import Station
from ualink.switch.device import SwitchDevice
from ualink.switch.registers.station import StationWindows
from ualink.switch.stand_in import StandIn, itself

from .engine.ports import EngineSignature, devices_of, engine_ports

__all__ = ["PodTop", "make_controller", "make_switch"]

MakeStation = Callable[[StationConfig], wiring.Component]


def make_controller(config: SwitchConfig, make_station: MakeStation = Station) -> Controller:
    """The controller of each accelerator of a pod whose switch is one of ``config``."""
    return Controller(ControllerConfig(bus="native", station=config.station), make_station)


def make_switch(
    config: SwitchConfig,
    make_station: MakeStation = Station,
    stand_in: Callable[[StationWindows], wiring.Component] | None = None,
    bank_stand_in: StandIn = itself,
) -> SwitchDevice:
    """The switch of a pod; ``stand_in`` and ``bank_stand_in`` as of ``SwitchDevice``."""
    return SwitchDevice(SwitchDeviceConfig(bus="native", switch=config), make_station, stand_in, bank_stand_in)


class PodTop(wiring.Component):
    """``controllers`` (``acc[i]``), which are alike, and a ``switch`` (``sw``), side by side in one clock domain.

    Where ``engine_ports`` finds any, ``engine`` is there, which drives UPLI and RS.

    Attributes
    ----------
    ports : what the engine sees and drives; None without one.

    Members
    -------
    acc, sw : as of the components.
    engine : ``EngineSignature``.
    """

    def __init__(self, controllers: list[wiring.Component], switch: wiring.Component):
        self._controllers, self._switch = controllers, switch
        self._devices = devices_of(controllers[0].signature, len(controllers), switch.signature)
        self.ports = engine_ports(self._devices)
        super().__init__({**self._devices.members, **({"engine": Out(EngineSignature())} if self.ports else {})})

    def elaborate(self, platform):
        m = Module()
        inner = SimpleNamespace(acc=self._controllers, sw=self._switch)
        for number, controller in enumerate(self._controllers):
            m.submodules[f"acc{number}"] = controller
            forward(m, controller, self.acc[number])
        m.submodules.sw = self._switch
        forward(m, self._switch, self.sw)
        if self.ports:
            m.submodules.engine = engine = self.ports.engine(self.engine)
            m.d.comb += [part.eq(shown) for part, shown in zip(engine.shown, self.ports.shown_of(inner))]
            with m.If(self.engine.go):
                m.d.comb += self.ports.drive(inner, engine.driven)
        return m
