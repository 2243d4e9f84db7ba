"""``ualink bench silicon``: what it refuses, and small blocks for real."""

import json
import re
import shutil
from typing import ClassVar

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from click.testing import CliRunner

from support.sim.tiny_library import (
    CLOCK_TO_OUTPUT_PS,
    GATE_PS,
    LARGE_DFF,
    SET_UP_PS,
    TINY_LIBRARY,
    large_dff,
    without,
)
from ualink.cli import main
from ualink.lib.memory_marks import NEVER_MEET
from ualink.lib.parity import byte_parity
from ualink_sim.bench.registry import UnknownName, select
from ualink_sim.bench.rows import Options, Unavailable
from ualink_sim.bench.silicon import blocks, mapping, measure, memories
from ualink_sim.bench.silicon.bare import Bare

needs_sta = pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA (the command sta) is not on PATH")


def bench(*arguments):
    return CliRunner().invoke(main, ["bench", *map(str, arguments)])


def refusal(*arguments):
    result = bench(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    return result.stderr.removeprefix("ualink: ").rstrip("\n")


def blocks_of(*names, **options):
    return [chosen.rows[0].name.split(".")[1] for chosen in select(names, Options(**options))]


@pytest.fixture
def library(tmp_path):
    file = tmp_path / "tiny.lib"
    file.write_text(TINY_LIBRARY)
    return file


def test_help_names_every_block():
    told = CliRunner().invoke(main, ["bench", "--help"]).stdout
    assert set(blocks.BLOCKS) <= set(re.findall(r"\w+", told))


def test_blocks_are_named_after_silicon_and_slow_ones_only_so():
    assert blocks_of("silicon") == ["dl1", "tl_tx", "tl_rx", "originator", "completer"]
    assert blocks_of("silicon", "station4", "dl1") == ["dl1", "station4"]
    assert blocks_of("silicon.dl4") == ["dl4"]
    assert [row.name for row in select(["silicon.tl_rx.registers"], Options())[0].rows] == ["silicon.tl_rx.registers"]
    assert "silicon.station1" not in {row.name[:16] for chosen in select([], Options()) for row in chosen.rows}
    for names in (["dl1"], ["silicon", "dl2"], ["silicon.dl2"]):
        with pytest.raises(UnknownName):
            select(names, Options())
    period = [row.limit for row in select(["silicon.dl1.longest_path_ps"], Options(period_ps=580))[0].rows]
    assert period == [580]


def test_without_a_library_it_says_so():
    assert refusal("silicon") == "give the files of a standard-cell library with --liberty"
    assert bench("--list", "silicon").exit_code == 0
    assert refusal("silicon", "--period", "0").startswith("Invalid value for '--period'")


def test_a_bad_library_is_refused_with_file_and_reason(tmp_path, library):
    def given(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    text = given("text.lib", b"no library")
    assert refusal("silicon", "--liberty", text) == f"{text} is not a liberty file"
    assert refusal("silicon", "--liberty", library, text) == f"{text} is not a liberty file"
    empty = given("empty.lib", b"library (empty) {\n}\n")
    assert refusal("silicon", "--liberty", empty) == f"{empty} has no cells"
    bare = given("bare.lib", b"library (bare) {\n  cell (X) {\n  }\n}\n")
    assert refusal("silicon", "--liberty", bare) == f"{bare}: cell X has no area"
    packed = given("packed.lib.gz", b"\x1f\x8b\x08\x00 broken all the way")
    assert refusal("silicon", packed, "--liberty", library).startswith(f"{packed} cannot be read: ")
    missing = tmp_path / "missing.lib"
    assert refusal("silicon", "--liberty", library, missing).startswith(f"{missing} cannot be read: ")


@pytest.mark.parametrize(("cell", "what"), [("DFF", "flip-flop"), ("NAND2", "NAND2"), ("BUF", "buffer")])
def test_a_library_without_a_cell_that_is_needed_is_refused(tmp_path, cell, what):
    (tmp_path / "some.lib").write_text(without(cell))
    line = f"the library has no {what}; give all of its files with --liberty"
    assert refusal("silicon", "--liberty", tmp_path / "some.lib") == line


def test_a_missing_tool_is_refused_by_name(monkeypatch, tmp_path, library):
    monkeypatch.setenv("PATH", str(tmp_path))
    line = "OpenSTA (the command sta) is not on PATH; Debian has it as the package opensta"
    assert refusal("silicon", "--liberty", library) == line
    monkeypatch.setattr(mapping, "find_spec", lambda name: None)
    monkeypatch.setattr(mapping, "tool_there", lambda name: False)
    assert refusal("silicon", "dl4", "--liberty", library) == "there is no Yosys; run: pip install pyosys"


class Half(wiring.Component):
    """One register without reset."""

    i: In(1)
    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        q = Signal(reset_less=True)
        m.d.sync += q.eq(self.i)
        m.d.comb += self.o.eq(q)
        return m


class WithParity(wiring.Component):
    """The parity of a byte, and the byte."""

    i: In(8)
    o: Out(8)
    parity: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.o.eq(self.i), self.parity.eq(byte_parity(self.i))]
        return m


def test_a_bare_component_does_the_same_without_parity():
    found = []
    for dut in (WithParity(), Bare(WithParity())):

        async def bench(ctx, dut=dut):
            ctx.set(dut.i, 0x07)
            found.append((ctx.get(dut.o), ctx.get(dut.parity)))

        simulator = Simulator(dut)
        simulator.add_testbench(bench)
        simulator.run()
    assert found == [(7, 1), (7, 0)]


class Small(wiring.Component):
    """Three registers; between two of them and the third there is one gate."""

    i: In(2)
    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.left = left = Half()
        m.submodules.middle = middle = Half()
        m.submodules.right = right = Half()
        m.d.comb += [
            left.i.eq(self.i[0]),
            middle.i.eq(self.i[1]),
            right.i.eq(~(left.o & middle.o)),
            self.o.eq(right.o),
        ]
        return m


class Inverted(wiring.Component):
    """Two registers with an inverter between them."""

    i: In(1)
    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.left = left = Half()
        m.submodules.right = right = Half()
        m.d.comb += [left.i.eq(self.i), right.i.eq(~left.o), self.o.eq(right.o)]
        return m


class Stored(wiring.Component):
    """A memory in front of a register."""

    at: In(4)
    word: In(8)
    o: Out(1)
    attrs: ClassVar = {}

    def elaborate(self, platform):
        m = Module()
        m.submodules.right = right = Half()
        m.submodules.store = rows = memory.Memory(shape=8, depth=16, init=[], attrs=self.attrs)
        read, write = rows.read_port(), rows.write_port()
        m.d.comb += [
            read.addr.eq(self.at),
            write.addr.eq(self.at),
            write.data.eq(self.word),
            write.en.eq(1),
            right.i.eq(read.data.all()),
            self.o.eq(right.o),
        ]
        return m


class NeverMeeting(Stored):
    """The same, by its own account never read where it is written."""

    attrs: ClassVar = NEVER_MEET


def measured(monkeypatch, tmp_path, library, component, period):
    monkeypatch.setenv("UALINK_BUILD", str(tmp_path))
    monkeypatch.setitem(blocks.BLOCKS, "dl1", ("small block", component))
    result = bench("silicon", "dl1", "--json", "--period", period, "--liberty", library)
    assert result.exit_code == 0, result.stderr
    return {row["name"].removeprefix("silicon.dl1."): row for row in json.loads(result.stdout)["rows"]}


@needs_sta
def test_a_small_block_is_what_can_be_added_up_by_hand(monkeypatch, tmp_path, library):
    """And the second time it is what was kept."""
    rows = measured(monkeypatch, tmp_path, library, Small, 30)
    longest = CLOCK_TO_OUTPUT_PS + GATE_PS + SET_UP_PS
    assert {name: row["value"] for name, row in rows.items()} == {
        "longest_path_ps": longest,
        "worst_slack_ps": 30 - longest,
        "violating": 1,
        "endpoints": 3,
        "area_um2": 3 * 4 + 1,
        "area_kge": 0.0,
        "registers": 3,
        "resized": 0,
        "rebuffered": 0,
        "mapped_path_ps": longest,
        "mapped_violating": 1,
    }
    assert (rows["longest_path_ps"]["limit"], rows["violating"]["limit"]) == (30, 0)
    how = rows["longest_path_ps"]["how"]
    assert re.match(
        "from (left|middle).q to right.q, 1 gates, past registers of (left|middle); longest path from a", how
    )
    assert "small block; Yosys, ABC and OpenSTA for 30 ps, before layout; memories 200 ps to the output, 50 ps" in how
    outputs = f"0 of 1 output bits violate, longest {CLOCK_TO_OUTPUT_PS + SET_UP_PS} ps; "
    assert rows["violating"]["how"].startswith(outputs)
    monkeypatch.setattr(measure, "run_yosys", None)
    assert measured(monkeypatch, tmp_path, library, Small, 30) == rows


@needs_sta
@pytest.mark.parametrize(
    ("period", "fast", "resized", "late"),
    [(30, "DFF2", 1, 0), (24, "DFF2", 2, 2), (30, "DFFxp5", 0, 1), (40, "DFF2", 0, 0)],
)
def test_what_is_late_takes_another_size(monkeypatch, tmp_path, library, period, fast, resized, late):
    """The register from which the path is late, if there is a size that helps, even if it does not help enough. With
    24 ps the other one is late, too, and the neighbour at the input, which keeps its size."""
    library.write_text(large_dff(fast))
    rows = {name: row["value"] for name, row in measured(monkeypatch, tmp_path, library, Inverted, period).items()}
    slow, quick = (delay + GATE_PS + SET_UP_PS for delay in (CLOCK_TO_OUTPUT_PS, LARGE_DFF[1]))
    longest = quick if resized else slow
    assert {name: rows[name] for name in ("resized", "mapped_path_ps", "longest_path_ps", "area_um2")} == {
        "resized": resized,
        "mapped_path_ps": slow,
        "longest_path_ps": longest,
        "area_um2": round(2 * 4 + 0.5 + resized * (LARGE_DFF[0] - 4)),
    }
    assert (rows["mapped_violating"] > 0, rows["violating"]) == (slow > period, late)


@needs_sta
def test_a_memory_is_a_macro_with_its_own_times(monkeypatch, tmp_path, library):
    """It has no write-through, so that the gates of one lie behind it, and its cells are not counted."""
    rows = measured(monkeypatch, tmp_path, library, Stored, 640)
    assert rows["longest_path_ps"]["how"].startswith("from store to right.q, ")
    least = memories.CLOCK_TO_OUTPUT_PS + 3 * GATE_PS + SET_UP_PS
    assert least <= rows["longest_path_ps"]["value"] <= least + 20 * GATE_PS
    assert rows["violating"]["value"] == 0
    assert rows["registers"]["value"] > 8


@needs_sta
def test_a_memory_whose_reads_meet_no_writes_needs_no_write_through(monkeypatch, tmp_path, library):
    rows = measured(monkeypatch, tmp_path, library, NeverMeeting, 640)
    assert rows["longest_path_ps"]["how"].startswith("from store to right.q, ")
    assert rows["registers"]["value"] == 1


def test_a_tool_that_fails_is_named(monkeypatch, tmp_path):
    """What Yosys says is on the line."""
    (tmp_path / "silicon.ys").write_text("read_rtlil missing.il\n")
    with pytest.raises(Unavailable, match=r"yosys failed: .*missing\.il"):
        mapping.run_yosys(tmp_path)
