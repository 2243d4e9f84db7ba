"""The registers of what went through one port of the switch core."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.table import BusSignature
from ualink.switch.flow import COUNTS, PLANES, FlowSignature
from ualink.switch.queue_depths import QueueDepths

from .flow_map import FLOW_REGISTERS, HIGH_WATER_FIELDS

__all__ = ["FlowRegisterBlock"]


class FlowRegisterBlock(wiring.Component):
    """What firmware sees of one port of a ``SwitchCore``, at the addresses of ``FLOW_REGISTERS``.

    Parameters
    ----------
    depths : of the queues.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    flow : ``FlowSignature``.
    """

    def __init__(self, depths: QueueDepths):
        self.registers = FLOW_REGISTERS
        self._block = RegisterBlock(self.registers)
        super().__init__(
            {
                "bus": In(BusSignature(self.registers.address_bits)),
                "flow": In(FlowSignature(depths)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = self._block
        connect(m, flipped(self.bus), block.bus)
        m.d.comb += block.here.eq(1)
        for plane in PLANES:
            for count in COUNTS:
                name = f"{plane}_{count}"
                m.d.comb += getattr(block, name).count.eq(getattr(self.flow, name))
            m.d.comb += getattr(block.under_way, plane).eq(getattr(self.flow, f"{plane}_under_way"))
            for field, channel in HIGH_WATER_FIELDS[plane].items():
                shown = getattr(getattr(block, f"{plane}_high_water"), field)
                m.d.comb += shown.eq(getattr(self.flow, f"{channel}_high_water"))
        return m
