"""A serial line of bytes: a start bit, eight data bits from the least significant on, a stop bit (8N1)."""

from math import gcd

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ualink.checks import ConfigError, check_integer

__all__ = ["LEAST_CYCLES_PER_BIT", "BitClock", "SerialReceiver", "SerialTransmitter"]

LEAST_CYCLES_PER_BIT = 8
"""With fewer, the doubt of one cycle about each edge leaves too little for two clocks that differ by some percent."""

FRAME_BITS = 10


class BitClock(wiring.Component):
    """A tick per bit of the line. The rate is exact on average; each tick is less than a cycle late.

    Parameters
    ----------
    clock_hz : cycles of the clock in a second, at least 8 to a bit.
    baud : bits of the line in a second.
    first : length of the first bit after a restart, in bits; 1 or 0.5.

    Members
    -------
    restart : time starts anew with the next cycle.
    tick : a bit ends with this cycle.
    """

    def __init__(self, clock_hz: int, baud: int, *, first: float = 1):
        for name, value in (("clock_hz", clock_hz), ("baud", baud)):
            check_integer(name, value, 1)
        if clock_hz < LEAST_CYCLES_PER_BIT * baud:
            raise ConfigError(
                f"baud is {baud:,}; with a clock of {clock_hz:,} Hz it may be {clock_hz // LEAST_CYCLES_PER_BIT:,} "
                f"at most"
            )
        self._step, self._turn = baud // gcd(clock_hz, baud), clock_hz // gcd(clock_hz, baud)
        self._start = self._turn - int(first * self._turn)
        super().__init__({"restart": In(1), "tick": Out(1)})

    def elaborate(self, platform):
        m = Module()
        phase = Signal(range(self._turn))
        coming = Signal(range(self._turn + self._step))
        m.d.comb += [coming.eq(phase + self._step), self.tick.eq(coming >= self._turn)]
        m.d.sync += phase.eq(Mux(self.restart, self._start, Mux(self.tick, coming - self._turn, coming)))
        return m


class SerialReceiver(wiring.Component):
    """Bytes of a line. Each bit is the majority of three samples around its middle.

    A low level that is gone in the middle of the start bit was none. After a byte without stop bit, and so after a
    break, the line must be high before the next start bit counts.

    Parameters
    ----------
    clock_hz, baud : as of ``BitClock``; the sender's rate may be 2.5 % off, 4 % from 16 cycles a bit on.

    Members
    -------
    line : the line, high at rest; belongs to no clock.
    data : 8 bit, the byte, from the cycle with ``received`` until the next byte begins.
    received : pulse: a whole byte is there.
    broken : pulse: a byte had no stop bit.
    """

    def __init__(self, clock_hz: int, baud: int):
        self._clock = BitClock(clock_hz, baud, first=0.5)
        super().__init__({"line": In(1, init=1), "data": Out(8), "received": Out(1), "broken": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.clock = clock = self._clock
        now = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.line, now, init=1)
        before = Signal(2, init=0b11)
        level = Signal(init=1)
        m.d.sync += before.eq(Cat(now, before))
        m.d.comb += level.eq((now & before[0]) | (now & before[1]) | (before[0] & before[1]))

        bits = Signal(range(FRAME_BITS))
        m.d.sync += [self.received.eq(0), self.broken.eq(0)]
        with m.FSM(name="receiver"):
            with m.State("REST"):
                m.d.comb += clock.restart.eq(1)
                m.d.sync += bits.eq(0)
                with m.If(~level):
                    m.next = "START"
            with m.State("START"), m.If(clock.tick):
                with m.If(level):
                    m.next = "REST"
                with m.Else():
                    m.next = "DATA"
            with m.State("DATA"), m.If(clock.tick):
                m.d.sync += [self.data.eq(Cat(self.data[1:], level)), bits.eq(bits + 1)]
                with m.If(bits == 7):
                    m.next = "STOP"
            with m.State("STOP"), m.If(clock.tick):
                m.d.sync += [self.received.eq(level), self.broken.eq(~level)]
                with m.If(level):
                    m.next = "REST"
                with m.Else():
                    m.next = "BROKEN"
            with m.State("BROKEN"), m.If(level):
                m.next = "REST"
        return m


class SerialTransmitter(wiring.Component):
    """Bytes to a line, without a pause between them while ``bytes`` has some.

    Parameters
    ----------
    clock_hz, baud : as of ``BitClock``.

    Members
    -------
    bytes : stream of 8 bit; a byte is taken at rest, and in the last cycle of the stop bit before.
    line : the line, high at rest; a register.
    """

    def __init__(self, clock_hz: int, baud: int):
        self._clock = BitClock(clock_hz, baud)
        super().__init__({"bytes": In(stream.Signature(8)), "line": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.clock = clock = self._clock
        left = Signal(range(FRAME_BITS + 1))
        rest = Signal(FRAME_BITS - 1)
        m.d.comb += [self.bytes.ready.eq((left == 0) | ((left == 1) & clock.tick)), clock.restart.eq(left == 0)]
        with m.If(self.bytes.valid & self.bytes.ready):
            m.d.sync += [self.line.eq(0), rest.eq(Cat(self.bytes.p, Const(1, 1))), left.eq(FRAME_BITS)]
        with m.Elif(clock.tick & (left != 0)):
            m.d.sync += [self.line.eq(rest[0]), rest.eq(Cat(rest[1:], Const(1, 1))), left.eq(left - 1)]
        return m
