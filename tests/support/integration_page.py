"""The tables of docs/integration.md, made of the code; ``python tests/support/integration_page.py`` writes them."""

import re
from pathlib import Path

from amaranth.lib import enum

from ualink.config import BUSES, ControllerConfig, StationConfig, SwitchConfig, SwitchDeviceConfig
from ualink.controller import Controller
from ualink.emit.ports import described_ports, group_texts
from ualink.phy.interface import SlotStatus, TxKind
from ualink.station import Station
from ualink.switch.device import SwitchDevice

__all__ = ["PAGE", "tables", "with_tables"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integration.md"
_PLACE = re.compile(r"(<!-- made by tests/support/integration_page.py: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def tables() -> dict[str, str]:
    """Every table by the name that the page gives it."""
    two_clocks = StationConfig(separate_upli_clock=True)
    station = Station(two_clocks)
    controllers = {bus: Controller(ControllerConfig(bus=bus, station=two_clocks)) for bus in BUSES}
    switch = SwitchDevice(SwitchDeviceConfig(switch=SwitchConfig(stations=2, route_entries=8)))
    return {
        "controller": _groups(controllers["axi4-lite"]),
        "buses": _buses(controllers),
        "station": _groups(station),
        "switch": _groups(switch),
        "payloads": _payloads(station, switch),
        "ties": _ties(station),
        "codes": _codes(TxKind, SlotStatus),
    }


def with_tables(text: str) -> str:
    """The page with its tables as the code has them."""
    made = tables()
    return _PLACE.sub(lambda place: f"{place[1]}\n{made[place[2]]}\n{place[3]}", text)


def _groups(top) -> str:
    lines = ["| Ports | Wires | Clock | What for |", "|---|---:|---|---|"]
    rows = described_ports(top)
    for name, text in group_texts(top).items():
        wires = [row for row in rows if row["path"].split(".")[0] == name]
        clocks = ", ".join(sorted({row["clock"] for row in wires}))
        lines.append(f"| `{name}` | {sum(row['width'] for row in wires):,} | {clocks} | {text} |")
    return "\n".join(lines) + "\n"


def _buses(controllers: dict[str, Controller]) -> str:
    lines = ["| `--bus` | Port | Direction | Wires | What for |", "|---|---|---|---:|---|"]
    for bus, controller in controllers.items():
        for row in described_ports(controller):
            if row["path"].startswith("bus."):
                text = f"| {bus} | `{row['name']}` | {row['direction']} | {row['width']} | {row['description']} |"
                lines.append(text)
    return "\n".join(lines) + "\n"


def _payloads(*tops) -> str:
    rows = {re.sub(r"\.\d+", "", row["path"]): row for top in tops for row in described_ports(top) if "fields" in row}
    lines = ["| Port | Bits | Field |", "|---|---:|---|"]
    for path, row in rows.items():
        lines += [f"| `{path}` | {field['bits']} | `{field['name']}` |" for field in row["fields"]]
    return "\n".join(lines) + "\n"


def _ties(top) -> str:
    lines = ["| Input | Idle value | What for |", "|---|---:|---|"]
    for row in described_ports(top):
        if row["direction"] == "input" and row["idle"]:
            lines.append(f"| `{row['path']}` | {row['idle']:,} | {row['description']} |")
    return "\n".join(lines) + "\n"


def _codes(*kinds: type[enum.Enum]) -> str:
    lines = ["| Field | Code | Meaning |", "|---|---:|---|"]
    for name, kind in zip(("kind", "status"), kinds):
        lines += [f"| `{name}` | {code.value} | {code.name} |" for code in kind]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
