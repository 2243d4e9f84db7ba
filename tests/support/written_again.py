"""Writes a design and a small one of two clocks: ``python written_again.py WHAT VALUES PORTS FOLDER``.

A process of its own has a hash seed of its own, in which sets have another order.
"""

import json
import sys
from pathlib import Path

from amaranth.hdl import Module
from amaranth.lib import wiring

from ualink.config import CheckerConfig, ControllerConfig, from_dict
from ualink.csr.crossing import BusCrossing
from ualink.emit.generate import write_design
from ualink.emit.verilog import to_verilog


class Within(wiring.Component):
    """A module with two clocks and two resets inside another: their order is not that of a table of ports."""

    def __init__(self):
        self._crossing = BusCrossing(8, "upli")
        super().__init__(dict(self._crossing.signature.members))

    def elaborate(self, platform):
        m = Module()
        m.submodules.crossing = crossing = self._crossing
        wiring.connect(m, wiring.flipped(self.bus), crossing.bus)
        wiring.connect(m, wiring.flipped(self.far), crossing.far)
        return m


def main(what: str, values: str, ports: str, folder: str):
    if what == "upli_checker":
        config = from_dict(CheckerConfig, json.loads(values), "test").replace(ports=int(ports))
    else:
        config = from_dict(ControllerConfig, json.loads(values), "test")
    write_design(what, config, Path(folder))
    Path(folder, "within.v").write_text(to_verilog(Within(), "within"))


if __name__ == "__main__":
    main(*sys.argv[1:])
