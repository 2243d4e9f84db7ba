"""The registers of the injection at one station of a switch."""

from collections import defaultdict

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.table import BusSignature
from ualink.switch.injection.interface import InjectionSignature

from .injection_map import ITEM_FIELDS, injection_registers

__all__ = ["InjectionRegisterBlock"]


class InjectionRegisterBlock(wiring.Component):
    """What firmware sets and sees of a ``StationInjection``, at the addresses of ``injection_registers(ports)``.

    Parameters
    ----------
    ports : of the station.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    injection : ``InjectionSignature``.
    """

    def __init__(self, ports: int):
        self.registers = injection_registers(ports)
        self._block = RegisterBlock(self.registers)
        super().__init__(
            {
                "bus": In(BusSignature(self.registers.address_bits)),
                "injection": Out(InjectionSignature()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = self._block
        connect(m, flipped(self.bus), block.bus)
        injection = self.injection
        m.d.comb += [
            block.here.eq(1),
            block.control.allowed.eq(injection.allowed),
            injection.enable.eq(block.control.enable),
            injection.inject.eq(block.inject.start),
            block.inject.start_done.eq(injection.injected),
            injection.strike.eq(block.strike.start),
            block.strike.start_done.eq(injection.struck),
            injection.item.error.eq(block.inject.error),
            injection.port.eq(block.inject.port),
        ]
        for member, value in (
            (injection.kind, block.inject.kind),
            (injection.towards, block.inject.towards),
            (injection.point, block.strike.point),
        ):
            m.d.comb += Value.cast(member).eq(value)
        parts = defaultdict(list)
        for register, fields in ITEM_FIELDS.items():
            for field, (_, member, _) in fields.items():
                parts[member].append(getattr(getattr(block, register), field))
        for member, values in parts.items():
            m.d.comb += injection.item[member].eq(Cat(values))
        for count, event in ((block.counts.injected, injection.injected), (block.counts.struck, injection.struck)):
            m.d.sync += count.eq(count + event)
        return m
