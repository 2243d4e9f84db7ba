"""The registers of a whole design as SystemRDL and as a C header."""

from dataclasses import replace

from ualink.csr.design import DESCRIPTION, RegisterDesign
from ualink.csr.table import WORD_BYTES, RegisterMap
from ualink.csr.text import to_systemrdl

__all__ = ["to_c_header", "to_design_systemrdl"]


def to_c_header(design: RegisterDesign, prefix: str) -> str:
    """Byte addresses of windows, byte offsets of registers in them, and of each field its mask and shift.

    Names begin with ``prefix``; windows with the same map share the names of its registers.
    """
    head = prefix.upper()
    lines = [
        f"/* Registers of {design.name}. Written by ualink generate; do not edit. */",
        f"#ifndef {head}_REGISTERS_H",
        f"#define {head}_REGISTERS_H",
        "",
        f"#define {head}_MAP_HASH 0x{design.map_hash:08X}u",
        "",
    ]
    kinds = _kinds(design)
    lines += [f"#define {head}_{name.upper()}_BASE 0x{base:X}u" for name, (base, _) in kinds.items()]
    for table in {table.name: table for _, table in kinds.values()}.values():
        lines += ["", f"/* {table.name} */"]
        for register in table:
            name = f"{head}_{table.name}_{register.name}".upper()
            lines.append(f"#define {name} 0x{register.offset:X}u")
            for field in register.fields:
                place = f"{name}_{field.name.upper()}"
                lines.append(f"#define {place}_MASK 0x{((1 << field.width) - 1) << field.low:08X}u")
                lines.append(f"#define {place}_SHIFT {field.low}u")
                lines += [f"#define {place}_{value.upper()} {code}u" for value, code in field.values]
    return "\n".join([*lines, "", "#endif"]) + "\n"


def to_design_systemrdl(design: RegisterDesign, name: str) -> str:
    """An address map ``name`` of the windows, behind the address maps that they are made of."""
    kinds = _kinds(design)
    parts = [to_systemrdl(table) for table in {table.name: table for _, table in kinds.values()}.values()]
    windows = [f"  {table.name} {window}_window @ {base:#x};" for window, (base, table) in kinds.items()]
    return "\n".join([*parts, f"addrmap {name} {{", *windows, "};"]) + "\n"


def _kinds(design: RegisterDesign) -> dict[str, tuple[int, RegisterMap]]:
    """Byte address and map of each window; maps that share a name and differ are called as their windows."""
    size = WORD_BYTES << design.address_bits
    found: dict[str, tuple[int, RegisterMap]] = {}
    for number, (window, table) in enumerate(((DESCRIPTION, design.description), *design.windows)):
        differs = any(other.name == table.name and other != table for _, other in design.windows)
        found[window] = (number * size, replace(table, name=f"{window}_registers") if differs else table)
    return found
