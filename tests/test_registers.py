"""What is written about the registers is what the tables say."""

import json
import re
import subprocess
import sys

import pytest

from ualink.config import DLConfig
from ualink.csr.table import Access, Field, Register, RegisterMap
from ualink.csr.text import to_dict, to_json, to_markdown, to_systemrdl
from ualink.dl.registers.map import dl_registers
from ualink.registers import main, page, register_maps

MAP = dl_registers(DLConfig())

_RDL_FIELD = re.compile(r"field \{ (.*?)\n\s+desc = \"(.*?)\";\n\s+\} (\S+)\[(\d+):(\d+)\] = (\d+)'d(\d+);", re.DOTALL)


def test_page_is_what_the_tables_say(root):
    assert (root / "docs" / "registers.md").read_text() == page(), "run: python -m ualink.registers > docs/registers.md"


@pytest.mark.parametrize("registers", register_maps(), ids=lambda registers: registers.name)
def test_page_names_every_field(registers):
    text = to_markdown(registers)
    for register in registers:
        assert f"| {register.offset:03X}h | `{register.name}` | {register.doc} |" in text
        section = text.partition(f"### `{register.name}` ")[2].partition("\n### ")[0]
        for field in register.fields:
            row = f"| {field.bits} | `{field.name}` | {field.access} | {field.reset:,} |"
            assert row in section or register.snapshot
        assert register.doc.endswith(".") and all(field.doc.endswith(".") for field in register.fields if field.doc)


def test_json_has_the_whole_table():
    table = json.loads(to_json(MAP))
    assert table == to_dict(MAP)
    assert (table["name"], table["size"], table["word_bits"]) == ("dl_port", MAP.size, 32)
    rebuilt = tuple(
        Register(
            register["name"],
            register["offset"],
            tuple(
                Field(
                    field["name"],
                    field["bits"],
                    Access(field["access"]),
                    field["reset"],
                    field["doc"],
                    _allowed(field["allowed"]),
                    tuple(field["values"].items()),
                )
                for field in register["fields"]
            ),
            register["doc"],
            register["snapshot"] or "",
        )
        for register in table["registers"]
    )
    assert RegisterMap(table["name"], rebuilt, table["doc"]) == MAP


def _allowed(value):
    if isinstance(value, dict):
        return range(value["least"], value["most"] + 1)
    return None if value is None else tuple(value)


def test_systemrdl_has_every_field_in_its_place():
    text = to_systemrdl(MAP)
    assert text.count("{") == text.count("}")
    software = {
        Access.CONSTANT: "sw = r; hw = na;",
        Access.RO: "sw = r; hw = w;",
        Access.RW: "sw = rw; hw = r;",
        Access.W1C: "sw = rw; hw = w; onwrite = woclr;",
        Access.GO: "sw = rw; hw = r; hwclr;",
        Access.POP: "sw = r; hw = w; onread = ruser;",
        Access.PUSH: "sw = w; hw = r;",
    }
    blocks = re.findall(r"^  reg \{\n(.*?)^  \} (?:external )?(\S+) @ (\S+);", text, re.DOTALL | re.MULTILINE)
    assert [(name, int(offset, 16)) for _, name, offset in blocks] == [(r.name, r.offset) for r in MAP]
    for body, name, _ in blocks:
        fields = _RDL_FIELD.findall(body)
        assert len(fields) == len(MAP[name].fields)
        for field, (properties, _, label, high, low, width, reset) in zip(MAP[name].fields, fields):
            assert label.removeprefix("\\") == field.name
            assert (int(high), int(low), int(width), int(reset)) == (field.high, field.low, field.width, field.reset)
            assert properties.startswith(software[field.access])


def test_systemrdl_escapes_its_own_words():
    registers = RegisterMap("x", (Register("field", 0, (Field("type", "0", Access.RO, doc='a "b" \\ c'),), "d"),))
    text = to_systemrdl(registers)
    assert "} \\field @ 0x0;" in text and "} \\type[0:0]" in text and 'desc = "a \\"b\\" \\\\ c";' in text


def test_systemrdl_is_read_by_its_compiler(tmp_path):
    compiler = pytest.importorskip("systemrdl").RDLCompiler()
    path = tmp_path / "dl_port.rdl"
    path.write_text(to_systemrdl(MAP))
    compiler.compile_file(str(path))
    seen = {
        register.inst_name: (register.address_offset, [(field.high, field.low) for field in register.fields()])
        for register in compiler.elaborate().top.registers()
    }
    places = {r.name: (r.offset, sorted((field.high, field.low) for field in r.fields)) for r in MAP}
    assert {name: (offset, sorted(fields)) for name, (offset, fields) in seen.items()} == places


def test_command(root, tmp_path, capsys):
    run = subprocess.run([sys.executable, "-m", "ualink.registers"], capture_output=True, text=True, cwd=root)
    assert run.stdout == page()
    main([str(tmp_path / "registers")])
    written = [str(path) for path in sorted((tmp_path / "registers").iterdir())]
    assert sorted(capsys.readouterr().out.splitlines()) == written
    assert json.loads((tmp_path / "registers" / "dl_port.json").read_text()) == to_dict(MAP)
    with pytest.raises(SystemExit, match="usage"):
        main(["a", "b"])
