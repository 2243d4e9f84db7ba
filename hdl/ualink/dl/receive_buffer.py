"""Holds received flits until they have been judged (UALink_200 §6.7.4.1: only what passed FEC and CRC goes on)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ualink.dl.flit import FLIT_BEAT_LAYOUT
from ualink.phy.interface import BEATS_PER_FLIT, RX_BEAT_LAYOUT

__all__ = ["ReceiveBuffer"]

LAST_BEAT = BEATS_PER_FLIT - 1


class ReceiveBuffer(wiring.Component):
    """Two flits of room: one comes in while the one before is judged and handed on.

    The flit accepted in cycle t leaves as ten beats in cycles t + 1 … t + 10, which is in time for a verdict on the
    flit after it in cycle t + 10 or later, and for reuse of its room as long as the verdict comes at most nine cycles
    after the last beat.

    Members
    -------
    rx : beats from the RS, watched only.
    ended, accept : a slot has been judged, in the order of their last beats; ``accept``: hand its flit on.
    flush : stop handing on.
    beat : beats of accepted flits, always ready.
    """

    def __init__(self):
        super().__init__(
            {
                "rx": In(stream.Signature(RX_BEAT_LAYOUT, always_ready=True)),
                "ended": In(1),
                "accept": In(1),
                "flush": In(1),
                "beat": Out(stream.Signature(FLIT_BEAT_LAYOUT, always_ready=True)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = storage = memory.Memory(shape=512, depth=32, init=[])
        write = storage.write_port()
        read = storage.read_port()

        write_bank = Signal()
        write_beat = Signal(range(16))
        index = Signal(range(16))
        m.d.comb += [
            # A slot that begins anew before it ended takes the place of what came of it.
            index.eq(Mux(self.rx.p.first, 0, write_beat)),
            write.addr.eq(Cat(index, write_bank)),
            write.data.eq(self.rx.p.data),
            write.en.eq(self.rx.valid),
        ]
        with m.If(self.rx.valid):
            m.d.sync += write_beat.eq(index + 1)
            with m.If(self.rx.p.last):
                m.d.sync += [write_bank.eq(~write_bank), write_beat.eq(0)]

        judged_bank = Signal()
        read_bank = Signal()
        read_beat = Signal(range(16))
        reading = Signal()
        last = Signal()
        m.d.comb += [
            last.eq(read_beat == LAST_BEAT),
            # Beat 0 of the flit under judgement is kept ready.
            read.addr.eq(Mux(reading & ~last, Cat((read_beat + 1)[:4], read_bank), Cat(Const(0, 4), judged_bank))),
            self.beat.valid.eq(reading),
            self.beat.p.data.eq(read.data),
            self.beat.p.first.eq(read_beat == 0),
            self.beat.p.last.eq(last),
        ]
        with m.If(reading):
            m.d.sync += [read_beat.eq(read_beat + 1), reading.eq(~last)]
        with m.If(self.ended):
            m.d.sync += judged_bank.eq(~judged_bank)
            with m.If(self.accept):
                m.d.sync += [reading.eq(1), read_beat.eq(0), read_bank.eq(judged_bank)]
        with m.If(self.flush):
            m.d.sync += reading.eq(0)
        return m
