"""The registers of a switch as a whole: what it is, and its route tables."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.config import SwitchConfig
from ualink.csr.block import RegisterBlock
from ualink.csr.stage import BusStage
from ualink.csr.table import BusSignature
from ualink.switch.route_table import RouteConfigSignature

from .route_map import switch_registers

__all__ = ["RouteRegisterBlock"]

SETTLES = 2
"""Cycles from a change of ``route_select``, or from a write of an entry, until ``read_data`` is of it."""


class RouteRegisterBlock(wiring.Component):
    """Access of firmware to the route tables of a ``SwitchCore``, at the addresses of ``switch_registers(config)``.

    An access takes four cycles: what it reads of an entry is of ``route_select`` as it was written in the access
    before, and has what was written to the entry in it.

    Parameters
    ----------
    config : of the switch.

    Members
    -------
    bus : ``BusSignature``.
    route_station : the table that ``route`` accesses.
    route : ``RouteConfigSignature``, to the core.
    """

    def __init__(self, config: SwitchConfig):
        self.registers = switch_registers(config)
        self._block = RegisterBlock(self.registers)
        super().__init__(
            {
                "bus": In(BusSignature(self.registers.address_bits)),
                "route_station": Out(range(config.stations)),
                "route": Out(RouteConfigSignature(config.stations)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = self._block
        m.submodules.stage = stage = BusStage(len(self.bus.address), SETTLES)
        connect(m, flipped(self.bus), stage.bus)
        connect(m, stage.far, block.bus)
        route, written, entry = self.route, block.route_write, block.route_entry
        m.d.comb += [
            block.here.eq(1),
            block.route_status.ready.eq(route.ready),
            self.route_station.eq(block.route_select.station),
            route.index.eq(block.route_select.accelerator),
            route.write.eq(written.start & route.ready),
            written.start_done.eq(route.ready),
            entry.upset.eq(route.read_wrong),
        ]
        for name in ("deny", "egress_port", "egress_station"):
            m.d.comb += [
                route.write_data[name].eq(getattr(written, name)),
                getattr(entry, name).eq(route.read_data[name]),
            ]
        return m
