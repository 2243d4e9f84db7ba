"""Repairs of late paths: netlists of a few gates, of which it can be said what helps, and one drawn at random."""

import random
import re
import shutil

import pytest

from support.sim.tiny_library import BUFFER_PS, CLOCK_TO_OUTPUT_PS, GATE_PS, SET_UP_PS, TINY_LIBRARY, large_dff
from ualink_sim.bench.liberty import read_library
from ualink_sim.bench.silicon.mapping import instances
from ualink_sim.bench.silicon.repair import Repairs, read_repairs, repair_script
from ualink_sim.bench.silicon.timing import run_sta, sta_script

pytestmark = pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA (the command sta) is not on PATH")

FUNCTIONS = {"NAND2": lambda a, b: ~(a & b), "INV": lambda a: ~a, "BUF": lambda a: a}
FLIP_FLOPS = ("DFF", "DFF2")


def netlist(cells, outputs):
    """Text of cells of name → cell, pins; ``i`` is the one input, each output is a net."""
    lines = []
    for name, (cell, pins) in cells.items():
        lines.append(f"  {cell} \\{name}  ({', '.join(f'.{pin}({net})' for pin, net in pins.items())});")
    wires = sorted({net for _, pins in cells.values() for net in pins.values()} - {"clk", "i", *outputs})
    ports = [f"  {way} {name};" for way, names in (("input", ("clk", "i")), ("output", outputs)) for name in names]
    ports += [f"  wire {net};" for net in wires]
    return "\n".join([f"module top(clk, i, {', '.join(outputs)});", *ports, *lines, "endmodule\n"])


def register(d, q):
    return "DFF", {"CLK": "clk", "D": d, "Q": q}


def repaired(tmp_path, text, period, library=TINY_LIBRARY):
    """Slack of the worst endpoint before and after, what was done, and the cells as OpenSTA leaves them."""
    (tmp_path / "tiny.lib").write_text(library)
    (tmp_path / "top.v").write_text(text)
    repairs = repair_script(read_library([tmp_path / "tiny.lib"]), period)
    (tmp_path / "sta.tcl").write_text(sta_script(["tiny.lib"], period, repairs) + "write_verilog repaired.v\n")
    timing = run_sta(tmp_path)
    cells = instances(re.sub(r"^ (?=\w)", "  ", (tmp_path / "repaired.v").read_text(), flags=re.MULTILINE))
    return timing.mapped[0].slack_ps, timing.endpoints[0].slack_ps, read_repairs(tmp_path), cells


def delay(ps, loads):
    """Of a cell of the tiny library: it takes ``ps`` more with nine loads more."""
    return ps * (1 + (loads - 1) / 9)


def test_a_load_passes_by_a_buffer_that_goes_when_nothing_needs_it(tmp_path):
    cells = {
        "part.left": register("i", "l"),
        "slow": ("BUF", {"A": "l", "Y": "b"}),
        "gate": ("INV", {"A": "b", "Y": "g"}),
        "part.right": register("g", "o"),
    }
    longest = CLOCK_TO_OUTPUT_PS + BUFFER_PS + GATE_PS + SET_UP_PS
    before, after, repairs, left = repaired(tmp_path, netlist(cells, ["o"]), longest - 1)
    assert (before, after) == (-1, BUFFER_PS - 1)
    assert repairs == Repairs(sized={}, new={}, gone=frozenset({"slow"}), moved=1)
    pins = {cell.name: cell.pins for cell in left}
    assert pins["gate"]["A"] == pins["part.left"]["Q"]
    assert "slow" not in {cell.name for cell in repairs.of(instances((tmp_path / "top.v").read_text()))}


def test_a_buffer_stays_for_its_other_loads(tmp_path):
    cells = {
        "part.left": register("i", "l"),
        "slow": ("BUF", {"A": "l", "Y": "b"}),
        "gate": ("INV", {"A": "b", "Y": "g"}),
        "part.right": register("g", "o"),
        "part.near": register("b", "p"),
    }
    longest = CLOCK_TO_OUTPUT_PS + delay(BUFFER_PS, 2) + GATE_PS + SET_UP_PS
    _, after, repairs, left = repaired(tmp_path, netlist(cells, ["o", "p"]), int(longest))
    assert after > 0
    assert repairs == Repairs(sized={}, new={}, gone=frozenset(), moved=1)
    pins = {cell.name: cell.pins for cell in left}
    assert (pins["gate"]["A"], pins["part.near"]["D"]) == (pins["part.left"]["Q"], pins["slow"]["Y"])


def test_loads_that_can_wait_go_behind_a_buffer(tmp_path):
    cells = {
        "part.left": register("i", "l"),
        "gate": ("INV", {"A": "l", "Y": "g"}),
        "late": ("INV", {"A": "g", "Y": "h"}),
    }
    cells |= {"part.right": register("h", "o"), **{f"part.r{n}": register("l", f"o{n}") for n in range(5)}}
    longest = delay(CLOCK_TO_OUTPUT_PS, 6) + 2 * GATE_PS + SET_UP_PS
    behind = delay(CLOCK_TO_OUTPUT_PS, 2) + delay(BUFFER_PS, 5) + SET_UP_PS
    outputs = ["o", *(f"o{n}" for n in range(5))]
    period = int(longest)
    before, after, repairs, left = repaired(tmp_path, netlist(cells, outputs), period)
    assert before == pytest.approx(period - longest, abs=0.1)
    assert after == pytest.approx(period - behind, abs=0.1)
    assert repairs == Repairs(sized={}, new={"repair_1": "BUF"}, gone=frozenset(), moved=5)
    pins = {cell.name: cell.pins for cell in left}
    assert {pins[f"part.r{n}"]["D"] for n in range(5)} == {pins["repair_1"]["Y"]}
    assert pins["gate"]["A"] == pins["repair_1"]["A"] == pins["part.left"]["Q"]
    counted = repairs.of(instances((tmp_path / "top.v").read_text()))
    assert sorted(cell.cell for cell in counted) == sorted(cell.cell for cell in left)


def test_what_is_in_time_stays_as_it_is(tmp_path):
    cells = {"part.left": register("i", "l"), "slow": ("BUF", {"A": "l", "Y": "b"}), "part.right": register("b", "o")}
    before, after, repairs, _ = repaired(tmp_path, netlist(cells, ["o"]), 100)
    assert before == after > 0
    assert repairs == Repairs({}, {}, frozenset(), 0)


def test_once_something_is_late_all_of_it_gets_a_margin(tmp_path):
    """Of two paths one is late; of the other, in time to the point, the buffer is passed by, too."""
    cells = {}
    for name in "ab":
        cells |= {
            f"part.left_{name}": register("i", f"l{name}"),
            f"slow_{name}": ("BUF", {"A": f"l{name}", "Y": f"b{name}"}),
            f"gate_{name}": ("INV", {"A": f"b{name}", "Y": f"g{name}"}),
            f"part.right_{name}": register(f"g{name}", f"o{name}"),
        }
    cells["part.near"] = register("bb", "p")
    in_time = CLOCK_TO_OUTPUT_PS + BUFFER_PS + GATE_PS + SET_UP_PS
    before, after, repairs, _ = repaired(tmp_path, netlist(cells, ["oa", "ob", "p"]), in_time)
    assert before == pytest.approx(BUFFER_PS - delay(BUFFER_PS, 2), abs=0.1)
    assert after > 0
    assert (repairs.moved, repairs.gone) == (2, {"slow_a"})
    only = {name: cell for name, cell in cells.items() if name.endswith("_a")}
    assert repaired(tmp_path, netlist(only, ["oa"]), in_time)[2].moved == 0


def drawn(rng, gates):
    """Eight registers, and gates behind them that meet those that come before; what nobody reads is an output."""
    cells = {f"part.from{n}": register("i" if n == 0 else f"to{n - 1}", f"q{n}") for n in range(8)}
    nets = [f"q{n}" for n in range(8)]
    for n in range(gates):
        kind = rng.choice(["NAND2", "NAND2", "INV", "BUF", "BUF"])
        pins = {pin: rng.choice(nets[-12:]) for pin in "AB"[: 2 if kind == "NAND2" else 1]}
        cells[f"gate{n}"] = kind, {**pins, "Y": f"y{n}"}
        nets.append(f"y{n}")
    for n in range(8):
        cells[f"part.to{n}"] = register(rng.choice(nets[8:]), f"to{n}")
    read = {net for _, pins in cells.values() for pin, net in pins.items() if pin in ("A", "B", "D")}
    written = {pins[pin] for _, pins in cells.values() for pin in ("Y", "Q") if pin in pins}
    cells |= {f"part.end{n}": register(net, f"o{n}") for n, net in enumerate(sorted(written - read))}
    return cells


def next_states(cells, states):
    """What the registers take next, 64 cycles at once, by name, where ``states`` are those of their outputs."""
    by_net = {}
    for cell in cells:
        output = cell.pins.get("Q") or cell.pins.get("Y")
        by_net[output[0]] = cell

    def value(net):
        if net == "i":
            return states["i"]
        cell = by_net[net]
        if cell.cell in FLIP_FLOPS:
            return states[cell.name]
        return FUNCTIONS[cell.cell](*(value(cell.pins[pin][0]) for pin in "AB" if pin in cell.pins))

    return {cell.name: value(cell.pins["D"][0]) & (1 << 64) - 1 for cell in cells if cell.cell in FLIP_FLOPS}


def test_repairs_change_nothing_but_times(tmp_path):
    """Of gates drawn at random, so late that repairs of all kinds are made: what each register takes next is what it
    took, and OpenSTA, which reads the repaired netlist anew, finds the times that it found while it repaired."""
    period, kinds = 90, set()
    for seed in range(6):
        rng = random.Random(seed)
        cells = drawn(rng, 60)
        text = netlist(cells, [pins["Q"] for name, (_, pins) in cells.items() if name.startswith("part.end")])
        before, after, repairs, left = repaired(tmp_path, text, period, large_dff("DFF2"))
        assert before < after
        kinds |= {kind for kind in ("sized", "new", "gone", "moved") if getattr(repairs, kind)}
        first = instances(text)
        states = {cell.name: rng.getrandbits(64) for cell in first if cell.cell in FLIP_FLOPS}
        states["i"] = rng.getrandbits(64)
        assert next_states(left, states) == next_states(first, states)
        here = sorted(cell.cell for cell in left if cell.name not in repairs.gone)
        assert sorted(cell.cell for cell in repairs.of(first)) == here
        (tmp_path / "top.v").write_text((tmp_path / "repaired.v").read_text())
        (tmp_path / "sta.tcl").write_text(sta_script(["tiny.lib"], period, ""))
        assert run_sta(tmp_path).endpoints[0].slack_ps == after
    assert kinds == {"sized", "new", "gone", "moved"}
