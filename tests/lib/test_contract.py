"""A broken contract ends a simulation and a proof; hardware has none."""

import pytest
from amaranth.hdl import Cat, Elaboratable, EnableInserter, Module, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from support.formal import prove
from ualink.emit.verilog import to_rtlil, to_verilog
from ualink.lib.contract import contract, stays_on_offer
from ualink.lib.interleave import Interleaver


class Counter(wiring.Component):
    """Counts ``step``, never beyond ``last``: whoever steps knows."""

    def __init__(self, last=3, demands=True):
        self._last, self._demands = last, demands
        super().__init__({"step": In(1), "count": Out(range(last + 1))})

    def elaborate(self, platform):
        m = Module()
        with m.If(self.step):
            m.d.sync += self.count.eq(self.count + 1)
        if self._demands:
            contract(m, ~self.step | (self.count != self._last), "No step beyond the last: {never}.")
        return m


def run(design, step, steps):
    async def bench(ctx):
        for value in steps:
            ctx.set(step, value)
            await ctx.tick()

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_a_broken_contract_ends_a_simulation():
    dut = Counter()
    run(dut, dut.step, [1, 1, 1, 0, 0])
    dut = Counter()
    with pytest.raises(AssertionError, match=r"No step beyond the last: \{never\}\."):
        run(dut, dut.step, [1, 1, 1, 0, 1, 0])


def test_what_is_broken_within_a_cycle_only_breaks_nothing():
    """Values that settle late: ``step`` follows ``count`` through logic."""
    dut = Counter()
    m = Module()
    m.submodules.dut = dut
    last = Signal()
    m.d.comb += [last.eq(dut.count == 3), dut.step.eq(~last)]
    run(m, Signal(), [0] * 8)


def test_nothing_is_demanded_during_reset_nor_of_a_block_that_stands_still():
    dut, clear = Counter(), Signal()
    wrapped = EnableInserter(~clear)(dut)
    m = Module()
    m.submodules.dut = wrapped
    m.d.comb += clear.eq(dut.count == 3)
    run(m, dut.step, [1] * 8)


def test_each_context_of_a_shared_block_has_the_contract():
    def shared(steps):
        dut, context = Counter(), Signal()
        m = Module()
        m.d.sync += context.eq(context + 1)
        m.submodules.dut = Interleaver(2, context)(dut)
        run(m, dut.step, steps)

    shared([1, 1] * 3 + [0] * 4)
    with pytest.raises(AssertionError, match="No step beyond the last"):
        shared([1, 0] * 4 + [0] * 4)


class Driven(Elaboratable):
    """Steps that are ``careful``, or any."""

    def __init__(self, careful):
        self.step = Signal()
        self._careful = careful

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Counter()
        m.d.comb += dut.step.eq(self.step & ((dut.count != 3) if self._careful else 1))
        return m


def test_a_proof_has_the_contract():
    careful, careless = Driven(careful=True), Driven(careful=False)
    prove(careful, mode="prove", depth=4, ports=[careful.step])
    with pytest.raises(AssertionError, match="FAIL"):
        prove(careless, mode="bmc", depth=8, ports=[careless.step])


def test_hardware_has_none():
    texts = [to_verilog(Counter(demands=demands), "counter") for demands in (True, False)]
    assert texts[0] == texts[1]
    assert "assert" not in texts[0] and "$check" not in to_rtlil(Counter(), "counter")


def test_a_reset_takes_no_contract_away():
    dut, clear = Counter(), Signal()
    m = Module()
    m.submodules.dut = ResetInserter(clear)(dut)
    m.d.comb += clear.eq(dut.count == 2)
    run(m, dut.step, [1] * 9)


class Source(wiring.Component):
    """A stream out of hand: what is set on it."""

    def __init__(self):
        super().__init__({"output": Out(stream.Signature(4))})

    def elaborate(self, platform):
        m = Module()
        contract(m, stays_on_offer(self.output), "what is on offer stays")
        return m


@pytest.mark.parametrize(
    ("offers", "stays"),
    [
        (((0, 1, 0), (1, 2, 0), (1, 2, 0), (1, 2, 1), (1, 3, 0), (1, 3, 1), (0, 0, 0)), True),
        (((1, 2, 1), (1, 3, 1), (0, 0, 1), (0, 0, 0)), True),
        (((1, 2, 0), (1, 3, 1), (0, 0, 0)), False),
        (((1, 2, 0), (0, 2, 1), (0, 0, 0)), False),
    ],
)
def test_what_is_on_offer_stays(offers, stays):
    dut = Source()
    offer = Cat(dut.output.valid, dut.output.payload, dut.output.ready)
    told = [valid | payload << 1 | ready << 5 for valid, payload, ready in offers]
    if stays:
        run(dut, offer, told)
    else:
        with pytest.raises(AssertionError, match="what is on offer stays"):
            run(dut, offer, told)
