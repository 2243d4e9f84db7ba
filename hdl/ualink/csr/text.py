"""A table of registers as JSON, as SystemRDL 2.0 and as a page of documentation."""

import json

from ualink.csr.table import WORD_BITS, Access, Field, Register, RegisterMap

__all__ = ["to_dict", "to_json", "to_markdown", "to_systemrdl"]

_RDL = {
    Access.CONSTANT: "sw = r; hw = na;",
    Access.RO: "sw = r; hw = w;",
    Access.RW: "sw = rw; hw = r;",
    Access.W1C: "sw = rw; hw = w; onwrite = woclr; hwset;",
    Access.GO: "sw = rw; hw = r; hwclr;",
    Access.POP: "sw = r; hw = w; onread = ruser;",
    Access.PUSH: "sw = w; hw = r; swmod;",
}

_RDL_KEYWORDS = (
    "abstract accesstype addressingtype addrmap alias all bit boolean bothedge compact component componentwidth "
    "constraint default encode enum external false field fullalign hw inside internal level longint mem na negedge "
    "nonsticky number onreadtype onwritetype posedge property r rclr ref reg regalign regfile rset ruser rw rw1 signal "
    "string struct sw this true type unsigned w w1 wclr woclr woset wot wr wset wuser wzc wzs wzt"
)


def to_dict(registers: RegisterMap) -> dict:
    """The table as plain values; ``offset`` and ``size`` in bytes, ``allowed`` a list or ``{"least", "most"}``."""
    return {
        "name": registers.name,
        "doc": registers.doc,
        "size": registers.size,
        "word_bits": WORD_BITS,
        "registers": [
            {
                "name": register.name,
                "offset": register.offset,
                "doc": register.doc,
                "snapshot": register.snapshot or None,
                "fields": [_field(field) for field in register.fields],
            }
            for register in registers
        ],
    }


def _field(field: Field) -> dict:
    allowed: dict[str, int] | list[int] | None = None
    if isinstance(field.allowed, range):
        allowed = {"least": field.allowed[0], "most": field.allowed[-1]}
    elif field.allowed is not None:
        allowed = list(field.allowed)
    return {
        "name": field.name,
        "bits": field.bits,
        "access": str(field.access),
        "reset": field.reset,
        "doc": field.doc,
        "allowed": allowed,
        "values": dict(field.values),
    }


def to_json(registers: RegisterMap) -> str:
    """``to_dict`` as text."""
    return json.dumps(to_dict(registers), indent=1) + "\n"


def to_systemrdl(registers: RegisterMap) -> str:
    """An address map; what SystemRDL cannot say (allowed values, withdrawing) is in the descriptions."""
    lines = [f"addrmap {_identifier(registers.name)} {{", f"  desc = {_quoted(registers.doc)};"]
    lines += [f"  default regwidth = {WORD_BITS};", f"  default accesswidth = {WORD_BITS};"]
    for register in registers:
        for field in register.fields:
            if field.values:
                codes = " ".join(f"{_identifier(name)} = {field.width}'d{value};" for name, value in field.values)
                lines.append(f"  enum {_enum(register, field)} {{ {codes} }};")
        lines += ["  reg {", f"    desc = {_quoted(_register_doc(register))};"]
        for field in register.fields:
            encode = f" encode = {_enum(register, field)};" if field.values else ""
            lines += [
                f"    field {{ {_RDL[field.access]}{encode}",
                f"      desc = {_quoted(_field_doc(field))};",
                f"    }} {_identifier(field.name)}[{field.high}:{field.low}] = {field.width}'d{field.reset};",
            ]
        queue = "external " if register.has(Access.POP) or register.has(Access.PUSH) else ""
        lines.append(f"  }} {queue}{_identifier(register.name)} @ {register.offset:#x};")
    return "\n".join([*lines, "};"]) + "\n"


def to_markdown(registers: RegisterMap, level: int = 2) -> str:
    """A section: an overview, then one table per register; ``level`` is that of its heading."""
    lines = [
        f"{'#' * level} `{registers.name}`",
        "",
        registers.doc,
        "",
        f"{registers.size} bytes of address space.",
        "",
    ]
    lines += ["| Offset | Register | Meaning |", "|---|---|---|"]
    lines += [f"| {register.offset:03X}h | `{register.name}` | {register.doc} |" for register in registers]
    for register in registers:
        if _is_plain(register):
            continue
        lines += ["", f"{'#' * (level + 1)} `{register.name}` ({register.offset:03X}h)", ""]
        lines += ["| Bits | Field | Access | Reset | Meaning |", "|---|---|---|---|---|"]
        for field in register.fields:
            row = (field.bits, f"`{field.name}`", str(field.access), _number(field.reset), _field_doc(field))
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _is_plain(register: Register) -> bool:
    """Is everything said by the register's own line?"""
    return bool(register.snapshot) and not any(field.doc for field in register.fields)


def _register_doc(register: Register) -> str:
    copied = f" Copied by {register.snapshot}." if register.snapshot else ""
    return register.doc + copied


def _field_doc(field: Field) -> str:
    parts = [field.doc] if field.doc else []
    if field.values:
        parts.append(", ".join(f"{value} {name}" for name, value in field.values) + ".")
    if isinstance(field.allowed, range):
        parts.append(f"Allowed: {_number(field.allowed[0])} to {_number(field.allowed[-1])}.")
    elif field.allowed is not None:
        parts.append(f"Allowed: {', '.join(map(str, field.allowed))}.")
    return " ".join(parts)


def _enum(register: Register, field: Field) -> str:
    return f"{register.name}_{field.name}_e"


def _identifier(name: str) -> str:
    """``name``, escaped where SystemRDL has a word of its own for it."""
    return f"\\{name}" if name in _RDL_KEYWORDS.split() else name


def _number(value: int) -> str:
    return f"{value:,}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
