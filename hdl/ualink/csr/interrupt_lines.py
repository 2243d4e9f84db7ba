"""Interrupt lines of several parts as one."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.checks import check_integer
from ualink.csr.block import RegisterBlock
from ualink.csr.table import WORD_BITS, WORD_BYTES, Access, BusSignature, Field, Register, RegisterMap

__all__ = ["InterruptLines", "interrupt_line_registers"]


class InterruptLines(wiring.Component):
    """An interrupt line that is up while one of several is. Masks and events are where these come from.

    Parameters
    ----------
    part : what each line belongs to, in one word, such as "station".
    count : lines, 1 or more.

    Members
    -------
    bus : ``BusSignature``, registers as of ``interrupt_line_registers(part, count)``.
    lines : a bit per part.
    irq : the line, a register, one cycle after ``lines``; reset value 0.
    """

    def __init__(self, part: str, count: int):
        check_integer("count", count, 1)
        self.registers = interrupt_line_registers(part, count)
        super().__init__(
            {"bus": In(BusSignature(self.registers.address_bits)), "lines": In(count), "irq": Out(1)},
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = RegisterBlock(self.registers)
        connect(m, flipped(self.bus), block.bus)
        shown = [
            getattr(getattr(block, register.name), field.name)
            for register in self.registers
            for field in register.fields
        ]
        m.d.comb += [block.here.eq(1), Cat(shown).eq(self.lines)]
        m.d.sync += self.irq.eq(self.lines.any())
        return m


def interrupt_line_registers(part: str, count: int) -> RegisterMap:
    """A bit for each of ``count`` parts, in as many words as it takes."""
    registers = []
    for word, first in enumerate(range(0, count, WORD_BITS)):
        fields = tuple(
            Field(f"{part}_{number}", str(number - first), Access.RO, 0, "Its interrupt line is up.")
            for number in range(first, min(first + WORD_BITS, count))
        )
        registers.append(Register(f"pending_{word}", WORD_BYTES * word, fields, "Why the interrupt line is up."))
    return RegisterMap("interrupt_lines", tuple(registers), "The interrupt line: those of the parts that it is up for.")
