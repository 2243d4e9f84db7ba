"""One lane of the bit-error test."""

from amaranth.hdl import Cat, DomainRenamer, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer, PulseSynchronizer
from amaranth.lib.wiring import In, Out, connect, flipped

from ualink.csr.block import RegisterBlock
from ualink.csr.table import BusSignature
from ualink.phy.prbs import PRBSChecker, PRBSGenerator
from ualink.phy.serdes.interface import LaneStatusSignature, SerdesLaneSignature

from ..crossing import ClockMeter, ValueCrossing
from .bert_registers import ORDER, lane_registers

__all__ = ["BertLane"]

_WORDS = slice(10, 42)
"""Of the number of words: what is shown."""


class BertLane(wiring.Component):
    """Sends a pseudo-random sequence, checks what it receives, and shows both in registers.

    Parameters
    ----------
    lane : number; the domains are ``tx<lane>`` and ``rx<lane>``, and ``sync`` for the registers.
    width : bits of a word.
    line_rate : bit/s, for the register that shows it.
    clock_hz : of ``sync``.

    Members
    -------
    bus : to the registers of ``lane_registers``.
    serdes, lane_status : the lane.
    ready, locked, error, looped : words are received; the checker follows the sequence; pulse: it has seen a wrong bit;
        a loopback is set; sync domain.
    """

    def __init__(self, lane: int, *, width: int, line_rate: int, clock_hz: int):
        self._lane, self._width, self._clock_hz = lane, width, clock_hz
        self.registers = lane_registers(width, line_rate)
        super().__init__(
            {
                "bus": In(BusSignature(self.registers.address_bits)),
                "serdes": Out(SerdesLaneSignature(width)),
                "lane_status": In(LaneStatusSignature()),
                "ready": Out(1),
                "locked": Out(1),
                "error": Out(1),
                "looped": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.registers = registers = RegisterBlock(self.registers)
        connect(m, flipped(self.bus), registers.bus)
        control, status, events, serdes = registers.control, registers.status, registers.events, self.serdes
        m.d.comb += [
            registers.here.eq(1),
            serdes.loopback.eq(control.loopback),
            serdes.reset.eq(control.reset),
            serdes.tx_invert.eq(control.tx_invert),
            serdes.rx_invert.eq(control.rx_invert),
            status.pll_locked.eq(self.lane_status.pll_locked),
            status.signal.eq(self.lane_status.signal),
            status.cdr_locked.eq(self.lane_status.locked),
            status.pll_retries.eq(self.lane_status.pll_retries),
            status.retries.eq(self.lane_status.retries),
            status.ready.eq(self.ready),
            status.locked.eq(self.locked),
            events.error.eq(self.error),
            self.looped.eq(control.loopback != 0),
        ]
        self._send(m, registers)
        self._check(m, registers)
        for way, register in (("tx", registers.tx_clock), ("rx", registers.rx_clock)):
            meter = ClockMeter(f"{way}{self._lane}", self._clock_hz)
            m.submodules[f"{way}_meter"] = meter
            m.d.comb += register.khz.eq(meter.khz)
        for name, level in (("ready_lost", self.ready), ("locked_lost", self.locked)):
            before = Signal(name=f"{name}_before")
            m.d.sync += before.eq(level)
            m.d.comb += getattr(events, name).eq(before & ~level)
        return m

    def _send(self, m: Module, registers: RegisterBlock):
        domain = f"tx{self._lane}"
        m.submodules.generator = generator = DomainRenamer(domain)(PRBSGenerator(ORDER, self._width))
        # The request stays up until it has come back from the other domain.
        asked, before = Signal(), Signal()
        inject = registers.inject
        m.submodules.asked = FFSynchronizer(inject.error, asked, o_domain=domain)
        m.submodules.done = FFSynchronizer(asked, inject.error_done)
        m.d[domain] += before.eq(asked)
        m.d.comb += [generator.inject.eq(asked & ~before), self.serdes.tx_data.eq(generator.data)]

    def _check(self, m: Module, registers: RegisterBlock):
        domain = f"rx{self._lane}"
        m.submodules.checker = checker = DomainRenamer(domain)(PRBSChecker(ORDER, self._width))
        m.submodules.clear = FFSynchronizer(registers.control.clear, checker.clear, o_domain=domain)
        m.d.comb += checker.data.eq(self.serdes.rx_data)
        before = Signal.like(checker.errors)
        m.submodules.error = error = PulseSynchronizer(i_domain=domain, o_domain="sync")
        m.d[domain] += before.eq(checker.errors)
        m.d.comb += [
            error.i.eq((checker.errors != before) & (checker.errors != 0)),
            self.error.eq(error.o & self.ready),
        ]
        m.submodules.counts = counts = ValueCrossing(64, source=domain)
        m.submodules.ready = FFSynchronizer(self.serdes.rx_ready, self.ready)
        followed = Signal()
        m.submodules.locked = FFSynchronizer(checker.locked, followed)
        m.d.comb += [
            counts.value.eq(Cat(checker.errors, checker.words[_WORDS])),
            Cat(registers.errors.bits, registers.words.thousands).eq(counts.shown),
            # Without clock the checker cannot say that it is lost.
            self.locked.eq(followed & self.ready),
        ]
