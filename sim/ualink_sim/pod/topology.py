"""Who is wired to whom in a pod of accelerators around one physical switch (UALink_200 §1.1, §2.5)."""

from dataclasses import dataclass

from ualink.description.hardware import switch_stations

__all__ = ["LinkEnd", "Topology"]


@dataclass(frozen=True)
class LinkEnd:
    """A port of an accelerator or of a switch station; ``str`` gives the name used in captures, such as ``sw0.1``."""

    kind: str
    device: int
    port: int

    def __str__(self) -> str:
        return f"{self.kind}{self.device}.{self.port}"


@dataclass(frozen=True)
class Topology:
    """``accelerators`` accelerators with one station of ``ports`` ports each. A station is built with ``built_ports``,
    if those are more.

    Port p of every accelerator belongs to logical switch p: all of the physical switch with x4 links, half of its
    stations with 2 x x2 and a quarter with 4 x x1. Within a logical switch each port faces a different accelerator.
    """

    accelerators: int
    ports: int
    built_ports: int | None = None

    @property
    def stations(self) -> int:
        """Stations of the physical switch."""
        return switch_stations(self.accelerators, self.built_ports or self.ports)

    def switch_end(self, accelerator: int, port: int) -> LinkEnd:
        """The switch port that port ``port`` of ``accelerator`` is wired to."""
        first_station = port * (self.stations // self.ports)
        return LinkEnd("sw", first_station + accelerator // self.ports, accelerator % self.ports)

    def links(self) -> list[tuple[LinkEnd, LinkEnd]]:
        """Every link as (accelerator end, switch end)."""
        return [
            (LinkEnd("acc", accelerator, port), self.switch_end(accelerator, port))
            for accelerator in range(self.accelerators)
            for port in range(self.ports)
        ]

    def port_for(self, address: int) -> int:
        """The port on which a source sends: all Requests to one 256-byte block leave on the same one (§2.7.9)."""
        return address >> 8 & self.ports - 1

    @property
    def wiring(self) -> dict[int, list[tuple[int, int]]]:
        """By accelerator, station and port of the switch that each of its ports is wired to."""
        ends = {a: [self.switch_end(a, port) for port in range(self.ports)] for a in range(self.accelerators)}
        return {accelerator: [(end.device, end.port) for end in of] for accelerator, of in ends.items()}
