"""One plane of a switch core, with the route tables before it: cores too large for one mapping are measured by them."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ualink.config import SwitchConfig
from ualink.switch.grid import Grid
from ualink.switch.queue_depths import QueueDepths
from ualink.switch.request_plane import RequestPlane
from ualink.switch.response_plane import ResponsePlane
from ualink.switch.route_table import RouteTable

__all__ = ["PLANES", "PlaneWithTables"]

PLANES = {"requests": "req", "read_responses": "rd_rsp", "write_responses": "wr_rsp"}
"""The planes of a core, and by which lookup of a route table their items go. They share nothing (UALink_200 §10.4)."""


class PlaneWithTables(wiring.Component):
    """A plane of ``PLANES`` of a core with one port to a station, and the copies of the route tables that it asks.

    Members are those of the plane but ``lookup``, and ``route_<n>``, ``RouteConfigSignature`` of station n.
    """

    def __init__(self, plane: str, stations: int):
        config = SwitchConfig(stations=stations)
        grid, depths = Grid(stations, config.ports_per_row), QueueDepths.of_credits(config.station.upli)
        self._channel = PLANES[plane]
        if plane == "requests":
            self._plane = RequestPlane(grid, depths)
        else:
            self._plane = ResponsePlane(self._channel, grid, getattr(depths, self._channel), depths.shared)
        self._tables = [RouteTable(config) for _ in range(stations)]
        self._outside = {name: member for name, member in self._plane.signature.members.items() if name != "lookup"}
        tables = {f"route_{n}": table.signature.members["config"] for n, table in enumerate(self._tables)}
        super().__init__({**self._outside, **tables})

    def elaborate(self, platform):
        m = Module()
        m.submodules.plane = plane = self._plane
        for n, table in enumerate(self._tables):
            m.submodules[f"route_table_{n}"] = table
            wiring.connect(m, plane.lookup[n], getattr(table, f"lookup_{self._channel}")[0])
            wiring.connect(m, wiring.flipped(getattr(self, f"route_{n}")), table.config)
        for path, member, port in wiring.Signature(self._outside).flatten(self):
            inner = plane
            for key in path:
                inner = inner[key] if isinstance(key, int) else getattr(inner, key)
            m.d.comb += inner.eq(port) if member.flow == In else port.eq(inner)
        return m
