"""Files of a generated controller, station, switch or UPLI checker."""

import json
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path

from amaranth.lib import wiring

from ualink.config import CheckerConfig, ControllerConfig, StationConfig, SwitchDeviceConfig
from ualink.controller import Controller
from ualink.csr.design_text import to_c_header, to_design_systemrdl
from ualink.emit.blackbox import Blackbox
from ualink.emit.lint import waivers
from ualink.emit.memory_modules import MemoryModule, with_memory_modules
from ualink.emit.ports import described_ports, group_texts, has_own_upli_clock
from ualink.emit.shared_parts import SharedParts
from ualink.emit.verilog import to_rtlil, verilog_of
from ualink.station import Station
from ualink.switch.device import SwitchDevice
from ualink.upli.checker.checker import UPLIChecker

__all__ = ["write_design"]


def write_design(
    what: str, config: CheckerConfig | ControllerConfig | StationConfig | SwitchDeviceConfig, folder: Path
) -> list[Path]:
    """Write ``ualink_<what>.v``, ``.json`` and ``.vlt`` into ``folder`` and return their paths.

    ``config`` is the one of that name. Beside a controller and a switch stand their registers, as ``_registers.json``,
    ``.rdl`` and ``.h``. The same values give the same bytes each time: nothing in a design depends on the order of a
    set or on the time.
    """
    name = f"ualink_{what}"
    component: Controller | Station | SwitchDevice | UPLIChecker
    if isinstance(config, SwitchDeviceConfig):
        component, verilog, memories = _switch(config, name)
    else:
        component = _component(config)
        verilog, memories = verilog_and_memories(component, name)
    description = {
        "module": name,
        "generator": f"amaranth-ualink {version('amaranth-ualink')}",
        **_clocks(component),
        "parameters": asdict(config),
        "groups": group_texts(component),
        "ports": described_ports(component),
        "memories": [asdict(kind) for kind in memories],
    }
    texts = {
        folder / f"{name}.v": verilog,
        folder / f"{name}.json": json.dumps(description, indent=1) + "\n",
        folder / f"{name}.vlt": waivers(name),
    }
    if isinstance(component, Controller | SwitchDevice):
        registers = component.registers
        texts |= {
            folder / f"{name}_registers.json": registers.to_json(),
            folder / f"{name}_registers.rdl": to_design_systemrdl(registers, name),
            folder / f"{name}_registers.h": to_c_header(registers, name),
        }
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text)
    return list(texts)


def _switch(config: SwitchDeviceConfig, name: str) -> tuple[SwitchDevice, str, list[MemoryModule]]:
    """A switch, its Verilog and its memories. Its stations are alike: one, and its registers, are made once, and so are
    the parts of its core."""
    station, parts = Station(config.switch.station_of_switch), SharedParts()
    component = SwitchDevice(
        config,
        lambda _: Blackbox(station, "ualink_station"),
        lambda registers: Blackbox(registers, "ualink_station_registers"),
        parts,
    )
    verilog, memories = verilog_and_memories(component, name)
    stations = config.switch.stations
    made = [(station, "ualink_station", stations), (component.station_windows, "ualink_station_registers", stations)]
    made += [(part, module, parts.instances[module]) for module, part in parts.parts.items()]
    texts, repeated = [], []
    for part, module, instances in made:
        text, inside = verilog_and_memories(part, module)
        texts.append(text)
        repeated += [replace(kind, instances=instances * kind.instances) for kind in inside]
    return component, "\n".join((*texts, verilog)), repeated + memories


def _component(config: CheckerConfig | ControllerConfig | StationConfig) -> Controller | Station | UPLIChecker:
    if isinstance(config, CheckerConfig):
        return UPLIChecker(config)
    return Controller(config) if isinstance(config, ControllerConfig) else Station(config)


def verilog_and_memories(component: wiring.Component, name: str) -> tuple[str, list[MemoryModule]]:
    """Verilog of ``component`` with each memory in a module of its own, and what memories these are."""
    rtlil, memories = with_memory_modules(to_rtlil(component, name), name)
    return verilog_of(rtlil, name), memories


def _clocks(component: wiring.Component) -> dict[str, str]:
    """What drives the ports that are in no signature."""
    if has_own_upli_clock(component):
        return {
            "clock": "clk (DL), upli_clk (UPLI and TL)",
            "reset": "rst, upli_rst: at power-on, together, active high, each synchronous to its clock; "
            "upli_reset is the inverse of UPLIReset_N",
        }
    return {"clock": "clk", "reset": "rst, active high, synchronous (the inverse of UPLIReset_N)"}
