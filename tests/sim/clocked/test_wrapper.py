"""Modules that are compiled apart with one evaluation a cycle: they do what they do as parts of the whole."""

import pytest

from support.sim.clocked_pair import LATE, sources
from ualink_sim.clocked.wrapper import Clocked
from ualink_sim.simulator import SimulatorError, build

BENCH = "support.sim.clocked_bench"


@pytest.fixture(scope="module")
def pair():
    texts = sources()
    assert "endfunction" in texts["mixed.v"]
    return build(texts, "pair", blocks={"mixed": LATE, "inner": ()})


@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize("check", [False, True])
def test_blocks_do_what_they_do_as_parts(pair, monkeypatch, threads, check):
    """In every cycle and between the edges, with resets, one in another, and however many threads there are."""
    if not check:
        monkeypatch.delenv("UALINK_CHECK_INPUTS")
    pair.run(BENCH, environment={"CYCLES": "2000", "UALINK_THREADS": threads})


def test_an_input_that_acts_and_is_not_named_is_found():
    """By the check, which looks at outputs when inputs are there and the edge is not."""
    model = build(sources(), "pair", blocks={"mixed": LATE[:1], "inner": ()})
    with pytest.raises(SimulatorError, match=r"mixed.*an input acts on an output"):
        model.run(BENCH, environment={"CYCLES": "20", "UALINK_CHECK_INPUTS": "1"})


@pytest.mark.parametrize(
    ("module", "text", "late", "message"),
    [
        ("other", "module one(clk);\n  input clk;\nendmodule\n", (), "there is no module other"),
        ("one", "module one(clk, a);\n  input clk;\n  output a;\nendmodule\n", ("a",), "one has no input a"),
        (
            "one",
            "module one(clk, b);\n  input clk;\n  input b;\n  always @(posedge clk) c <= d;\n"
            "  always @(negedge \\b$1 ) c <= d;\nendmodule\n",
            (),
            "one has clocks other than clk: b",
        ),
    ],
)
def test_what_cannot_be_such_a_block_is_refused(module, text, late, message):
    with pytest.raises(ValueError, match=message):
        Clocked(module, text, late)
