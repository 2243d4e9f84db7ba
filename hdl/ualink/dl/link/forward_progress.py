"""Forward-progress timer: unacknowledged flits must not wait for ever (UALink_200 §6.6.6.8)."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ForwardProgress"]


class ForwardProgress(wiring.Component):
    """Counts flit times down while flits wait for an Ack (ruling A-20 (DL)).

    Tx_ack_counter is loaded when TxReplay stops being empty and with every Ack that frees a flit.

    Members
    -------
    slot_end : a flit time has passed.
    waiting : TxReplay holds unacknowledged flits.
    acked : an Ack frees at least one flit; the counter is loaded in the cycle after it.
    tx_ack_time_out : flit times; 0 switches the timer off.
    tx_ack_counter : Tx_ack_counter, reset value 0.
    expires : level, out of registers: the counter reaches 0 when the next ``slot_end`` comes, if no Ack comes before.
    time_out : pulse: the counter reaches 0, ``slot_end`` and ``expires`` at once.
    """

    def __init__(self):
        super().__init__(
            {
                "slot_end": In(1),
                "waiting": In(1),
                "acked": In(1),
                "tx_ack_time_out": In(24, init=40_000),
                "tx_ack_counter": Out(24),
                "expires": Out(1),
                "time_out": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        waited, acked = Signal(), Signal()
        counting = Signal()
        # The counter is 1: a register, so that what a slot carries does not wait for a comparison.
        one = Signal()
        m.d.comb += [
            counting.eq(self.waiting & waited & (self.tx_ack_time_out != 0)),
            self.expires.eq(counting & one & ~acked),
            self.time_out.eq(self.expires & self.slot_end),
        ]
        m.d.sync += [waited.eq(self.waiting), acked.eq(self.acked)]
        with m.If((self.waiting & ~waited) | acked):
            m.d.sync += [self.tx_ack_counter.eq(self.tx_ack_time_out), one.eq(self.tx_ack_time_out == 1)]
        with m.Elif(counting & self.slot_end & (self.tx_ack_counter != 0)):
            m.d.sync += [self.tx_ack_counter.eq(self.tx_ack_counter - 1), one.eq(self.tx_ack_counter == 2)]
        return m
