"""cocotb side of ``test_parts_move_together``: what each register shows after so many cycles, by all parts alike."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

from support.sim.engine_parts import WIDTHS


@cocotb.test()
async def every_word_counts(dut):
    for name in ("rst", "engine__go", "engine__traffic"):
        getattr(dut, name).value = name == "rst"
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    for _ in range(2):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    dut.engine__go.value = 1
    for cycle in range(1, 40):
        await FallingEdge(dut.clk)
        await ReadOnly()
        assert int(dut.engine__cycle.value) == cycle
        await RisingEdge(dut.clk)
        await ReadOnly()
        shown = {f"inner__acc__{n}__upli_completer__shows_{width}": width for n in range(3) for width in WIDTHS}
        for name, width in {**shown, "inner__sw__rs__shows_9": 9}.items():
            value = sum(cycle << 32 * word for word in range(-(-width // 32))) % (1 << width)
            assert int(getattr(dut, name).value) == value, (name, cycle)
