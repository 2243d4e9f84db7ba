"""Firmware of a station in cocotb: links, interrupts and Drop Mode, through registers alone."""

from collections.abc import Iterable, Mapping

from .firmware import DLFirmware, FirmwareTimeout
from .identity import FirmwareError
from .register_bus import DesignTable, RegisterBus, RegisterTable

__all__ = ["Settings", "StationFirmware"]

DROP_CAUSE = "drop_"

Settings = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Values by window or kind of window, register and field."""


class StationFirmware:
    """What firmware does with a station behind ``bus``, whose registers are those of ``table``.

    Each coroutine returns when it is done. ``patience`` is how often a register is read before FirmwareTimeout, which
    names the register and what was read last. Sections are those of UALink_200.

    Attributes
    ----------
    ports : the ports there are; where their number is chosen, four until ``bifurcate``.
    dl : ``DLFirmware`` of each port.
    windows : the bus of each window, by name.
    """

    def __init__(self, bus: RegisterBus, table: DesignTable, *, patience: int = 5_000):
        self.table = table
        self.patience = patience
        self.windows = {name: bus.window(base, registers) for name, (base, registers) in table.windows.items()}
        self._use(sum(name.startswith("dl_") for name in table.windows))
        self._interrupts = self.windows["interrupts"]
        self._events = {
            name: _events_of(registers)
            for name, (_, registers) in table.windows.items()
            if f"{name}_events" in table["interrupts"].registers
        }

    def _use(self, ports: int) -> None:
        self.ports = range(ports)
        self.dl = [DLFirmware(self.windows[f"dl_{port}"], patience=self.patience) for port in self.ports]

    async def configure(self, settings: Settings) -> None:
        """Write fields and read them back.

        ``settings`` names windows ("dl_1", "tl_clock") or a kind of window of which there is one per port ("dl", "tl",
        "rs"), then registers, then fields. FirmwareError: a value was not kept.
        """
        for name, registers in settings.items():
            for bus in self._windows_of(name):
                for register, values in registers.items():
                    await bus.write(register, **values)
                    kept = await bus.read_fields(register)
                    if wrong := {field: kept[field] for field, value in values.items() if kept[field] != value}:
                        raise FirmwareError(f"{name}.{register} was written {dict(values)} and reads {wrong}")

    def _windows_of(self, name: str) -> list[RegisterBus]:
        found = [self.windows[name]] if name in self.windows else []
        found = found or [self.windows[f"{name}_{port}"] for port in self.ports if f"{name}_{port}" in self.windows]
        if not found:
            raise KeyError(f"no window is called {name!r}")
        return found

    async def bring_up(self, ports: Iterable[int] | None = None) -> None:
        """Enable links, all of them without ``ports``, and wait until they carry traffic.

        That is: the link is up, channel 0 is online and both sides have released their credits (§6.7.1, §5.8).
        """
        ports = self._chosen(ports)
        for port in ports:
            await self.windows[f"dl_{port}"].write("link_control", enable=1)
        for port in ports:
            await self._wait(f"dl_{port}", "link_status", online=1)
            await self._wait(f"tl_{port}", "status", credits_ready=1)

    async def take_down(self, ports: Iterable[int] | None = None) -> None:
        """Forbid links, all of them without ``ports``, to come up again once they are down (§6.7.1)."""
        for port in self._chosen(ports):
            await self.windows[f"dl_{port}"].write("link_control", enable=0)

    async def bifurcate(self, ports: int) -> None:
        """Use 1, 2 or 4 ports from now on (§2.5, §10.2): take all links down by way of Drop Mode, choose, and wait
        until that is in force. Traffic is to have ended: what is under way is dropped. No link is enabled then.

        KeyError: the station was built for one number of ports. Whoever stands before it at UPLI has to take what it
        has for him; else FirmwareTimeout.
        """
        station = self.windows["station"]
        await self.take_down()
        # What waits for a link is dropped; a link that was up meanwhile goes down when Drop Mode is cleared.
        await self.enter_drop_mode()
        for port in self.ports:
            await self.windows[f"tl_{port}"].write("clear_drop", start=1)
        await self.wait_for_link_down()
        await station.write("bifurcation", wanted=ports >> 1)
        await self._wait("station", "bifurcation", pending=0)
        self._use(ports)

    async def wait_for_link_down(self, ports: Iterable[int] | None = None) -> None:
        """Wait until links, all of them without ``ports``, are not online."""
        for port in self._chosen(ports):
            await self._wait(f"dl_{port}", "link_status", online=0)

    async def enable_interrupts(self, events: Mapping[str, Iterable[str]] | None = None) -> None:
        """Let events raise the interrupt line: those named of each window, of the others none; all without ``events``.

        ``events`` gives names as of the table of interrupts, such as ``{"tl_0": ["drop_mode"]}``.
        """
        known = {window: list(names) for window, names in self._events.items()}
        chosen = known if events is None else {window: list(names) for window, names in events.items()}
        for window, names in chosen.items():
            if window not in known or (unknown := set(names) - set(known[window])):
                raise KeyError(
                    f"window {window!r} has no events {', '.join(sorted(unknown if window in known else names))}"
                )
        for window in known:
            table = self._interrupts.table
            fields = {name: table.field(f"{window}_mask", name) for name in chosen.get(window, ())}
            word = sum((1 << field.width) - 1 << field.low for field in fields.values())
            await self._interrupts.write_word(table[f"{window}_mask"].offset, word)

    async def mask_interrupts(self) -> None:
        """Let no event raise the interrupt line."""
        await self.enable_interrupts({})

    async def causes(self) -> dict[str, set[str]]:
        """The events that hold the interrupt line up, by window; nothing is cleared."""
        pending = await self._interrupts.read_fields("pending_windows")
        found = {}
        for window in (name for name, is_pending in pending.items() if is_pending):
            happened = await self._interrupts.read_fields(f"{window}_events")
            enabled = await self._interrupts.read_fields(f"{window}_mask")
            found[window] = {name for name, value in happened.items() if value & enabled[name]}
        return found

    async def clear(self, causes: Mapping[str, Iterable[str]]) -> None:
        """Clear events where they stand, by writing 1."""
        for window, names in causes.items():
            registers = self.table[window]
            words: dict[str, int] = {}
            for name in names:
                register, field = self._events[window][name]
                place = registers.field(register, field)
                words[register] = words.get(register, 0) | (1 << place.width) - 1 << place.low
            for register, word in words.items():
                await self.windows[window].write_word(registers[register].offset, word)

    async def drop_causes(self) -> dict[int, set[str]]:
        """Why ports are in TL Drop Mode: "link_down", "control_error", "protocol_error" or "command" (§3.1.3)."""
        return {
            port: {name.removeprefix(DROP_CAUSE) for name, bit in status.items() if bit and name.startswith(DROP_CAUSE)}
            for port in self.ports
            if (status := await self.windows[f"tl_{port}"].read_fields("status"))["dropping"]
        }

    async def enter_drop_mode(self, ports: Iterable[int] | None = None) -> None:
        """Put ports, all of them without ``ports``, into TL Drop Mode (§3.1.4.2)."""
        for port in self._chosen(ports):
            await self.windows[f"tl_{port}"].write("enter_drop", start=1)
            await self._wait(f"tl_{port}", "status", dropping=1)

    async def leave_drop_mode(self, ports: Iterable[int] | None = None) -> None:
        """Clear errors of the agents and TL Drop Mode of ports, all of them without ``ports``, and wait until those of
        their links that are enabled carry traffic.

        A link comes up again when both ends have cleared it; the Drop Mode of a port ends with that (§3.1.4.3). Links
        that were up while their port dropped go down once, which is a Link Down to the other end. So none is let up
        before all have gone down: two accelerators that clear at the same time would else take each other's links down
        for ever.
        """
        for agent in ("completer", "originator"):
            await self.windows["upli"].write(f"{agent}_clear", start=1)
        chosen = self._chosen(ports)
        enabled = [port for port in chosen if await self.windows[f"dl_{port}"].read("link_control", "enable")]
        held: set[int] = set()
        waiting: str | None = None
        for _ in range(self.patience):
            causes = [port for port, why in (await self.drop_causes()).items() if why and port in chosen]
            held.update(causes)
            await self.take_down(causes)
            for port in causes:
                await self.windows[f"tl_{port}"].write("clear_drop", start=1)
            waiting = await self._not_carrying(enabled)
            if held and not causes and not await self._online(held):
                for port in held.intersection(enabled):
                    await self.windows[f"dl_{port}"].write("link_control", enable=1)
                held.clear()
            elif not held and waiting is None:
                return
        raise FirmwareTimeout(f"{waiting} after Drop Mode was looked at {self.patience:,} times")

    async def _online(self, ports: Iterable[int]) -> list[int]:
        """Those of ``ports`` whose link is online."""
        return [port for port in ports if await self.windows[f"dl_{port}"].read("link_status", "online")]

    async def _not_carrying(self, ports: Iterable[int]) -> str | None:
        """The first of ``ports`` that does not carry traffic, in words."""
        for port in ports:
            for window, register, wanted in (
                (f"dl_{port}", "link_status", {"online": 1}),
                (f"tl_{port}", "status", {"dropping": 0, "credits_ready": 1}),
            ):
                shown = await self.windows[window].read_fields(register)
                if wrong := {name: shown[name] for name, value in wanted.items() if shown[name] != value}:
                    return f"{window}.{register} reads {wrong}"
        return None

    async def counters(self) -> dict[str, dict[str, int]]:
        """The counters of each data link, all of one link at one and the same moment."""
        return {f"dl_{port}": await dl.counters() for port, dl in enumerate(self.dl)}

    async def errors(self) -> dict[str, dict[str, int]]:
        """The error logs, by window and then ``register.field``: of each TL, and of the UPLI agents."""
        logs: dict[str, tuple[str, ...]] = {f"tl_{port}": ("errors", "counts", "status") for port in self.ports}
        logs["upli"] = ("completer_status", "originator_status")
        return {
            window: {
                f"{register}.{field}": value
                for register in registers
                for field, value in (await self.windows[window].read_fields(register)).items()
            }
            for window, registers in logs.items()
        }

    def _chosen(self, ports: Iterable[int] | None) -> list[int]:
        chosen = list(self.ports if ports is None else ports)
        if wrong := [port for port in chosen if port not in self.ports]:
            raise ValueError(f"there is no port {wrong[0]}; there are {len(self.ports)}")
        return chosen

    async def _wait(self, window: str, register: str, **values: int) -> None:
        """Read ``register`` until its fields have ``values``."""
        (bus,) = self._windows_of(window)
        word = 0
        for _ in range(self.patience):
            word = await bus.read(register)
            if all(bus.table.field(register, name).value(word) == value for name, value in values.items()):
                return
        wanted = " and ".join(f"{name} {value}" for name, value in values.items())
        raise FirmwareTimeout(f"{window}.{register} reads {word:#010x} after {self.patience:,} reads, not {wanted}")


def _events_of(registers: RegisterTable) -> dict[str, tuple[str, str]]:
    """The register and the field of each event of a window, by the name that the table of interrupts gives it."""
    events = [
        (register, name)
        for register, word in registers.registers.items()
        for name, field in word.fields.items()
        if field.access == "w1c"
    ]
    several = len({register for register, _ in events}) > 1
    return {
        f"{register.removesuffix('_events')}_{name}" if several else name: (register, name) for register, name in events
    }
