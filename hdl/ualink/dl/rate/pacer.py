"""Tx pacing: limits how often a TL flit starts, for a partner whose TL is slower than the line (UALink_200 §6.5)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.interface import tl_flit_signature
from ualink.dl.registers.firmware import FULL_RATE

__all__ = ["REFERENCE_RATE", "Pacer"]

REFERENCE_RATE = 3_125
"""156.25 MHz in units of 50 kHz: the lowest rate that is supported (UALink_200 §6.4.2.2)."""


class Pacer(wiring.Component):
    """Lets through ``rate / FULL_RATE`` TL flits per tick, where ``rate`` is the lowest of three limits.

    A tick is a cycle of the block, that is, a slot of its port, in which the line carries one beat of 512 bits. Rates
    are normalised to beats of 512 bits at 800 Gb/s, 256 at 400 and 128 at 200, so that one beat is always 1562.5 MHz
    of line rate (UALink_200 §6.4.2.2). A port of 400 or 200 Gb/s owns every second or fourth cycle of a pipeline of
    512 bits, which comes to 256 or 128 bits a cycle: its ticks are its slots, and the arithmetic is the same for all.

    Each tick adds ``rate`` to an accumulator and a flit takes FULL_RATE away; the accumulator stands while a flit may
    go and none does. Bounds, for n ticks at one rate:

    - at most ceil(n · rate / FULL_RATE) flits go, one more in the n ticks after a change of rate;
    - with a flit always there and always taken, at least floor(n · rate / FULL_RATE) - 1 go;
    - after any pause, the first flit goes at once, a second no sooner than the first bound says.

    Latency 0; at full rate every flit passes. A changed limit counts from the next tick on. Once a flit is offered it
    stays so, even if a limit falls. Limits below REFERENCE_RATE count as that, above FULL_RATE as full rate. Neither
    carried-over sectors nor DL messages are paced (ruling A-40 (DL)): the pacer stands before the packer.

    Parameters
    ----------
    told : a tick is not every cycle, but one with ``tick``.

    Members
    -------
    flit_in, flit_out : TL flits, from the TL to the packer.
    pace : limit set by firmware, in units of 50 kHz.
    own_rate : limit during and after a change of the own TL clock.
    partner_rate : rate of the partner's TL clock, as it announced.
    tick : if ``told``: a beat of the line has passed; the flits of the cycles since the last one count in it.
    """

    def __init__(self, *, told: bool = False):
        self._told = told
        super().__init__(
            {
                "flit_in": In(tl_flit_signature()),
                "flit_out": Out(tl_flit_signature()),
                "pace": In(16, init=FULL_RATE),
                "own_rate": In(16, init=FULL_RATE),
                "partner_rate": In(16, init=FULL_RATE),
            }
            | ({"tick": In(1)} if told else {})
        )
        self.rate = Signal(range(FULL_RATE + 1), init=FULL_RATE)
        # The accumulator is FULL_RATE · admit + remainder.
        self.admit = Signal(init=1)
        self.remainder = Signal(range(FULL_RATE))

    def elaborate(self, platform):
        m = Module()
        rate, admit, remainder = self.rate, self.admit, self.remainder
        pace, own, partner = self.pace, self.own_rate, self.partner_rate
        limits = (pace, own, partner)
        # All comparisons side by side, so that none waits for another.
        own_pace = Mux(pace < own, pace, own)
        m.d.sync += rate.eq(Mux((partner < pace) & (partner < own), partner, own_pace))
        with m.If(Cat(limit < REFERENCE_RATE for limit in limits).any()):
            m.d.sync += rate.eq(REFERENCE_RATE)
        with m.Elif(Cat(limit > FULL_RATE for limit in limits).all()):
            m.d.sync += rate.eq(FULL_RATE)

        lets, passes = admit, self.flit_in.valid & self.flit_out.ready
        moves: Value = ~admit | passes
        if self._told:
            # A flit has passed in this tick: it was the one that this tick admits.
            spent = Signal()
            lets = admit & ~spent
            moves = self.tick & (~admit | spent | passes)
            m.d.sync += spent.eq(~self.tick & (spent | (admit & passes)))
        m.d.comb += [
            self.flit_out.valid.eq(self.flit_in.valid & lets),
            self.flit_out.p.eq(self.flit_in.p),
            self.flit_in.ready.eq(self.flit_out.ready & lets),
        ]
        total = Signal(range(2 * FULL_RATE))
        # The total less FULL_RATE beside the total, not behind it: three numbers made two before they are added.
        less = Const(-FULL_RATE, len(total) + 1)
        bits, carries = Signal.like(less), Signal.like(less)
        excess = Signal.like(less)
        enough = Signal()
        m.d.comb += [
            total.eq(remainder + rate),
            bits.eq(remainder ^ rate ^ less),
            carries.eq(((remainder & rate) | (less & (remainder | rate))) << 1),
            excess.eq(bits + carries),
            enough.eq(~excess[-1]),
        ]
        with m.If(moves):
            m.d.sync += [admit.eq(enough), remainder.eq(Mux(enough, excess, total))]
        return m
