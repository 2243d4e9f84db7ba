"""A switch of two stations, and an accelerator at each: two accelerator sides whose cables end in the switch."""

from pathlib import Path

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from support.controller_pair_top import CABLE_CYCLES, CABLE_LAYOUT, SIDES, STATION, AcceleratorSide, controller_config
from ualink.config import SwitchConfig, SwitchDeviceConfig
from ualink.emit.blackbox import Blackbox
from ualink.emit.verilog import to_verilog
from ualink.lib.forward import forward_member
from ualink.phy.interface import SlotStatus, TxKind
from ualink.station import Station
from ualink.switch.device import SwitchDevice
from ualink_sim.simulator import Model, build_once

__all__ = ["BUS", "SwitchPairTop", "build_switch_pair", "switch_config"]

BUS = "apb"
STRUCK = ("to_completer", "to_originator", "to_tl_originator")
"""Members of a side that strike wires; here nothing is struck."""


def switch_config() -> SwitchDeviceConfig:
    """Stations like those of the accelerators."""
    return SwitchDeviceConfig(bus=BUS, switch=SwitchConfig(stations=2, route_entries=8, station=STATION))


class SwitchPairTop(wiring.Component):
    """Side "a" is at station 0 of the switch, side "b" at station 1.

    Members
    -------
    switch_bus, switch_irq : as of ``SwitchDevice``.
    <side>_bus, <side>_irq … : as of ``AcceleratorSide``, all but its RS.
    cut : a bit per side; both directions of its cable are cut, which each receiver sees as a Local Fault.
    """

    def __init__(self, sides: list[wiring.Component], switch: wiring.Component):
        self._sides, self._switch = dict(zip(SIDES, sides)), switch
        self._shown = [name for name in sides[0].signature.members if name not in ("rs", "slot", *STRUCK)]
        members: dict[str, wiring.Member] = {"cut": In(len(SIDES))}
        members |= {f"switch_{name}": switch.signature.members[name] for name in ("bus", "irq")}
        for side, component in self._sides.items():
            members |= {f"{side}_{name}": component.signature.members[name] for name in self._shown}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.switch = switch = self._switch
        for name in ("bus", "irq"):
            forward_member(m, switch, name, getattr(self, f"switch_{name}"))
        for number, (side, component) in enumerate(self._sides.items()):
            m.submodules[side] = component
            for name in self._shown:
                forward_member(m, component, name, getattr(self, f"{side}_{name}"))
            _cable(m, component.rs, switch.rs[number], self.cut[number])
            _cable(m, switch.rs[number], component.rs, self.cut[number])
        return m


def _cable(m, sender, receiver, cut):
    """What ``sender`` gives arrives later at ``receiver``; the kind of the last slot is the fault that it sees."""
    beat = Signal(CABLE_LAYOUT)
    m.d.comb += [sender.tx.ready.eq(1), beat.valid.eq(sender.tx.valid), beat.beat.eq(sender.tx.p)]
    for _ in range(CABLE_CYCLES):
        later = Signal.like(beat)
        m.d.sync += later.eq(beat)
        beat = later
    arrived = beat.beat
    m.d.comb += [
        receiver.rx.valid.eq(beat.valid & ~cut),
        *(getattr(receiver.rx.p, name).eq(getattr(arrived, name)) for name in ("data", "port", "first", "last")),
        receiver.rx.p.status.eq(Mux(arrived.kind == TxKind.DATA, SlotStatus.GOOD, SlotStatus.CONTROL)),
        receiver.local_fault.eq(cut),
    ]
    with m.If(cut):
        m.d.sync += receiver.remote_fault[0].eq(0)
    with m.Elif(beat.valid & arrived.last):
        m.d.sync += receiver.remote_fault[0].eq(arrived.kind == TxKind.REMOTE_FAULT)


def build_switch_pair() -> Model:
    """The compiled model of ``SwitchPairTop``; sides and stations are compiled once each."""

    def make_sources() -> dict[str, str]:
        side = AcceleratorSide(controller_config(1, BUS))
        station = Station(switch_config().switch.station_of_switch)
        switch = SwitchDevice(switch_config(), lambda _: Blackbox(station, "switch_station"))
        top = SwitchPairTop([Blackbox(side, "accelerator_side") for _ in SIDES], switch)
        texts = (
            to_verilog(side, "accelerator_side"),
            to_verilog(station, "switch_station"),
            to_verilog(top, "switch_pair"),
        )
        return {"pair.v": "\n".join(texts)}

    folder = Path(__file__).parent
    names = ("switch_pair_top", "controller_pair_top", "striker")
    depends = repr([(folder / f"{name}.py").read_text() for name in names])
    return build_once(make_sources, "switch_pair", depends, blocks=("accelerator_side", "switch_station"))
