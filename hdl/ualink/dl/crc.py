"""The CRC of a DL flit, 64 bytes per cycle (UALink_200 §6.3.7)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError
from ualink.dl.flit import BEAT_BYTES
from ualink.lib.gf2 import LinearMap, crc_advance, crc_input

__all__ = ["CRC_BITS", "CrcAccumulator", "crc_field_map"]

CRC_BITS = 32
POLYNOMIAL = 0x04C11DB7
PRESET = 0xFFFFFFFF

_BEAT_BITS = 8 * BEAT_BYTES
_FIELD_START = _BEAT_BITS - CRC_BITS
_BEAT_ADVANCE = crc_advance(POLYNOMIAL, CRC_BITS, _BEAT_BITS)
_BEAT_INPUT = crc_input(POLYNOMIAL, CRC_BITS, _BEAT_BITS)


def crc_field_map(covers_zero_field: bool) -> LinearMap:
    """From the accumulated register (640 bytes, CRC field taken as zero) to the complement of the CRC.

    The literal reading (ruling A-05 (DL), ``covers_zero_field``) takes the register as it is; the other reading has the
    zero field stand for the multiplication by x^32 that the FCS does anyway, so that the 32 zeros are undone.
    """
    if not isinstance(covers_zero_field, bool):
        raise ConfigError(f"covers_zero_field is {covers_zero_field!r}; it must be True or False")
    return crc_advance(POLYNOMIAL, CRC_BITS, 0 if covers_zero_field else -CRC_BITS)


class CrcAccumulator(wiring.Component):
    """CRC register over the beats of DL flits, before the final complement.

    Latency: two enabled cycles from a beat to ``register``. The first holds the XOR of 512 bits, the second the
    combination with what went before. Flits may follow each other without a gap; cycles without ``valid`` change
    nothing.

    Parameters
    ----------
    field : map of 32 bits to 32 bits, how the last four bytes of the last beat enter the register. The CRC is defined
        over zeros in their place; a receiver may instead map the CRC it got so that a match leaves one constant.

    Members
    -------
    enable : advance both stages.
    valid, data, first, last : a beat, byte n in bits 8n+7..8n; bit 0 of byte 0 of the flit enters the CRC first.
    register : 32 bits, bit n = coefficient of x^n. Reset value 0.
    """

    def __init__(self, field: LinearMap):
        if (field.inputs, field.outputs) != (CRC_BITS, CRC_BITS):
            raise ConfigError(f"the map of the CRC field is {field.inputs}x{field.outputs} bits; it must be 32x32")
        self._field = field
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "data": In(_BEAT_BITS),
                "first": In(1),
                "last": In(1),
                "register": Out(CRC_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()

        body = _BEAT_INPUT.slice(0, _FIELD_START).emit(self.data[:_FIELD_START])
        tail = self.data[_FIELD_START:]
        tail_part = Mux(self.last, self._field.emit(tail), _BEAT_INPUT.slice(_FIELD_START, _BEAT_BITS).emit(tail))

        part = Signal(CRC_BITS, reset_less=True)
        part_valid = Signal()
        part_first = Signal(reset_less=True)
        with m.If(self.enable):
            m.d.sync += [
                part.eq(body ^ tail_part),
                part_first.eq(self.first),
                part_valid.eq(self.valid),
            ]
            with m.If(part_valid):
                before = Mux(part_first, _BEAT_ADVANCE(PRESET), _BEAT_ADVANCE.emit(self.register))
                m.d.sync += self.register.eq(before ^ part)

        return m
