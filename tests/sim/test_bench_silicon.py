"""``ualink bench silicon``: what it refuses, what it reads in netlists and reports, and one small block for real."""

import gzip
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
from ualink_sim.bench.liberty import LibertyCell, read_library
from ualink_sim.bench.registry import UnknownName, select
from ualink_sim.bench.rows import Options, Unavailable
from ualink_sim.bench.silicon import blocks, mapping, measure, memories
from ualink_sim.bench.silicon.bare import Bare
from ualink_sim.bench.silicon.mapping import Instance, instances
from ualink_sim.bench.silicon.story import UNNAMED, is_edge, register_name, tell_path
from ualink_sim.bench.silicon.timing import Endpoint, Step, read_endpoints, read_path

ENDPOINTS = r"""max_delay/setup group clk

                                     Required  Actual
Endpoint                               Delay   Delay   Slack
------------------------------------------------------------
part.data.level[2]$_DFF_P_/D (DFFHQNx1_ASAP7_75t_R)  624.22 1126.61 -502.39 (VIOLATED)
$auto$ff.cc:337:slice$5622/D (DFFHQNx1_ASAP7_75t_R)  622.73 1114.25 -491.51 (VIOLATED)
part.data.low\[0\].storage.0.3/PORT_W_WR_DATA[7] (__RAM9)  590.00   44.01  545.99 (MET)
status__fc[31]$_DFF_P_/D (DFFHQNx1_ASAP7_75t_R)  623.35  143.13  480.23 (MET)
"""

PATHS = r"""Startpoint: part.late (rising edge-triggered flip-flop clocked by upli_clk)
Endpoint: part.other (rising edge-triggered flip-flop clocked by upli_clk)
Path Group: upli_clk

   0.00    0.00 ^ part.late/CLK (DFFHQNx1_ASAP7_75t_R)
  50.00   50.00 v part.other/D (DFFHQNx1_ASAP7_75t_R)
          50.00   data arrival time
         570.00   slack (MET)


Startpoint: part.errors.valid$_DFF_P_
            (rising edge-triggered flip-flop clocked by clk)
Endpoint: part.data.level[2]$_DFF_P_
          (rising edge-triggered flip-flop clocked by clk)
Path Group: clk
Path Type: max

  Delay    Time   Description
---------------------------------------------------------
    0.0     0.0   clock clk (rise edge)
    0.0     0.0   clock network delay (ideal)
    0.0     0.0 ^ part.errors.valid$_DFF_P_/CLK (DFFHQNx1_ASAP7_75t_R)
  110.7   110.7 v part.errors.valid$_DFF_P_/QN (DFFHQNx1_ASAP7_75t_R)
   29.8   140.5 ^ $abc$75211$blif$75211$25/Y (INVx4_ASAP7_75t_R)
    0.0   140.5 ^ part.data.level[2]$_DFF_P_/D (DFFHQNx1_ASAP7_75t_R)
          140.5   data arrival time

  640.0   640.0   clock clk (rise edge)
          640.0 ^ part.data.level[2]$_DFF_P_/CLK (DFFHQNx1_ASAP7_75t_R)
  -15.8   624.2   library setup time
---------------------------------------------------------
         -502.4   slack (VIOLATED)
"""

NETLIST = r"""module top(clk, \a[0] );
  wire \$abc$1$new ;
  NAND2 \$abc$1$2  (
    .A(\part.left.q [3]),
    .B(\part.right$12.q[0] ),
    .Y(\$abc$1$new )
  );
  __RAM4 \part.store.0.0  (
    .PORT_R_ADDR({ \part.left.q[1] , 2'h0, n1 }),
    .PORT_R_CLK(clk),
    .PORT_R_RD_EN(1'h1)
  );
  assign \a[0]  = \part.left.q[1] ;
endmodule
"""


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


def test_cells_of_a_library(tmp_path):
    """Packed or not; two files are one library; half-size drivers are no driver and no unit."""
    (tmp_path / "one.lib").write_text(without("NAND2", "BUF"))
    small = (
        TINY_LIBRARY.replace("(NAND2)", "(NAND2xp5)").replace("(BUF)", "(HBxp67)").replace("area : 1;", "area : 0.2;")
    )
    (tmp_path / "two.lib.gz").write_bytes(gzip.compress(small.encode()))
    (tmp_path / "three.lib").write_text(without("DFF", "INV"))
    found = read_library([tmp_path / "one.lib", tmp_path / "two.lib.gz", tmp_path / "three.lib"])
    does = (
        (("CLK", "input"), ("D", "input"), ("Q", "output")),
        ("IQ",),
        (("next_state", "D"), ("clocked_on", "CLK")),
    )
    assert found.cells["DFF"] == LibertyCell("DFF", 4.0, flip_flop=True, buffer=False, outputs=("Q",), does=does)
    does = ((("A", "input"), ("Y", "output")), ("A",), ())
    assert found.cells["BUF"] == LibertyCell("BUF", 0.8, flip_flop=False, buffer=True, outputs=("Y",), does=does)
    assert found.cells["INV"].buffer is False
    assert (found.gate, found.driver) == (1.0, "BUF")


@pytest.mark.parametrize(
    ("name", "sizes"), [("DFF2", {"DFF": ("DFF2",), "DFF2": ("DFF",)}), ("DFFxp5", {}), ("SDF2", {})]
)
def test_sizes_of_a_cell_do_the_same(tmp_path, library, name, sizes):
    """What no mapper may take is none."""
    library.write_text(large_dff(name))
    assert read_library([library]).sizes() == sizes
    # An inverter of other pins, or a flip-flop that stores something else, does something else.
    other = large_dff(name).replace('next_state : "D"', 'next_state : "!D"', 1)
    library.with_name("other.lib").write_text(other)
    assert read_library([library.with_name("other.lib")]).sizes() == {}


def test_endpoints_of_a_report():
    assert read_endpoints(ENDPOINTS) == [
        Endpoint("part.data.level[2]$_DFF_P_", -502.39),
        Endpoint("$auto$ff.cc:337:slice$5622", -491.51),
        Endpoint("status__fc[31]$_DFF_P_", 480.23),
        Endpoint("part.data.low[0].storage.0.3", 545.99),
    ]
    assert read_endpoints("No paths found.\n") == []


def test_the_worst_path_of_a_report():
    assert read_path(PATHS) == [
        Step("part.errors.valid$_DFF_P_", "QN"),
        Step("$abc$75211$blif$75211$25", "Y"),
        Step("part.data.level[2]$_DFF_P_", "D"),
    ]
    assert read_path("No paths found.\n") == []


def test_registers_are_told_by_the_names_of_the_block():
    assert register_name("part.data.level[2]$_DFF_P_") == "data.level"
    assert register_name("part.requests$174.queue.level[7]$_DFF_P_") == "requests.queue.level"
    assert register_name("part.data.low.storage.0.3") == "data.low.storage"
    assert register_name("$auto$ff.cc:337:slice$5622") == UNNAMED
    unnamed = "$flatten\\part.\\requests.\\line.$auto$ff.cc:337:slice$71587"
    assert register_name(unnamed) == f"requests.line.{UNNAMED}" and not is_edge(unnamed)
    assert register_name("status__fc[31]$_DFF_P_") == "edge_out_status__fc"
    names = ("part.a$_DFF_P_", "$auto$ff.cc:1:slice$2", "edge_in_rx[3]$_DFF_P_", "status__fc[31]$_DFF_P_")
    assert [*map(is_edge, names)] == [False, False, True, True]


def test_cells_of_a_netlist():
    assert instances(NETLIST) == [
        Instance("NAND2", "$abc$1$2", {"A": ("part.left.q[3]",), "B": ("part.right$12.q[0]",), "Y": ("$abc$1$new",)}),
        Instance(
            "__RAM4",
            "part.store.0.0",
            {"PORT_R_ADDR": ("part.left.q[1]", "2'h0", "n1"), "PORT_R_CLK": ("clk",), "PORT_R_RD_EN": ("1'h1",)},
        ),
    ]


def test_a_path_is_told_by_the_registers_that_it_meets():
    """Two gates in a row: the first meets a register of ``left``, the second, by an inverter, one of ``far.away``."""

    def register(name, net):
        return Instance("DFF", name, {"D": ("d",), "Q": (net,)})

    cells = [
        register("part.start.q", "n0"),
        register("part.left.q[1]", "n1"),
        register("part.far.away.count[2]", "n2"),
        Instance("NAND2", "g1", {"A": ("n0",), "B": ("n1",), "Y": ("n3",)}),
        Instance("INV", "g2", {"A": ("n2",), "Y": ("n4",)}),
        Instance("NAND2", "g3", {"A": ("n3",), "B": ("n4",), "Y": ("n5",)}),
    ]
    steps = [Step("part.start.q", "Q"), Step("g1", "Y"), Step("g3", "Y"), Step("edge_out_tx__valid$_DFF_P_", "D")]
    outputs = {"DFF": ("Q",), "NAND2": ("Y",), "INV": ("Y",)}
    assert tell_path(steps, cells, outputs) == (
        "from start.q to output tx.valid, 2 gates, past registers of left, far.away"
    )
    assert tell_path([steps[0], steps[-1]], cells, outputs) == "from start.q to output tx.valid, 0 gates"
    assert tell_path([], cells, outputs) == "no path"


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
