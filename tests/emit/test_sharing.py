"""What is replicated is computed once, and with the clock and reset of where it stands."""

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.emit.sharing import replicated_once
from ualink.emit.verilog import to_verilog


class Replicated(wiring.Component):
    """``wide`` is every bit of ``a`` where ``b`` and ``c`` are one, ``narrow`` tells it too; ``held`` is the reset."""

    a: In(8)
    b: In(1)
    c: In(1)
    wide: Out(8)
    narrow: Out(1)
    held: Out(4)

    def elaborate(self, platform):
        m = Module()
        both = self.b & self.c
        m.d.comb += [self.wide.eq(self.a & both.replicate(8)), self.narrow.eq(both)]
        m.d.sync += self.held.eq(ResetSignal().replicate(4))
        return m


def ands(text: str) -> int:
    return text.count("cell $and")


def test_one_copy_for_all_bits_and_one_for_each_other_use():
    """One is that of ``wide``; Amaranth itself has one for each bit."""
    with replicated_once():
        assert ands(rtlil.convert(Replicated())) == 1 + 1 + 1
    assert ands(rtlil.convert(Replicated())) == 1 + 8 + 1


def test_one_copy_in_a_domain_of_another_name_too():
    with replicated_once():
        assert ands(rtlil.convert(DomainRenamer("here")(Replicated()), ports=[])) == 1 + 1 + 1


def test_a_reset_that_is_replicated_is_that_of_its_domain():
    m = Module()
    domains = [ClockDomain("here"), ClockDomain("there")]
    m.domains += domains
    a, b = Replicated(), Replicated()
    m.submodules.a, m.submodules.b = DomainRenamer("here")(a), DomainRenamer("there")(b)
    shown = Signal(8)
    m.d.comb += [shown[:4].eq(a.held), shown[4:].eq(b.held)]
    with replicated_once():
        text = rtlil.convert(m, ports=[shown, *(signal for domain in domains for signal in (domain.clk, domain.rst))])
    assert text.count("{ " + 4 * "\\here_rst [0] " + "}") == 1
    assert text.count("{ " + 4 * "\\there_rst [0] " + "}") == 1


def test_verilog_is_made_with_it():
    assert to_verilog(Replicated(), "replicated").count("b & c") == 2
