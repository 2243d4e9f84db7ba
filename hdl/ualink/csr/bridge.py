"""The way from the bus of a device to its registers."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect

from ualink.csr.apb import APBRegisters
from ualink.csr.axi4_lite import AXI4LiteRegisters
from ualink.csr.table import BusSignature

__all__ = ["BusBridge"]


class BusBridge:
    """``AXI4LiteRegisters``, ``APBRegisters`` or, on the native bus, nothing.

    Parameters
    ----------
    bus : one of ``ualink.config.BUSES``.
    address_bits : those of the register bus.
    words : that are behind it, from address 0 on.

    Attributes
    ----------
    member : the bus of the device, as a member of its signature.
    """

    def __init__(self, bus: str, address_bits: int, words: int):
        self._inner: AXI4LiteRegisters | APBRegisters | None = None
        self.member: wiring.Member = In(BusSignature(address_bits))
        if bus == "axi4-lite":
            self._inner = AXI4LiteRegisters(address_bits, words)
            self.member = self._inner.signature.members["axi"]
        elif bus == "apb":
            self._inner = APBRegisters(address_bits)
            self.member = self._inner.signature.members["apb"]

    def bind(self, m: Module, outer, registers) -> None:
        """Join ``outer``, the bus of the device as it is inside, to ``registers``, a bus of a submodule of ``m``."""
        if self._inner is None:
            connect(m, outer, registers)
            return
        m.submodules.bridge = bridge = self._inner
        connect(m, outer, bridge.axi if isinstance(bridge, AXI4LiteRegisters) else bridge.apb)
        connect(m, bridge.bus, registers)
