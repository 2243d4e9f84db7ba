"""Endless TL flits for one port of a data link, under firmware."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.table import BusSignature
from ualink.dl.interface import tl_flit_signature

from .checker import FlitChecker
from .register_map import COUNTERS, flit_registers
from .source import FlitSource

__all__ = ["FlitTraffic"]

_COUNT_BITS = 64


class FlitTraffic(wiring.Component):
    """Makes TL flits, compares those that come, and counts both, at the addresses of ``flit_registers()``.

    It stands where the transaction layer of one port would. Its partner is another one, or itself over a loopback.

    Members
    -------
    bus : ``BusSignature``; for latency see ``RegisterBlock``.
    online : 1 bit, of the data link.
    tx_flit, rx_flit : to and from the data link.
    sent, bad : 1 bit each: a flit was taken; one was wrong or damaged.
    """

    def __init__(self):
        self.registers = flit_registers()
        super().__init__(
            {
                "bus": In(BusSignature(self.registers.address_bits)),
                "online": In(1),
                "tx_flit": Out(tl_flit_signature()),
                "rx_flit": In(tl_flit_signature(always_ready=True)),
                "sent": Out(1),
                "bad": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.registers = registers = RegisterBlock(self.registers)
        m.submodules.source = source = FlitSource()
        m.submodules.checker = checker = FlitChecker()
        connect(m, flipped(self.bus), registers.bus)
        connect(m, source.flit, flipped(self.tx_flit))
        connect(m, flipped(self.rx_flit), checker.flit)
        control, events = registers.control, registers.events
        online_before = Signal()
        m.d.sync += online_before.eq(self.online)
        m.d.comb += [
            registers.here.eq(1),
            source.online.eq(self.online),
            checker.online.eq(self.online),
            source.enable.eq(control.enable),
            source.pace.eq(control.pace),
            self.sent.eq(source.taken),
            self.bad.eq(checker.wrong | checker.damaged),
            registers.status.online.eq(self.online),
            events.config_error.eq(registers.refused),
            events.wrong.eq(checker.wrong),
            events.damaged.eq(checker.damaged),
            events.restarted.eq(self.online & ~online_before),
        ]
        seen = Signal()
        with m.If(self.bad & ~seen):
            m.d.sync += [seen.eq(1), registers.first_wrong.number.eq(checker.number)]
        with m.If(control.clear):
            m.d.sync += [seen.eq(0), registers.first_wrong.number.eq(0)]
        steps = (source.taken, checker.checked, checker.wrong, checker.damaged)
        for name, step in zip(COUNTERS, steps, strict=True):
            count = Signal(_COUNT_BITS, name=f"count_{name}")
            m.d.sync += count.eq(count + step)
            with m.If(control.clear):
                m.d.sync += count.eq(0)
            m.d.comb += Cat(*(getattr(registers, f"{name}_{half}").count for half in ("low", "high"))).eq(count)
        return m
