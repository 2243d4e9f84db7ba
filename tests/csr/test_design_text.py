"""What a controller's registers are called in C and in SystemRDL."""

import re

import pytest

from support.csr.bench import TABLE
from ualink.csr.design import RegisterDesign
from ualink.csr.design_text import to_c_header, to_design_systemrdl
from ualink.csr.table import Access, Field, Register, RegisterMap

OTHER = RegisterMap("example", (Register("about", 0, (Field("built", "7:0", Access.CONSTANT, 5),)),))
DESIGN = RegisterDesign("two", 1000, (("near", TABLE), ("far", TABLE)))
MIXED = RegisterDesign("mixed", 1000, (("near", TABLE), ("far", OTHER)))


def _defines(design):
    return dict(re.findall(r"^#define (\w+) (\w+)$", to_c_header(design, "chip"), re.MULTILINE))


def test_header_has_every_window_register_and_field():
    found = {name: int(value.rstrip("u"), 0) for name, value in _defines(DESIGN).items()}
    size = 4 << DESIGN.address_bits
    assert (found["CHIP_DESCRIPTION_BASE"], found["CHIP_NEAR_BASE"], found["CHIP_FAR_BASE"]) == (0, size, 2 * size)
    assert found["CHIP_MAP_HASH"] == DESIGN.map_hash
    for register in TABLE:
        name = f"CHIP_EXAMPLE_{register.name}".upper()
        assert found[name] == register.offset
        for field in register.fields:
            place = f"{name}_{field.name}".upper()
            assert found[f"{place}_MASK"] >> found[f"{place}_SHIFT"] == (1 << field.width) - 1
            assert found[f"{place}_SHIFT"] == field.low


def test_header_names_nothing_twice():
    for design in (DESIGN, MIXED):
        names = re.findall(r"^#define (\w+) ", to_c_header(design, "chip"), re.MULTILINE)
        assert len(names) == len(set(names))


def test_maps_of_one_name_that_differ_are_called_as_their_windows():
    found = _defines(MIXED)
    assert found["CHIP_FAR_REGISTERS_ABOUT_BUILT_MASK"] == "0x000000FFu"
    assert found["CHIP_NEAR_REGISTERS_ABOUT_VERSION_SHIFT"] == "8u"
    assert not any(name.startswith("CHIP_EXAMPLE") for name in found)


def test_systemrdl_places_each_window():
    text = to_design_systemrdl(DESIGN, "chip")
    assert text.count("addrmap example {") == 1
    size = 4 << DESIGN.address_bits
    assert f"  example far_window @ {2 * size:#x};" in text


def test_systemrdl_is_read_by_its_compiler(tmp_path):
    compiler = pytest.importorskip("systemrdl").RDLCompiler()
    path = tmp_path / "chip.rdl"
    path.write_text(to_design_systemrdl(MIXED, "chip"))
    compiler.compile_file(str(path))
    windows = list(compiler.elaborate("chip").top.children())
    assert [window.absolute_address for window in windows] == [n * (4 << MIXED.address_bits) for n in range(3)]
