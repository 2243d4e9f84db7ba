"""A register bus of a switch without hardware: it keeps route tables, links and Drop Mode, and tells of every write."""

from collections.abc import Callable, Mapping
from functools import cache

from ualink.config import StationConfig, SwitchConfig
from ualink_sim.bfm.common.register_bus import DesignTable, RegisterBus, RegisterError
from ualink_sim.bfm.common.switch_firmware import Route
from ualink_sim.pod.top import make_switch

__all__ = ["RecordedBus", "finish", "switch_table"]


@cache
def switch_table(stations: int, ports: int) -> DesignTable:
    """The registers of a switch with so many stations of so many ports."""
    config = SwitchConfig(stations=stations, route_entries=64, station=StationConfig(ports=ports))
    return DesignTable(make_switch(config).registers.to_dict())


def finish(coroutine):
    """What ``coroutine`` gives, which waits for nothing but this bus."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the coroutine waits for something else")


class RecordedBus(RegisterBus):
    """The registers of ``table``; ``watch`` is called after each write of a route.

    ``counts`` holds registers of the windows ``station_<n>_flow_<p>`` by (station, port, register): the first field, or
    all by name, or what gives one or the other for each read; ``fail_at`` is the number of the access that is answered
    with an error. Links carry traffic unless their port is in Drop Mode.

    Attributes
    ----------
    routes : by (station, accelerator), what is not denied.
    dropping : (station, port) in Drop Mode on command.
    disabled : (station, port) whose link may not come up.
    log : window, register and word of every write.
    """

    def __init__(self, table: DesignTable, watch: Callable[[], None] = lambda: None):
        self.table, self.base = table["description"], 0
        self.watch = watch
        self.routes: dict[tuple[int, int], Route] = {}
        self.counts: dict[tuple[int, int, str], int | Callable[[], int | Mapping[str, int]] | Mapping[str, int]] = {}
        self.dropping: set[tuple[int, int]] = set()
        self.disabled: set[tuple[int, int]] = set()
        self.log: list[tuple[str, str, int]] = []
        self.fail_at: int | None = None
        self.accesses = 0
        self._selected = 0, 0
        # Windows are copies that share what the device holds.
        self._device = self
        self._design = table
        self._names = {
            base + register.offset: (window, name)
            for window, (base, registers) in table.windows.items()
            for name, register in registers.registers.items()
        }

    async def _access(self, kind, offset, word):
        return self._device._answer(kind, self.base + offset, word)

    def _answer(self, kind, address, word):
        self.accesses += 1
        if self.accesses == self.fail_at:
            raise RegisterError(f"access {self.accesses}")
        window, register = self._names[address]
        if kind == "read":
            return self._word(window, register, self._read(window, register))
        self.log.append((window, register, word))
        fields = {name: field.value(word) for name, field in self._design[window][register].fields.items()}
        self._write(window, register, fields)
        return 0

    def _word(self, window, register, fields: Mapping[str, int]):
        table = self._design[window]
        return sum(value << table.field(register, name).low for name, value in fields.items())

    def _read(self, window, register) -> Mapping[str, int]:
        if register == "route_status":
            return {"ready": 1}
        if register == "route_entry":
            route = self.routes.get(self._selected, Route(deny=frozenset(range(4))))
            deny = sum(1 << port for port in route.deny)
            return {"deny": deny, "egress_station": route.station, "egress_port": route.port}
        _, number, *rest = window.split("_")
        place = int(number), int(rest[1]) if len(rest) > 1 else 0
        if rest[0] == "flow":
            found = self.counts.get((*place, register), 0)
            found = found() if callable(found) else found
            field = next(iter(self._design[window][register].fields))
            return found if isinstance(found, Mapping) else {field: found}
        if (rest[0], register) == ("tl", "status"):
            drops = place in self.dropping
            return {"dropping": drops, "drop_command": drops, "credits_ready": not drops}
        if (rest[0], register) == ("dl", "link_status"):
            return {"online": place not in self.dropping | self.disabled}
        if (rest[0], register) == ("dl", "link_control"):
            return {"enable": place not in self.disabled}
        return {}

    def _write(self, window, register, fields):
        if register == "route_select":
            self._selected = fields["station"], fields["accelerator"]
        elif register == "route_write":
            deny = frozenset(port for port in range(4) if fields["deny"] >> port & 1)
            self.routes[self._selected] = Route(fields["egress_station"], fields["egress_port"], deny)
            self.watch()
        elif register in ("enter_drop", "clear_drop", "link_control"):
            _, number, _, port = window.split("_")
            held = self.disabled if register == "link_control" else self.dropping
            begins = register == "enter_drop" or fields.get("enable") == 0
            (held.add if begins else held.discard)((int(number), int(port)))
