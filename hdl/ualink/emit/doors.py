"""Which outputs of a room come from registers, and which depend on what comes in during the same cycle.

A room is a component that a hub wires to others; a door is a member of its signature by which it gives something. The
analysis is of the elaborated design and exact to the bit, through all that lies in a room: each room is made a netlist
once, and its hub takes it for a cell of which it is known what depends on what. It rests on Amaranth's own netlist
(``amaranth.hdl._nir``), as of 0.5.10.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from amaranth.hdl import Const, Value
from amaranth.hdl._ir import Fragment, Instance, PortDirection, build_netlist
from amaranth.hdl._mem import MemoryInstance
from amaranth.hdl._nir import Netlist
from amaranth.lib import wiring

from ualink.lib.contract import HARDWARE

from .gate_levels import Arrivals, Cone
from .quick_nets import quick_nets

__all__ = ["Door", "HiddenDoor", "doors"]


class HiddenDoor(ValueError):
    """A hub reads a signal of a room that is no member of its signature."""


@dataclass(frozen=True)
class Door:
    """An output of a room.

    ``inputs`` are the members of the room that act on it in the same cycle, ``gates`` the most two-input gates on a way
    to it inside the room, from these or from a register.
    """

    name: str
    inputs: tuple[str, ...]
    gates: int

    @property
    def kind(self) -> str:
        """``register``: from registers, or nothing but wires; ``early``: logic behind registers; ``late``: more."""
        if self.inputs:
            return "late"
        return "early" if self.gates else "register"


class _Room:
    """The ports of a component, and the cone of each bit of its outputs once they are known."""

    def __init__(self, component: wiring.Component):
        self.ports: list[tuple[str, Value, bool]] = []
        for path, member, port in component.signature.flatten(component):
            value = Value.cast(port)
            if not isinstance(value, Const) and len(value):
                self.ports.append((".".join(map(str, path)), value, member.flow == wiring.In))
        self.cones: dict[str, list[Cone]] = {}
        self.starts: dict[str, int] = {}
        start = 0
        for name, value, is_input in self.ports:
            if is_input:
                self.starts[name] = start
                start += len(value)

    def doors(self) -> list[Door]:
        """What the cones say."""
        found = []
        for name, cones in self.cones.items():
            sources = 0
            for cone in cones:
                sources |= cone.inputs
            inputs = [
                port
                for port, value, is_input in self.ports
                if is_input and (sources >> self.starts[port]) & ((1 << len(value)) - 1)
            ]
            gates = max((max(cone.settled, cone.through) for cone in cones), default=0)
            found.append(Door(name, tuple(sorted(inputs)), max(gates, 0)))
        return sorted(found, key=lambda door: door.name)


def doors(component: wiring.Component, hubs: Iterable[str]) -> dict[str, list[Door]]:
    """The doors of every room in ``component`` by the room's path, such as ``tl.transmit.packer``.

    ``hubs`` are the paths of those whose submodules are rooms, with ``""`` for ``component`` itself; each of them is a
    room of its own hub too. A memory is part of the hub that has it. A reset that a hub inserts into a room acts on
    registers and is no input.
    """
    hubs = set(hubs)
    found: dict[str, list[Door]] = {}
    _enter(Fragment.get(component, HARDWARE), component, "", hubs, found)
    missing = hubs - found.keys()
    if missing:
        raise ValueError(f"there is no hub {', '.join(sorted(missing))}")
    return dict(sorted(found.items()))


def _enter(fragment, component, path: str, hubs: set[str], found: dict[str, list[Door]]) -> tuple[_Room, Netlist]:
    rooms: dict[str, tuple[_Room, Netlist]] = {}
    if path in hubs:
        for index, (part, name, src_loc) in enumerate(fragment.subfragments):
            below = next((origin for origin in part.origins or () if isinstance(origin, wiring.Component)), None)
            if below is None or name is None or isinstance(part, (Instance, MemoryInstance)):
                continue
            rooms[name] = _enter(part, below, f"{path}.{name}".lstrip("."), hubs, found)
            fragment.subfragments[index] = (_cell(name, rooms[name][0]), name, src_loc)
    room = _Room(component)
    ports = {name: (value, _DIRECTION[is_input]) for name, value, is_input in room.ports}
    with quick_nets():
        netlist = build_netlist(fragment, ports=ports, name=path or "top")
    for name, (below, inside) in rooms.items():
        _refuse_hidden(f"{path}.{name}".lstrip("."), below, inside, netlist)
    arrivals = Arrivals(netlist, room.starts, {name: below for name, (below, _) in rooms.items()})
    room.cones = {
        name: [arrivals.cone(net) for net in netlist.top.ports_o[name]]
        for name, _, is_input in room.ports
        if not is_input
    }
    found[path] = room.doors()
    return room, netlist


_DIRECTION = {True: PortDirection.Input, False: PortDirection.Output}


def _cell(name: str, room: _Room) -> Instance:
    return Instance(name, *(("i" if is_input else "o", port, value) for port, value, is_input in room.ports))


def _refuse_hidden(path: str, room: _Room, inside: Netlist, hub: Netlist) -> None:
    members = {id(value) for _, value, _ in room.ports}
    for signal, nets in inside.signals.items():
        if id(signal) not in members and signal in hub.signals and not all(net.is_const for net in nets):
            raise HiddenDoor(f"{signal.name} of {path} is read by its hub and is no member of its signature")
