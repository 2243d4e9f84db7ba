"""Tables of registers that make no sense."""

import pytest

from ualink.config import ConfigError
from ualink.csr.block import RegisterBlock
from ualink.csr.table import Access, BusSignature, Field, Register, RegisterMap
from ualink.csr.windows import RegisterWindows


def _map(*registers):
    return lambda: RegisterMap("example", registers)


def _register(*fields, **more):
    return lambda: Register("example", 0, fields, **more)


WRONG = {
    "multiple of 4": lambda: Register("x", 2, (Field("a", "0", Access.RO),)),
    "'A'": lambda: Field("A", "0", Access.RO),
    "'32'": lambda: Field("a", "32", Access.RO),
    "'0:7'": lambda: Field("a", "0:7", Access.RO),
    "reset value 16": lambda: Field("a", "3:0", Access.RW, 16),
    "starts with 0": lambda: Field("a", "0", Access.W1C, 1),
    "must be a number": lambda: Field("a", "0", Access.CONSTANT, True),
    "a go field has one": lambda: Field("a", "1:0", Access.GO),
    "for rw fields": lambda: Field("a", "1:0", Access.RO, allowed=(1,)),
    "not allowed": lambda: Field("a", "1:0", Access.RW, 0, allowed=(1,)),
    "values of 2 bits": lambda: Field("a", "1:0", Access.RW, 1, allowed=(1, 4)),
    "step of a range": lambda: Field("a", "1:0", Access.RW, 1, allowed=range(1, 4, 2)),
    "value big = 4": lambda: Field("a", "1:0", Access.RO, values=(("big", 4),)),
    "name of its own": _register(Field("a", "0", Access.RO), Field("a", "1", Access.RO)),
    "in common": _register(Field("a", "3:0", Access.RO), Field("b", "3", Access.RO)),
    "stands alone": _register(Field("a", "3:0", Access.POP), Field("b", "4", Access.RO)),
    "two go fields": _register(Field("a", "0", Access.GO), Field("b", "1", Access.GO)),
    "only ro fields": _register(Field("a", "0", Access.RW), snapshot="b"),
    "its own offset": _map(
        Register("a", 0, (Field("a", "0", Access.RO),)), Register("b", 0, (Field("a", "0", Access.RO),))
    ),
    "its own name": _map(
        Register("a", 0, (Field("a", "0", Access.RO),)), Register("a", 4, (Field("a", "0", Access.RO),))
    ),
    "snapshot is 'b'": _map(Register("a", 0, (Field("a", "0", Access.RO),), snapshot="b")),
    "called 'bus'": lambda: RegisterBlock(RegisterMap("x", (Register("bus", 0, (Field("a", "0", Access.RO),)),))),
    "address_bits is 0": lambda: BusSignature(0),
    "windows is 0": lambda: RegisterWindows(4, 0),
}


@pytest.mark.parametrize("message", WRONG)
def test_tables_without_sense_are_refused(message):
    with pytest.raises(ConfigError, match=message):
        WRONG[message]()


def test_a_range_may_have_all_values_of_a_word_but_one():
    """It is judged by its ends; its 4,294,967,295 values are not gone through."""
    field = Field("a", "31:0", Access.RW, 1, allowed=range(1, 1 << 32))
    assert field.reset in field.allowed
    with pytest.raises(ConfigError, match="values of 31 bits"):
        Field("a", "30:0", Access.RW, 1, allowed=range(1, 1 << 32))
    with pytest.raises(ConfigError, match="values of 31 bits"):
        Field("a", "30:0", Access.RW, 0, allowed=range(-1, 1 << 31))
    with pytest.raises(ConfigError, match="values of 2 bits"):
        Field("a", "1:0", Access.RW, 0, allowed=range(0))
