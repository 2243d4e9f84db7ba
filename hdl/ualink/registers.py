"""``python -m ualink.registers [FOLDER]``: register maps as a page, or as JSON and SystemRDL."""

import sys
from pathlib import Path

from ualink.bifurcation_registers import BIFURCATION_REGISTERS
from ualink.config import DLConfig, PhyConfig, StationConfig, SwitchConfig, TLConfig
from ualink.csr.interrupt_lines import interrupt_line_registers
from ualink.csr.interrupts import interrupt_registers
from ualink.csr.table import Access, RegisterMap
from ualink.csr.text import to_json, to_markdown, to_systemrdl
from ualink.dl.rate.registers import RATE_REGISTERS
from ualink.dl.registers.map import dl_registers
from ualink.phy.register_map import phy_registers
from ualink.phy.rs_registers import rs_registers
from ualink.station_registers import StationRegisters
from ualink.switch.deny_log import COUNTER_BITS
from ualink.switch.registers.core_map import core_registers
from ualink.switch.registers.flow_map import FLOW_REGISTERS
from ualink.switch.registers.injection_map import injection_registers
from ualink.switch.registers.route_map import switch_registers
from ualink.tl.registers.map import tl_registers
from ualink.traffic.config import TrafficConfig
from ualink.traffic.flits.register_map import flit_registers
from ualink.traffic.register_map import traffic_registers
from ualink.upli.agent_registers import AGENT_REGISTERS
from ualink.upli.isolation.registers import ISOLATION_REGISTERS

__all__ = ["main", "page", "register_maps", "write"]

_ACCESS = {
    Access.CONSTANT: "reads what was chosen when the hardware was built",
    Access.RO: "reads what the hardware shows",
    Access.RW: "reads what was last written",
    Access.W1C: "a bit is set by its event and stays; writing 1 clears it",
    Access.GO: "writing 1 starts something, which 1 is read for until it is done; writing 0 withdraws it",
    Access.POP: "reading takes the oldest word of a queue; an error when there is none",
    Access.PUSH: "writing appends a word to a queue; an error when it is full",
}


_INTRODUCTION = """\
# Registers

Written by `python -m ualink.registers > docs/registers.md`; do not edit. `python -m ualink.registers FOLDER` writes the
same tables as JSON, from which `ualink_sim.bfm.common.firmware` works, and as SystemRDL. Registers are words of 32
bits; offsets are in bytes. Sections are those of UALink_200 Rev 1.0, rulings those of [`rulings.md`](rulings.md).

| Access | Meaning |
|---|---|
"""

_RULES = """
Bits without a field read 0 and ignore what is written. A write with a value that is not allowed changes nothing in its
register. An access is answered with an error when it did nothing: no register there, nothing to read or to write in it,
value refused, queue empty or full.

"""


LANES, LINE_RATE = 2, 5_000_000_000
"""Of the board whose map is printed: others have more lanes, or fewer."""


def register_maps() -> tuple[RegisterMap, ...]:
    """The maps of this project, built with the default configuration; interrupts are those of the largest station, and
    of the core before it in a switch."""
    whole = StationConfig(separate_upli_clock=True, phy=PhyConfig())
    switch = SwitchConfig(station=StationConfig(ports=4))
    core = core_registers(switch.station.ports, COUNTER_BITS)
    return (
        dl_registers(DLConfig()),
        RATE_REGISTERS,
        tl_registers(TLConfig()),
        AGENT_REGISTERS,
        BIFURCATION_REGISTERS,
        ISOLATION_REGISTERS,
        interrupt_registers((*StationRegisters(whole).maps.items(), ("core", core))),
        rs_registers(PhyConfig()),
        switch_registers(switch),
        core,
        FLOW_REGISTERS,
        injection_registers(switch.station.ports),
        interrupt_line_registers("station", switch.stations),
        traffic_registers(TrafficConfig()),
        flit_registers(),
        phy_registers(PhyConfig(), LANES, LINE_RATE),
    )


def page() -> str:
    """The text of ``docs/registers.md``."""
    accesses = "".join(f"| {access} | {meaning} |\n" for access, meaning in _ACCESS.items())
    return _INTRODUCTION + accesses + _RULES + "\n".join(to_markdown(registers) for registers in register_maps())


def write(registers: RegisterMap, folder: Path, name: str) -> list[Path]:
    """Write ``registers`` as ``<name>.json`` and ``<name>.rdl`` into ``folder``; return the paths."""
    texts = {folder / f"{name}.json": to_json(registers), folder / f"{name}.rdl": to_systemrdl(registers)}
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text)
    return list(texts)


def main(arguments: list[str]) -> None:
    """Print the page, or write the other two forms of each map into the folder named."""
    match arguments:
        case []:
            sys.stdout.write(page())
        case [folder]:
            for registers in register_maps():
                for path in write(registers, Path(folder), registers.name):
                    print(path)
        case _:
            sys.exit("usage: python -m ualink.registers [FOLDER]")


if __name__ == "__main__":
    main(sys.argv[1:])
