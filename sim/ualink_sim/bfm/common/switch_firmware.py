"""Firmware of a generated switch in cocotb: routes, denied items, links, interrupts, Drop Mode, by registers alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .firmware import FirmwareTimeout
from .identity import FirmwareError, Identity, identify
from .register_bus import DesignTable, RegisterBus
from .station_firmware import Settings
from .switch_station_firmware import Denied, SwitchStationFirmware

__all__ = ["Denied", "Route", "SwitchFirmware"]


@dataclass(frozen=True)
class Route:
    """An entry of a route table: where items leave, and the ports of the station whose items are denied."""

    station: int = 0
    port: int = 0
    deny: frozenset[int] = frozenset()


class SwitchFirmware:
    """What firmware does with the switch behind ``bus``, whose registers are those of ``table``.

    ``patience`` is that of ``StationFirmware``. Sections are those of UALink_200.

    Attributes
    ----------
    stations : ``SwitchStationFirmware`` of each station.
    windows : the bus of each window that is of no station, by name.
    """

    def __init__(self, bus: RegisterBus, table: DesignTable, *, patience: int = 5_000):
        self.table = table
        self.patience = patience
        count = sum(name.startswith("station_") and name.endswith("_core") for name in table.windows)
        self.stations = [
            SwitchStationFirmware(bus, table.part(f"station_{number}_"), patience=patience) for number in range(count)
        ]
        own = (name for name in table.windows if not name.startswith("station_"))
        self.windows = {name: bus.window(*table.windows[name]) for name in own}
        self._switch = self.windows["switch"]

    async def identify(self) -> Identity:
        """What the description window shows; FirmwareError where it, or the size, is not what the table says."""
        identity = await identify(self.windows, self.table)
        shown = await self._switch.read_fields("capabilities")
        built = len(self.stations), len(self.stations[0].ports)
        if (shown["stations"], shown["ports"]) != built:
            raise FirmwareError(f"the hardware has {shown['stations']} stations of {shown['ports']}; the table {built}")
        return identity

    async def set_route(self, station: int, accelerator: int, route: Route) -> None:
        """Where items for ``accelerator`` go that enter by ``station``; waits until the tables may be written."""
        deny = sum(1 << port for port in route.deny)
        await self._select(station, accelerator)
        await self._switch.write(
            "route_write", deny=deny, egress_port=route.port, egress_station=route.station, start=1
        )
        if (kept := await self._shown()) != route:
            raise FirmwareError(f"the route of {accelerator} at station {station} was written {route} and reads {kept}")

    async def route(self, station: int, accelerator: int) -> Route:
        """The entry for ``accelerator`` in the table of ``station``."""
        await self._select(station, accelerator)
        return await self._shown()

    async def set_routes(self, routes: Mapping[int, Route]) -> None:
        """The same routes for the items of every station, by accelerator (§10.7)."""
        for station in range(len(self.stations)):
            for accelerator, route in routes.items():
                await self.set_route(station, accelerator, route)

    async def _select(self, station: int, accelerator: int) -> None:
        for _ in range(self.patience):
            if await self._switch.read("route_status", "ready"):
                await self._switch.write("route_select", station=station, accelerator=accelerator)
                return
        raise FirmwareTimeout(f"the route tables are not ready after {self.patience:,} reads")

    async def _shown(self) -> Route:
        entry = await self._switch.read_fields("route_entry")
        deny = frozenset(port for port in range(4) if entry["deny"] >> port & 1)
        return Route(entry["egress_station"], entry["egress_port"], deny)

    async def configure(self, settings: Settings) -> None:
        """``StationFirmware.configure`` of every station."""
        for station in self.stations:
            await station.configure(settings)

    async def bring_up(self) -> None:
        """Enable the links of all ports, and wait until they carry traffic (§6.7.1, §5.8)."""
        for station in self.stations:
            for port in station.ports:
                await station.windows[f"dl_{port}"].write("link_control", enable=1)
        for station in self.stations:
            await station.bring_up()

    async def take_down(self) -> None:
        """Forbid the links of all ports to come up again once they are down (§6.7.1)."""
        for station in self.stations:
            await station.take_down()

    async def enable_interrupts(self, events: Mapping[str, Iterable[str]] | None = None) -> None:
        """Let events of every station raise the interrupt line, as of ``StationFirmware.enable_interrupts``."""
        for station in self.stations:
            await station.enable_interrupts(events)

    async def mask_interrupts(self) -> None:
        """Let no event raise the interrupt line."""
        await self.enable_interrupts({})

    async def causes(self) -> dict[int, dict[str, set[str]]]:
        """The events that hold the interrupt line up, by station and window; nothing is cleared."""
        interrupts = self.windows["interrupts"]
        found = {}
        for word in interrupts.table.registers:
            for name, is_pending in (await interrupts.read_fields(word)).items():
                if is_pending:
                    station = int(name.removeprefix("station_"))
                    found[station] = await self.stations[station].causes()
        return found

    async def clear(self, causes: Mapping[int, Mapping[str, Iterable[str]]]) -> None:
        """Clear events where they stand, by writing 1."""
        for station, windows in causes.items():
            await self.stations[station].clear(windows)

    async def drop_causes(self) -> dict[tuple[int, int], set[str]]:
        """Why which ports, by station and port, are in TL Drop Mode (§3.1.3)."""
        return {
            (number, port): causes
            for number, station in enumerate(self.stations)
            for port, causes in (await station.drop_causes()).items()
        }

    async def core_drops(self) -> dict[int, set[str]]:
        """Before which stations agents of the core are in Drop Mode: "ingress", "egress" (§3.1.4)."""
        return {number: drops for number, station in enumerate(self.stations) if (drops := await station.core_drops())}

    async def leave_drop_mode(self) -> None:
        """Clear Drop Mode of the core and of all ports, as of ``SwitchStationFirmware.leave_drop_mode`` (§3.1.4.3)."""
        for station in self.stations:
            await station.leave_drop_mode()

    async def denied(self) -> dict[tuple[int, int], Denied]:
        """What was denied since it was last cleared, by station and port of entry (§10.7)."""
        return {
            (number, port): denied
            for number, station in enumerate(self.stations)
            for port, denied in (await station.denied()).items()
        }

    async def clear_denied(self) -> None:
        """Forget what was denied, and its events."""
        for station in self.stations:
            await station.clear_denied()

    async def flows(self) -> dict[tuple[int, int], dict[str, int]]:
        """What went through the ports of the core, by station and port, as of ``SwitchStationFirmware.flow`` (§8.5)."""
        return {
            (number, port): await station.flow(port)
            for number, station in enumerate(self.stations)
            for port in station.ports
        }

    async def counters(self) -> dict[int, dict[str, dict[str, int]]]:
        """The counters of each data link, by station; all of one link at one and the same moment."""
        return {number: await station.counters() for number, station in enumerate(self.stations)}

    async def errors(self) -> dict[int, dict[str, dict[str, int]]]:
        """The error logs, by station, window and ``register.field``."""
        return {number: await station.errors() for number, station in enumerate(self.stations)}
