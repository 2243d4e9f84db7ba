"""Firmware of one station of a switch in cocotb: what ``StationFirmware`` does, and the core before the station."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .station_firmware import StationFirmware

__all__ = ["Denied", "SwitchStationFirmware"]

AGENTS = ("ingress", "egress")


@dataclass(frozen=True)
class Denied:
    """How many items a port dropped because of Deny; IDs and kind of the last: "request", "read_response", …."""

    count: int
    source: int
    destination: int
    kind: str


class SwitchStationFirmware(StationFirmware):
    """What firmware does with a station of a switch, and with the core's agents and deny logs there."""

    async def core_drops(self) -> set[str]:
        """The agents of the core that are in Drop Mode: "ingress", its Completer; "egress", its Originator (§3.1.4)."""
        return {agent for agent in AGENTS if await self.windows["core"].read(f"{agent}_status", "dropping")}

    async def leave_core_drop_mode(self) -> None:
        """Clear errors and Drop Mode of the core's agents, which is over at once (§3.1.4.3)."""
        for agent in AGENTS:
            await self.windows["core"].write(f"{agent}_clear", start=1)
            await self.windows["core"].write(f"{agent}_clear_drop", start=1)
            await self._wait("core", f"{agent}_status", dropping=0)

    async def leave_drop_mode(self, ports: Iterable[int] | None = None) -> None:
        """Clear Drop Mode of the core's agents, which is that of all ports, and then as ``StationFirmware`` does."""
        await self.leave_core_drop_mode()
        await super().leave_drop_mode(ports)

    async def denied(self) -> dict[int, Denied]:
        """What was denied since it was last cleared, by port of entry (§10.7)."""
        core = self.windows["core"]
        kinds = {code: name for name, code in core.table.field("last_denied_0", "kind").values.items()}
        found = {}
        for port in self.ports:
            if count := await core.read(f"denied_{port}", "count"):
                last = await core.read_fields(f"last_denied_{port}")
                found[port] = Denied(count, last["source"], last["destination"], kinds[last["kind"]])
        return found

    async def clear_denied(self, ports: Iterable[int] | None = None) -> None:
        """Forget what was denied, and its events: at all ports without ``ports``."""
        for port in self._chosen(ports):
            await self.windows["core"].write("denied_events", **{f"port_{port}": 1})
            await self.windows["core"].write(f"deny_clear_{port}", start=1)

    async def flow(self, port: int) -> dict[str, int]:
        """What went through ``port`` of the core since reset (§8.5): counts such as "req_accepted", high-water marks
        such as "req_high_water.items"."""
        window = self.windows[f"flow_{port}"]
        found = {}
        for name, register in window.table.registers.items():
            for field, value in (await window.read_fields(name)).items() if name != "capabilities" else ():
                found[name if len(register.fields) == 1 and field == "count" else f"{name}.{field}"] = value
        return found

    async def inject(
        self, item: Mapping[str, Mapping[str, int]], kind: str, towards: str = "core", *, port: int = 0, error: int = 0
    ) -> None:
        """Inject ``item`` at ``port`` and wait until it has gone (§10.9.1): fields by register of the window
        "injection"; a "request", "read_response" or "write_response" towards the "core" or the "link"."""
        window = self.windows["injection"]
        for register, fields in item.items():
            await window.write(register, **fields)
        kinds, ways = (window.table.field("inject", field).values for field in ("kind", "towards"))
        await window.write("inject", start=1, kind=kinds[kind], towards=ways[towards], port=port, error=error)
        await self._wait("injection", "inject", start=0)

    async def set_accelerator(self, port: int, id: int | None) -> None:
        """Note the ID of the accelerator at ``port``; None: it is not known."""
        await self.windows["core"].write(f"accelerator_{port}", id=id or 0, valid=int(id is not None))

    async def errors(self) -> dict[str, dict[str, int]]:
        """The error logs of the station, and of the core's agents."""
        logs = await super().errors()
        logs["core"] = {
            f"{agent}_status.{field}": value
            for agent in AGENTS
            for field, value in (await self.windows["core"].read_fields(f"{agent}_status")).items()
        }
        return logs
