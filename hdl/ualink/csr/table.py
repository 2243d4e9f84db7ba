"""Control and status registers: a table of registers as data, and the bus on which firmware reaches them.

``block`` makes hardware of a table, ``text`` JSON, SystemRDL and a page, ``windows`` puts several blocks on
one bus.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, check_integer

__all__ = ["WORD_BITS", "Access", "BusSignature", "Field", "Register", "RegisterMap"]

WORD_BITS = 32
WORD_BYTES = WORD_BITS // 8

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_BITS = re.compile(r"(\d+)(?::(\d+))?")


class Access(StrEnum):
    """What reading and writing of a field do."""

    CONSTANT = "constant"
    """Reads what was chosen when the hardware was built."""
    RO = "ro"
    """Reads what the hardware shows; writing changes nothing."""
    RW = "rw"
    """Reads what was last written."""
    W1C = "w1c"
    """Each bit is set by an event and stays; writing 1 clears it, unless the event comes in that very cycle."""
    GO = "go"
    """Writing 1 starts something, writing 0 withdraws it; reads 1 until it is done. 1 while it reads 1 does nothing."""
    POP = "pop"
    """Reading takes the oldest word out of a queue; an error when there is none."""
    PUSH = "push"
    """Writing appends a word to a queue; an error when it is full."""

    @property
    def readable(self) -> bool:
        """A read of the register shows the field."""
        return self != Access.PUSH

    @property
    def writable(self) -> bool:
        """A write of the register can do something to the field."""
        return self not in (Access.CONSTANT, Access.RO, Access.POP)


@dataclass(frozen=True)
class Field:
    """Bits of a register.

    ``bits`` is written as in the standard's tables, ``"25:16"`` or ``"31"``. ``reset`` is the value after reset; for
    ``ro`` the one that the hardware shows then. A write with a value that is not in ``allowed`` (None: all are) is
    refused. ``values`` names values of the field.
    """

    name: str
    bits: str
    access: Access
    reset: int = 0
    doc: str = ""
    allowed: range | tuple[int, ...] | None = None
    values: tuple[tuple[str, int], ...] = ()

    def __post_init__(self):
        _check_name("field", self.name)
        found = _BITS.fullmatch(self.bits)
        if not found or self.low > self.high or self.high >= WORD_BITS:
            raise ConfigError(f"field {self.name}: bits are {self.bits!r}; they must be like '7:0' or '3', up to 31")
        if isinstance(self.reset, bool):
            raise ConfigError(f"field {self.name}: reset value is {self.reset}; it must be a number")
        if not 0 <= self.reset < 1 << self.width:
            raise ConfigError(f"field {self.name}: reset value {self.reset} does not fit in {self.width} bits")
        if self.access in (Access.GO, Access.W1C) and self.reset:
            raise ConfigError(f"field {self.name}: reset value is {self.reset}; a {self.access} field starts with 0")
        if self.access == Access.GO and self.width != 1:
            raise ConfigError(f"field {self.name}: bits are {self.bits!r}; a go field has one")
        self._check_allowed()
        for name, value in self.values:
            _check_name("value", name)
            if not 0 <= value < 1 << self.width:
                raise ConfigError(f"field {self.name}: value {name} = {value} does not fit in {self.width} bits")

    def _check_allowed(self):
        if self.allowed is None:
            return
        if self.access != Access.RW:
            raise ConfigError(f"field {self.name}: allowed values are for rw fields, this one is {self.access}")
        if isinstance(self.allowed, range) and self.allowed.step != 1:
            raise ConfigError(f"field {self.name}: allowed is {self.allowed}; the step of a range must be 1")
        # The ends of a range, which may be long.
        ends = (self.allowed[:1], self.allowed[-1:]) if isinstance(self.allowed, range) else (self.allowed,)
        if not self.allowed or not all(0 <= value < 1 << self.width for values in ends for value in values):
            raise ConfigError(f"field {self.name}: allowed is {self.allowed}; it must be values of {self.width} bits")
        if self.reset not in self.allowed:
            raise ConfigError(f"field {self.name}: reset value {self.reset} is not allowed")

    @property
    def high(self) -> int:
        """The most significant bit."""
        return int(self.bits.partition(":")[0])

    @property
    def low(self) -> int:
        """The least significant bit."""
        return int(self.bits.rpartition(":")[2])

    @property
    def width(self) -> int:
        """Number of bits."""
        return self.high - self.low + 1


@dataclass(frozen=True)
class Register:
    """A word of 32 bits.

    ``offset`` is in bytes from the start of the block. ``snapshot`` names the register whose ``go`` field copies this
    one, together with all others that name it: reads show the copy, and so values of one and the same cycle.
    """

    name: str
    offset: int
    fields: tuple[Field, ...]
    doc: str = ""
    snapshot: str = ""

    def __post_init__(self):
        _check_name("register", self.name)
        if self.offset < 0 or self.offset % WORD_BYTES:
            raise ConfigError(f"register {self.name}: offset {self.offset:#x} is not a multiple of {WORD_BYTES}")
        if not self.fields or len({field.name for field in self.fields}) != len(self.fields):
            raise ConfigError(f"register {self.name}: it needs fields, each with a name of its own")
        taken = 0
        for field in self.fields:
            mask = ((1 << field.width) - 1) << field.low
            if taken & mask:
                raise ConfigError(f"register {self.name}: {field.name} has bits {field.bits} in common with another")
            taken |= mask
        kinds = [field.access for field in self.fields]
        if len(kinds) > 1 and (Access.POP in kinds or Access.PUSH in kinds):
            raise ConfigError(f"register {self.name}: a pop or push field stands alone")
        if kinds.count(Access.GO) > 1:
            raise ConfigError(f"register {self.name}: with two go fields a write to one would withdraw the other")
        if self.snapshot and set(kinds) != {Access.RO}:
            raise ConfigError(f"register {self.name}: only ro fields have a snapshot")

    def __getitem__(self, name: str) -> Field:
        """The field called ``name``."""
        return next(field for field in self.fields if field.name == name)

    def has(self, access: Access) -> bool:
        """Is there a field with this ``access``?"""
        return any(field.access == access for field in self.fields)

    @property
    def readable(self) -> bool:
        """Reading is no error."""
        return any(field.access.readable for field in self.fields)

    @property
    def writable(self) -> bool:
        """Writing is no error."""
        return any(field.access.writable for field in self.fields)


@dataclass(frozen=True)
class RegisterMap:
    """The registers of a block."""

    name: str
    registers: tuple[Register, ...]
    doc: str = ""

    def __post_init__(self):
        _check_name("register map", self.name)
        for what in ("name", "offset"):
            seen = [getattr(register, what) for register in self.registers]
            if not seen or len(set(seen)) != len(seen):
                raise ConfigError(f"register map {self.name}: each register needs its own {what}; they are {seen}")
        for register in self.registers:
            if register.snapshot and not (
                register.snapshot in self and [field.access for field in self[register.snapshot].fields] == [Access.GO]
            ):
                raise ConfigError(
                    f"register {register.name}: snapshot is {register.snapshot!r}; it must be a register with a go "
                    f"field only"
                )

    def __iter__(self) -> Iterator[Register]:
        return iter(sorted(self.registers, key=lambda register: register.offset))

    def __contains__(self, name: str) -> bool:
        return any(register.name == name for register in self.registers)

    def __getitem__(self, name: str) -> Register:
        """The register called ``name``."""
        return next(register for register in self.registers if register.name == name)

    @property
    def events(self) -> tuple[tuple[Register, Field], ...]:
        """The ``w1c`` fields with their registers, lowest register and bit first."""
        return tuple(
            (register, field)
            for register in self
            for field in sorted(register.fields, key=lambda field: field.low)
            if field.access == Access.W1C
        )

    @property
    def event_bits(self) -> int:
        """How many bits the ``events`` have together."""
        return sum(field.width for _, field in self.events)

    @property
    def takes_snapshots(self) -> set[str]:
        """Names of the registers that copy others."""
        return {register.snapshot for register in self.registers if register.snapshot}

    @property
    def address_bits(self) -> int:
        """Width of a bus that reaches all registers."""
        return max(1, (max(register.offset for register in self.registers) // WORD_BYTES).bit_length())

    @property
    def size(self) -> int:
        """Bytes of address space, a power of two."""
        return WORD_BYTES << self.address_bits


class BusSignature(wiring.Signature):
    """Bus from a master to registers; one access at a time.

    ``read`` or ``write`` for one cycle starts an access. ``done`` ends it, at the earliest in the next cycle and
    registered; in this cycle ``read_data`` and ``error`` hold the result, in every other cycle they are 0. The next
    access may start in the cycle of ``done``, not before. ``address`` and ``write_data`` stay as they are from the
    first cycle of an access to the one before ``done``.

    Parameters
    ----------
    address_bits : the bus reaches ``2 ** address_bits`` words.

    Members
    -------
    address : in words of 32 bits.
    read, write : start of a read, with ``write`` an error that does nothing; start of a write, with ``read`` likewise.
    write_data, read_data : 32 bits.
    done : the access is complete.
    error : it did nothing: no such register, nothing there to read or to write, queue empty or full, value refused.
    """

    def __init__(self, address_bits: int):
        check_integer("address_bits", address_bits, 1, 30)
        self.address_bits = address_bits
        super().__init__(
            {
                "address": Out(address_bits),
                "read": Out(1),
                "write": Out(1),
                "write_data": Out(WORD_BITS),
                "read_data": In(WORD_BITS),
                "done": In(1),
                "error": In(1),
            }
        )


def _check_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{what} is called {name!r}; names are lower case, parts joined by underscores")
