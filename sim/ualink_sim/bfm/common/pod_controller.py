"""A pod controller in cocotb: virtual pods of the accelerators around one switch, by the switch's registers alone."""

from collections.abc import Iterable, Mapping, Sequence

from ualink.config import SwitchConfig
from ualink.switch.grid import Grid
from ualink.switch.service import served_within

from ...records import FlowCounts
from .firmware import FirmwareTimeout
from .port_flow import WRAP, PortFlow, SwitchPort
from .switch_firmware import Route, SwitchFirmware

__all__ = ["FlowCounts", "PodController", "SwitchPort", "VirtualPodError"]

Pods = Mapping[int, str]
"""The virtual pod of each accelerator that is in one."""

NOBODY = Route(deny=frozenset(range(4)))


class VirtualPodError(ValueError):
    """What is asked for cannot be: an unknown virtual pod or accelerator, or one that belongs to another."""


class PodController:
    """Keeps which accelerators are in which virtual pod (UALink_200 §8.3, §8.4), and has ``switch`` let the members of
    each reach one another and nobody else.

    ``wiring`` gives by accelerator the switch ports, station and port, that its ports 0, 1, … are wired to; port n of
    one reaches port n of another (§1.1); ``ports_per_row`` is that of the ``SwitchConfig`` of the switch. The
    controller finds the tables as after reset, with Deny everywhere, and is the only one that writes them. One change
    is made at a time; whoever asks for another meanwhile is refused.

    A change is made in three steps, so that no two virtual pods reach each other at any moment in between:

    1. Who leaves is denied: the way to and from it in the tables of all members, and of its own station.
    2. What entered the core before is waited for, until it has gone: at each port of the virtual pod, the core has had
       nothing on its way to that port, or more has gone by than the queues to it can have held. FirmwareTimeout, if a
       port does not come so far in ``patience`` looks; who left is then in no virtual pod, and cannot join one before
       it has.
    3. Who joins is allowed.

    The switch keeps no state of a Request, so whoever has one outstanding to a member that leaves never gets a
    Response: have the nodes come to rest first. A Request of which the data are still to come is seen by no counter.

    Attributes
    ----------
    switch : the firmware that reaches the registers.
    """

    def __init__(
        self,
        switch: SwitchFirmware,
        wiring: Mapping[int, Sequence[SwitchPort]],
        *,
        patience: int = 1_000,
        ports_per_row: int = SwitchConfig.ports_per_row,
    ):
        self.switch = switch
        self.patience = patience
        self._ports = {accelerator: tuple(ports) for accelerator, ports in wiring.items()}
        self._faced = {place: accelerator for accelerator, ports in self._ports.items() for place in ports}
        self._number: dict[int, int] = {}
        for ports in self._ports.values():
            for number, (station, _) in enumerate(ports):
                if self._number.setdefault(station, number) != number:
                    raise ValueError(
                        f"station {station} has ports {self._number[station]} and {number} of accelerators"
                    )
        self._pods: Pods = {}
        self._written: dict[tuple[int, int], Route | None] = {}
        self._left: dict[int, tuple[SwitchPort, ...]] = {}
        self._flow = PortFlow(switch)
        self._busy = False
        grid = Grid(sum(len(station.ports) for station in switch.stations), ports_per_row)
        self._served_within = served_within(grid)

    @property
    def virtual_pods(self) -> dict[str, tuple[int, ...]]:
        """Members of each virtual pod, in ascending order."""
        found: dict[str, tuple[int, ...]] = {}
        for accelerator, name in sorted(self._pods.items()):
            found[name] = (*found.get(name, ()), accelerator)
        return found

    async def create(self, name: str, members: Iterable[int]) -> None:
        """Let ``members``, which are in no virtual pod, be the virtual pod ``name``."""
        if name in self.virtual_pods:
            raise VirtualPodError(f"there is a virtual pod {name!r} already")
        await self._change(name, self._checked(name, members))

    async def resize(self, name: str, members: Iterable[int]) -> None:
        """Let ``members`` be those of the virtual pod ``name``: some leave, and some that are in none join."""
        self._known(name)
        await self._change(name, self._checked(name, members))

    async def tear_down(self, name: str) -> None:
        """Let nobody be a member of the virtual pod ``name`` any more."""
        self._known(name)
        await self._change(name, ())

    async def counters(self, name: str | None) -> FlowCounts:
        """What went through the ports of members while they were members of ``name``, of whatever there was under this
        name before too; None: through those of accelerators in no virtual pod."""
        theirs = [place for place, accelerator in self._faced.items() if self._pods.get(accelerator) == name]
        await self._flow.account(theirs, name)
        return self._flow.total(name)

    async def drop_causes(self, name: str) -> dict[SwitchPort, set[str]]:
        """Why ports of members of ``name`` are in TL Drop Mode (§3.1.3)."""
        ports = self._ports_of(self.virtual_pods[self._known(name)])
        return {place: why for place, why in (await self.switch.drop_causes()).items() if place in ports}

    async def isolate(self, accelerator: int) -> None:
        """Put the ports of ``accelerator`` into TL Drop Mode: what is on its way to it is dropped (§3.1.4.2)."""
        for station, port in self._ports_of([self._wired(accelerator)]):
            await self.switch.stations[station].enter_drop_mode([port])

    async def readmit(self, accelerator: int) -> None:
        """Clear Drop Mode of the ports of ``accelerator``, and wait until their links carry traffic (§3.1.4.3)."""
        for station, port in self._ports_of([self._wired(accelerator)]):
            await self.switch.stations[station].leave_drop_mode([port])

    def _wired(self, accelerator: int) -> int:
        if accelerator not in self._ports:
            raise VirtualPodError(f"there is no accelerator {accelerator}")
        return accelerator

    def _known(self, name: str) -> str:
        if name not in self.virtual_pods:
            raise VirtualPodError(f"there is no virtual pod {name!r}")
        return name

    def _checked(self, name: str, members: Iterable[int]) -> tuple[int, ...]:
        chosen = tuple(members)
        if not chosen:
            raise VirtualPodError(f"virtual pod {name!r} needs a member")
        for member in chosen:
            if chosen.count(member) > 1:
                raise VirtualPodError(f"accelerator {member} is named twice")
            if (other := self._pods.get(self._wired(member), name)) != name:
                raise VirtualPodError(f"accelerator {member} is in virtual pod {other!r} already")
        return chosen

    def _ports_of(self, accelerators: Iterable[int]) -> tuple[SwitchPort, ...]:
        return tuple(place for accelerator in accelerators for place in self._ports[accelerator])

    async def _change(self, name: str, members: Sequence[int]) -> None:
        """From the members that ``name`` has to ``members``."""
        if self._busy:
            raise VirtualPodError("another virtual pod is being changed")
        self._busy = True
        try:
            await self._change_alone(name, members)
        finally:
            self._busy = False

    async def _change_alone(self, name: str, members: Sequence[int]) -> None:
        before = self.virtual_pods.get(name, ())
        others = {accelerator: pod for accelerator, pod in self._pods.items() if pod != name}
        stay = others | {member: name for member in before if member in members}
        left = [member for member in before if member not in members]
        joins = [member for member in members if member not in before]
        await self._write(stay)
        self._pods = stay
        # Whoever left waits for all ports of its virtual pod: items of its own may stand at those of the others.
        self._left.update(dict.fromkeys(left, self._ports_of(before)))
        try:
            for member in (*left, *joins):
                if member in self._left:
                    await self._drain(self._left[member])
                    del self._left[member]
        finally:
            await self._flow.account(self._ports_of(left), name)
        await self._flow.account(self._ports_of(joins), None)
        joined = stay | dict.fromkeys(joins, name)
        await self._write(joined)
        self._pods = joined

    async def _write(self, pods: Pods) -> None:
        """Write the entries that are not yet as ``pods`` want them."""
        for station in sorted(self._number):
            for destination in sorted(self._ports):
                wanted = self._entry(pods, station, destination)
                if self._written.get((station, destination), NOBODY) != wanted:
                    # Should the access fail, nobody knows; then the entry is written again.
                    self._written[station, destination] = None
                    await self.switch.set_route(station, destination, wanted)
                    self._written[station, destination] = wanted

    def _entry(self, pods: Pods, station: int, destination: int) -> Route:
        pod = pods.get(destination)
        deny = frozenset(
            port
            for port in range(4)
            if pod is None or (source := self._faced.get((station, port))) is None or pods.get(source) != pod
        )
        ports = self._ports[destination]
        if deny == NOBODY.deny or self._number[station] >= len(ports):
            return NOBODY
        egress_station, egress_port = ports[self._number[station]]
        return Route(egress_station, egress_port, deny)

    async def _drain(self, ports: Sequence[SwitchPort]) -> None:
        """Wait until nothing that entered the core before now can still be in it on its way to one of ``ports``."""
        # No queue has held more than the mark, and two more may stand before it.
        most = (max([await self._flow.high_water(place) for place in ports], default=0) + 2) * self._served_within
        # Twice, because what goes to one port may have stood behind what went to another.
        for place in (*ports, *ports):
            await self._drain_port(place, most)

    async def _drain_port(self, place: SwitchPort, most: int) -> None:
        """Wait until of each kind nothing was there, or ``most`` have gone by."""
        left = await self._flow.under_way(place)
        first = {kind: await self._flow.forwarded(place, kind) for kind in sorted(left)}
        for _ in range(self.patience):
            left &= await self._flow.under_way(place)
            for kind in sorted(left):
                if (await self._flow.forwarded(place, kind) - first[kind]) % WRAP >= most:
                    left.remove(kind)
            if not left:
                return
        station, port = place
        raise FirmwareTimeout(f"items stand at port {port} of station {station} after {self.patience:,} looks")
