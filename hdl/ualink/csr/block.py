"""The hardware of a table of registers."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.config import ConfigError
from ualink.csr.table import WORD_BITS, WORD_BYTES, Access, BusSignature, Field, Register, RegisterMap

__all__ = ["RegisterBlock"]


class RegisterBlock(wiring.Component):
    """Decoder and registers of a ``RegisterMap``.

    An access takes one cycle; one to a queue (``pop``, ``push``) waits for the next cycle with ``here``, in which
    words move. What the hardware sees of a ``go`` field changes at the end of cycles with ``here`` only: whoever looks
    in these cycles sees every start as a rise, after a cycle at 0, also when firmware withdraws and starts again at
    once.

    Members
    -------
    bus : ``BusSignature``.
    here : the hardware behind go fields and queues looks in this cycle.
    pending : the bits of ``registers.events`` as they are now, in their order; exists where there are any.
    refused : pulse: a write had a value that is not allowed; it has changed nothing in its register.
    <register>.<field> : what the hardware sees of each field, ``constant`` excepted: an input for ``ro``; an output for
        ``rw``; for ``w1c`` an input with one event per bit; for ``go`` an output that is up until ``<field>_done`` is
        seen up with it; for ``pop`` and ``push`` a stream from or to the queue. The go field of a register that takes
        snapshots has no member.
    """

    def __init__(self, registers: RegisterMap):
        self.registers = registers
        members: dict[str, wiring.Member] = {
            "bus": In(BusSignature(registers.address_bits)),
            "here": In(1),
            "refused": Out(1),
        }
        if registers.events:
            members["pending"] = Out(registers.event_bits)
        for register in registers:
            if register.name in members:
                raise ConfigError(f"a register cannot be called {register.name!r}")
            if register.name not in registers.takes_snapshots:
                fields = {name: member for field in register.fields for name, member in _members(field).items()}
                members[register.name] = Out(wiring.Signature(fields))
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        bus = self.bus
        self._sticky: dict[tuple[str, str], Signal] = {}
        started = Signal()
        waiting = Signal()
        waiting_write = Signal()
        reading = Signal()
        writing = Signal()
        stall = Signal()
        fault = Signal()
        word = Signal(WORD_BITS)
        # A master that starts an access before the last one is done is not heard.
        m.d.comb += [
            started.eq((bus.read | bus.write) & ~waiting),
            reading.eq((started & ~bus.write) | (waiting & ~waiting_write)),
            writing.eq((started & ~bus.read) | (waiting & waiting_write)),
        ]
        m.d.sync += [
            waiting.eq((reading | writing) & stall),
            waiting_write.eq(writing),
            bus.done.eq((started | waiting) & ~stall),
            bus.error.eq((started | waiting) & ~stall & (fault | (reading == writing))),
            bus.read_data.eq(Mux(reading & ~stall, word, 0)),
        ]

        m.d.comb += fault.eq(1)
        selected = {register.name: Signal(name=f"selected_{register.name}") for register in self.registers}
        copy = {name: Signal(name=f"copy_{name}") for name in self.registers.takes_snapshots}
        outcomes = {}
        for register in self.registers:
            here = selected[register.name]
            outcomes[register.name] = self._register(m, register, reading & here, writing & here, copy)
        with m.Switch(bus.address):
            for register in self.registers:
                shown, wait, failed = outcomes[register.name]
                for mistaken, possible in ((reading, register.readable), (writing, register.writable)):
                    failed = failed if possible else failed | mistaken
                with m.Case(register.offset // WORD_BYTES):
                    m.d.comb += [
                        selected[register.name].eq(1),
                        word.eq(shown),
                        stall.eq(wait),
                        fault.eq(failed),
                    ]
        if self.registers.events:
            sticky = [self._sticky[register.name, field.name] for register, field in self.registers.events]
            m.d.comb += self.pending.eq(Cat(sticky))
        return m

    def _register(self, m: Module, register: Register, read, write, copy: dict[str, Signal]):
        """The word that a read shows; must the access wait; does it fail."""
        if register.name in copy:
            (field,) = register.fields
            m.d.comb += copy[register.name].eq(write & self._written(field))
            return Const(0), Const(0), Const(0)
        refused = Signal(name=f"refused_{register.name}")
        for field in register.fields:
            if field.allowed is not None:
                with m.If(write & ~_is_allowed(field, self._written(field))):
                    m.d.comb += [refused.eq(1), self.refused.eq(1)]
        write = write & ~refused
        word: list[Value] = []
        wait, failed = Const(0), refused
        for field in sorted(register.fields, key=lambda field: field.low):
            match field.access:
                case Access.CONSTANT:
                    value = Const(field.reset, field.width)
                case Access.RO:
                    value = self._member(register, field)
                case Access.RW:
                    value = self._rw(m, register, field, write)
                case Access.W1C:
                    value = self._w1c(m, register, field, write)
                case Access.GO:
                    value = self._go(m, register, field, write)
                case Access.POP:
                    value, wait, failed = self._pop(m, register, field, read)
                case Access.PUSH:
                    value, wait, failed = self._push(m, register, field, write)
            word += [Const(0, field.low - len(Cat(word))), value]
        shown = Cat(word)
        if register.snapshot:
            kept = Signal(len(shown), name=f"snapshot_{register.name}")
            with m.If(copy[register.snapshot]):
                m.d.sync += kept.eq(shown)
            return kept, wait, failed
        return shown, wait, failed

    def _member(self, register: Register, field: Field, suffix: str = ""):
        return getattr(getattr(self, register.name), field.name + suffix)

    def _written(self, field: Field):
        return self.bus.write_data[field.low : field.high + 1]

    def _rw(self, m: Module, register: Register, field: Field, write):
        value = self._member(register, field)
        with m.If(write):
            m.d.sync += value.eq(self._written(field))
        return value

    def _w1c(self, m: Module, register: Register, field: Field, write):
        sticky = Signal(field.width, name=f"{register.name}_{field.name}")
        self._sticky[register.name, field.name] = sticky
        cleared = Mux(write, self._written(field), 0)
        m.d.sync += sticky.eq((sticky & ~cleared) | self._member(register, field))
        return sticky

    def _go(self, m: Module, register: Register, field: Field, write):
        going = Signal(name=f"{register.name}_{field.name}_going")
        pause = Signal(name=f"{register.name}_{field.name}_pause")
        done = Signal(name=f"{register.name}_{field.name}_finished")
        level = self._member(register, field)
        started = write & self._written(field)
        withdrawn = write & ~self._written(field)
        m.d.comb += done.eq(self.here & level & ~pause & self._member(register, field, "_done"))
        # Between two looks firmware may withdraw and start again: `pause` keeps the fall in between.
        with m.If(self.here):
            m.d.sync += [level.eq(going & ~pause & ~done & ~withdrawn), pause.eq(0)]
        with m.If(started):
            m.d.sync += going.eq(1)
        with m.Elif(done | withdrawn):
            m.d.sync += going.eq(0)
        with m.If(withdrawn & level):
            m.d.sync += pause.eq(1)
        return going

    def _pop(self, m: Module, register: Register, field: Field, read):
        source = self._member(register, field)
        m.d.comb += source.ready.eq(read & self.here)
        return Mux(source.valid, source.p, 0), read & ~self.here, read & ~source.valid

    def _push(self, m: Module, register: Register, field: Field, write):
        # A word that the queue has not taken yet stands here; it cannot be taken back.
        sink = self._member(register, field)
        full = sink.valid & ~(self.here & sink.ready)
        with m.If(self.here & sink.ready):
            m.d.sync += sink.valid.eq(0)
        with m.If(write & ~full):
            m.d.sync += [sink.valid.eq(1), sink.p.eq(self._written(field))]
        return Const(0, field.width), write & full & ~self.here, write & full


def _members(field: Field) -> dict[str, wiring.Member]:
    """What the hardware sees of ``field``."""
    match field.access:
        case Access.RO | Access.W1C:
            return {field.name: In(field.width)}
        case Access.RW:
            return {field.name: Out(field.width, init=field.reset)}
        case Access.GO:
            return {field.name: Out(1), f"{field.name}_done": In(1)}
        case Access.POP:
            return {field.name: In(stream.Signature(field.width))}
        case Access.PUSH:
            return {field.name: Out(stream.Signature(field.width))}
    return {}


def _is_allowed(field: Field, value):
    """Is ``value`` one of ``field.allowed``?"""
    if isinstance(field.allowed, range):
        low = value >= field.allowed[0] if field.allowed[0] else Const(1)
        high = value <= field.allowed[-1] if field.allowed[-1] + 1 < 1 << field.width else Const(1)
        return low & high
    return value.matches(*(field.allowed or ()))
