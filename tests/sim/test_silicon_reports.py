"""What ``ualink bench silicon`` reads in libraries of cells, netlists and reports of timing."""

import gzip

import pytest

from support.sim.tiny_library import TINY_LIBRARY, large_dff, without
from ualink_sim.bench.liberty import LibertyCell, read_library
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
def test_sizes_of_a_cell_do_the_same(tmp_path, name, sizes):
    """What no mapper may take is none."""
    library, other = tmp_path / "tiny.lib", tmp_path / "other.lib"
    library.write_text(large_dff(name))
    assert read_library([library]).sizes() == sizes
    # An inverter of other pins, or a flip-flop that stores something else, does something else.
    other.write_text(large_dff(name).replace('next_state : "D"', 'next_state : "!D"', 1))
    assert read_library([other]).sizes() == {}


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
