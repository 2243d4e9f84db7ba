"""Events of several windows of registers as one interrupt."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.table import WORD_BYTES, Access, BusSignature, Field, Register, RegisterMap

__all__ = ["Interrupts", "interrupt_registers"]


class Interrupts(wiring.Component):
    """An interrupt line that is up while an event is set in a window and enabled in its mask.

    An event is cleared where it stands, in its window.

    Parameters
    ----------
    windows : names and maps of the windows that have events.

    Members
    -------
    bus : ``BusSignature``, registers as of ``interrupt_registers(windows)``.
    events : ``events.<name>`` is ``pending`` of the ``RegisterBlock`` of each window.
    irq : the line, a register; reset value 0.
    """

    def __init__(self, windows: tuple[tuple[str, RegisterMap], ...]):
        self._windows = windows
        self.registers = interrupt_registers(windows)
        events = {name: Out(table.event_bits) for name, table in windows}
        super().__init__(
            {
                "bus": In(BusSignature(self.registers.address_bits)),
                "events": In(wiring.Signature(events)),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = RegisterBlock(self.registers)
        connect(m, flipped(self.bus), block.bus)
        m.d.comb += block.here.eq(1)
        enabled = Signal(len(self._windows))
        for number, (name, _) in enumerate(self._windows):
            shown, mask = getattr(block, f"{name}_events"), getattr(block, f"{name}_mask")
            fields = list(shown.signature.members)
            m.d.comb += [
                Cat(getattr(shown, field) for field in fields).eq(getattr(self.events, name)),
                getattr(block.pending_windows, name).eq(enabled[number]),
            ]
            chosen = Cat(getattr(mask, field) for field in fields)
            m.d.sync += enabled[number].eq((getattr(self.events, name) & chosen).any())
        m.d.sync += self.irq.eq(enabled.any())
        return m


def interrupt_registers(windows: tuple[tuple[str, RegisterMap], ...]) -> RegisterMap:
    """What is set and what is enabled of each window, after a word that tells where to look."""
    where = tuple(
        Field(name, str(number), Access.RO, 0, "An enabled event of this window is set.")
        for number, (name, _) in enumerate(windows)
    )
    registers = [Register("pending_windows", 0, where, "Why the interrupt line is up.")]
    for number, (name, table) in enumerate(windows, start=1):
        at = 2 * WORD_BYTES * number
        events = f"Events of {name}, to be cleared there."
        registers += [
            Register(f"{name}_events", at, _fields(table, Access.RO), events),
            Register(f"{name}_mask", at + WORD_BYTES, _fields(table, Access.RW), f"Events of {name} that interrupt."),
        ]
    return RegisterMap("interrupts", tuple(registers), "The interrupt line: events of the other windows, and masks.")


def _fields(table: RegisterMap, access: Access) -> tuple[Field, ...]:
    """The events of ``table`` side by side; where several registers have any, with the register before the name."""
    several = len({register.name for register, _ in table.events}) > 1
    fields, low = [], 0
    for register, field in table.events:
        name = f"{register.name.removesuffix('_events')}_{field.name}" if several else field.name
        bits = f"{low + field.width - 1}:{low}" if field.width > 1 else str(low)
        fields.append(Field(name, bits, access, 0, field.doc if access == Access.RO else ""))
        low += field.width
    return tuple(fields)
