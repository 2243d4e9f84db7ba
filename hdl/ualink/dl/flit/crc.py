"""The CRC of a DL flit, 64 bytes per cycle (UALink_200 §6.3.7)."""

from functools import reduce
from operator import xor

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, check_choice
from ualink.dl.flit.format import BEAT_BYTES
from ualink.lib.gf2 import LinearMap, crc_advance, crc_input, crc_square

__all__ = [
    "CRC_BITS",
    "CRC_STAGES",
    "FROM_ROOT",
    "POLYNOMIAL",
    "PRESET",
    "TO_ROOT",
    "CrcAccumulator",
    "accumulator_latency",
    "crc_field_map",
]

CRC_BITS = 32
POLYNOMIAL = 0x04C11DB7
PRESET = 0xFFFFFFFF

CRC_STAGES = {1: 1, 2: 2, 3: 2, 4: 3}
"""Depths that generator and checker can have, with how many of the registers are the accumulator's."""

_BEAT_BITS = 8 * BEAT_BYTES
_SQUARINGS = _BEAT_BITS.bit_length() - 1
_CHUNK_BITS = 64

FROM_ROOT = crc_square(POLYNOMIAL, CRC_BITS) ** _SQUARINGS
"""From what is accumulated to the CRC register: the 512th power.

A beat multiplies the CRC register by x^512, which takes XORs of some sixteen bits. Raising to the 512th power, nine
squarings, is linear too and turns a factor x into a factor x^512. So the 512th root of the register is kept, which a
beat multiplies by x alone: a shift with feedback, XORs of two bits, however wide a beat is.
"""

TO_ROOT = FROM_ROOT.inverse()

_ROOT_STEP = crc_advance(POLYNOMIAL, CRC_BITS, 1)
_ROOT_PRESET = TO_ROOT(PRESET)
_BEAT_INPUT = TO_ROOT @ crc_input(POLYNOMIAL, CRC_BITS, _BEAT_BITS)


def crc_field_map(covers_zero_field: bool) -> LinearMap:
    """From the accumulated register (640 bytes, CRC field taken as zero) to the complement of the CRC.

    The literal reading (ruling A-05 (DL), ``covers_zero_field``) takes the register as it is; the other reading has the
    zero field stand for the multiplication by x^32 that the FCS does anyway, so that the 32 zeros are undone.
    """
    if not isinstance(covers_zero_field, bool):
        raise ConfigError(f"covers_zero_field is {covers_zero_field!r}; it must be True or False")
    return crc_advance(POLYNOMIAL, CRC_BITS, 0 if covers_zero_field else -CRC_BITS)


def accumulator_latency(stages: int) -> int:
    """How many of a generator's or checker's ``stages`` registers the accumulator has; ConfigError for other depths.

    1 stage: all in one cycle; 2: a register behind the XOR of 512 bits; 3: another behind the result; 4: another within
    the XOR of 512 bits.
    """
    check_choice("stages", stages, tuple(CRC_STAGES))
    return CRC_STAGES[stages]


class CrcAccumulator(wiring.Component):
    """512th root of the CRC register over the beats of DL flits, before the final complement.

    Latency: ``latency`` enabled cycles from a beat to ``root``. The last of them XORs at most four bits. Flits may
    follow each other without a gap; cycles without ``valid`` change nothing.

    Parameters
    ----------
    field : map of 32 bits to 32 bits, how the last four bytes of the last beat enter the CRC register. The CRC is
        defined over zeros in their place; a receiver may instead map the CRC it got so that a match leaves one
        constant.
    latency : 1 to 3.

    Members
    -------
    enable : advance all stages.
    valid, data, first, last : a beat, byte n in bits 8n+7..8n; bit 0 of byte 0 of the flit enters the CRC first.
    root : 32 bits; ``FROM_ROOT`` makes of it the register, bit n = coefficient of x^n. Reset value 0.
    """

    def __init__(self, field: LinearMap, latency: int = 2):
        if (field.inputs, field.outputs) != (CRC_BITS, CRC_BITS):
            raise ConfigError(f"the map of the CRC field is {field.inputs}x{field.outputs} bits; it must be 32x32")
        check_choice("latency", latency, (1, 2, 3))
        self._field = TO_ROOT @ field
        self._latency = latency
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "data": In(_BEAT_BITS),
                "first": In(1),
                "last": In(1),
                "root": Out(CRC_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        valid, first, parts = self.valid, self.first, self._parts(m)
        if self._latency == 3:
            valid, first, parts = self._register(m, "chunk", valid, first, parts)
        # The last part has waited for ``last``, so it is not added to the others at once.
        parts = [reduce(xor, parts[:-1]), parts[-1]]
        if self._latency >= 2:
            valid, first, parts = self._register(m, "beat", valid, first, parts)
        before = Mux(first, _ROOT_STEP(_ROOT_PRESET), _ROOT_STEP.emit(m, self.root))
        with m.If(self.enable & valid):
            m.d.sync += self.root.eq(reduce(xor, parts, before))
        return m

    def _parts(self, m):
        """What the beat adds, as several values to XOR; the last one is out of the bytes of the CRC field.

        With a register behind them each is out of eight bytes: these can be near to each other. All 64 bytes at once
        take fewer XORs, so tied to each other that an ECP5 has not the wires for them.
        """
        field_start = _BEAT_BITS - CRC_BITS
        size = _CHUNK_BITS if self._latency == 3 else field_start
        parts = [
            _BEAT_INPUT.slice(start, min(start + size, field_start)).emit(
                m, self.data[start : min(start + size, field_start)]
            )
            for start in range(0, field_start, size)
        ]
        field = self.data[field_start:]
        received = self._field.emit(m, field)
        parts.append(Mux(self.last, received, _BEAT_INPUT.slice(field_start, _BEAT_BITS).emit(m, field)))
        return parts

    def _register(self, m, name, valid, first, parts):
        """The same one enabled cycle later."""
        valid_after = Signal(name=f"{name}_valid")
        first_after = Signal(name=f"{name}_first", reset_less=True)
        after = [Signal(CRC_BITS, name=f"{name}_{n}", reset_less=True) for n in range(len(parts))]
        with m.If(self.enable):
            m.d.sync += [valid_after.eq(valid), first_after.eq(first)]
            m.d.sync += [signal.eq(part) for signal, part in zip(after, parts)]
        return valid_after, first_after, after
