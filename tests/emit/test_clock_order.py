"""Clocks and resets stand in one order, whatever order a set of domains had."""

import random
import re

from ualink.emit.clock_order import settle_clocks

PORTS = ("upli_rst", "clk", "rst", "upli_clk")
DESIGN = """\
module \\inner
  wire width 1 input 0 \\{0}
  wire width 1 input 1 \\{1}
  wire width 8 input 2 \\upli_clock_ratio
  wire width 1 input 3 \\{2}
  wire width 1 output 4 \\ready
  wire width 1 input 5 \\{3}
end
module \\outer
  wire width 1 input 0 \\clk
  cell \\inner \\one
    connect \\{3} \\of_{3}
    connect \\ready \\known
    connect \\{2} \\of_{2}
    connect \\{1} \\of_{1}
    connect \\{0} \\of_{0}
  end
  connect \\rst \\somewhere
end
"""


def test_each_order_becomes_one():
    rng = random.Random(1)
    texts = {settle_clocks(DESIGN.format(*rng.sample(PORTS, 4))) for _ in range(50)}
    assert len(texts) == 1
    (text,) = texts
    assert re.findall(r"input (\d+) \\(\S+)", text) == [
        ("0", "clk"),
        ("1", "rst"),
        ("2", "upli_clock_ratio"),
        ("3", "upli_clk"),
        ("5", "upli_rst"),
        ("0", "clk"),
    ]
    # What a cell has at a port goes with the port.
    cell = re.findall(r"    connect (.*)", text)
    assert cell == [
        r"\clk \of_clk",
        r"\ready \known",
        r"\rst \of_rst",
        r"\upli_clk \of_upli_clk",
        r"\upli_rst \of_upli_rst",
    ]
    assert text.endswith("  connect \\rst \\somewhere\nend\n")
