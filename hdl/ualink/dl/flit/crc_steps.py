"""The CRC of a DL flit, a part of a beat per cycle, for links with fewer beats than cycles (UALink_200 §6.3.7)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, check_choice
from ualink.dl.flit.crc import CRC_BITS, POLYNOMIAL, PRESET
from ualink.dl.flit.format import BEAT_BYTES
from ualink.lib.gf2 import LinearMap, crc_input

__all__ = ["CYCLES_PER_BEAT", "CrcSteps"]

CYCLES_PER_BEAT = (1, 2, 4)
"""How far apart, at least, the beats of a link may be."""


class CrcSteps(wiring.Component):
    """CRC register over the parts of the beats of DL flits, before the final complement.

    The XOR is that of one part, and the register goes through it with the first bits of the part, as in the formula of
    the standard: there is time for that, and what is accumulated is the CRC itself.

    Parameters
    ----------
    field : as of ``CrcAccumulator``, from the last four bytes of the last part.
    cycles_per_beat : parts of a beat, 2 or 4.

    Members
    -------
    add : take ``part``; otherwise nothing changes.
    part : 512 / ``cycles_per_beat`` bits, byte n in bits 8n+7..8n.
    first, last : ``part`` is the first of its flit, the last.
    remainder : combinational: 32 bits, the register with ``part`` in it, bit n = coefficient of x^n.
    """

    def __init__(self, field: LinearMap, cycles_per_beat: int):
        if (field.inputs, field.outputs) != (CRC_BITS, CRC_BITS):
            raise ConfigError(f"the map of the CRC field is {field.inputs}x{field.outputs} bits; it must be 32x32")
        check_choice("cycles_per_beat", cycles_per_beat, CYCLES_PER_BEAT[1:])
        self._field = field
        self._bits = 8 * BEAT_BYTES // cycles_per_beat
        super().__init__(
            {"add": In(1), "part": In(self._bits), "first": In(1), "last": In(1), "remainder": Out(CRC_BITS)},
        )

    def elaborate(self, platform):
        m = Module()
        register = Signal(CRC_BITS, init=PRESET)
        before = Mux(self.first, PRESET, register)
        field = self.part[-CRC_BITS:]
        # The highest coefficient goes with the bit that came first.
        mixed = Signal(self._bits)
        m.d.comb += [
            mixed.eq(Cat(self.part[:-CRC_BITS], Mux(self.last, 0, field)) ^ before[::-1]),
            self.remainder.eq(
                crc_input(POLYNOMIAL, CRC_BITS, self._bits).emit(m, mixed)
                ^ self._field.emit(m, Mux(self.last, field, 0))
            ),
        ]
        with m.If(self.add):
            m.d.sync += register.eq(self.remainder)
        return m
